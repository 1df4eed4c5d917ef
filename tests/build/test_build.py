"""Building: what is written, what is reused, and that one variant's failure stays its own."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warpwright.build import Artifact, BuildJob, Failure, Unbuilt, build, read_artifact, toolchain
from warpwright.build.builder import _listings, _Run
from warpwright.build.cache import Cache
from warpwright.build.resources import ToolError
from warpwright.plan.types import Plan
from warpwright.sealed import sha256

ROOT = Path(__file__).parents[2]
FILES = {"kernel.py", "kernel.ptx", "kernel.cubin", "kernel.o", "kernel.so", "compile.log", "build.json"}


@pytest.fixture
def no_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any attempt to start the build service fails the test."""

    def refuse(*_: object) -> None:
        raise AssertionError("the build service was started though nothing had to be compiled")

    monkeypatch.setattr("warpwright.build.pool.Pool._start", refuse)


def test_built_kernel_matches_its_plan(built: tuple[Artifact, Path], plan: Plan, source: str) -> None:
    artifact, folder = built
    assert artifact.status is None
    assert artifact.findings == ()
    assert artifact.built
    assert {p.name for p in folder.iterdir()} == FILES
    assert (folder / "kernel.py").read_text() == source
    assert artifact.dynamic_shared_bytes == plan.shared_bytes
    assert artifact.static_shared_bytes == 0
    assert artifact.registers == 232
    (launch,) = artifact.launch["launches"]
    assert (launch["kernel"], launch["grid"]) == (artifact.kernels[0], [4, 4, 1])
    assert artifact.cubin_sha == sha256((folder / "kernel.cubin").read_bytes())
    assert artifact.spill_bytes == 0


def test_artifact_survives_its_json_form(built: tuple[Artifact, Path], tmp_path: Path) -> None:
    artifact, folder = built
    assert read_artifact(folder) == artifact
    (tmp_path / "build.json").write_text(artifact.to_json())
    assert read_artifact(tmp_path) == artifact
    with pytest.raises(ValueError, match="not the JSON form of a build artifact"):
        Artifact.from_value({"status": None})


def test_library_exports_the_planned_symbol(built: tuple[Artifact, Path]) -> None:
    names = subprocess.run(["nm", "-D", str(built[1] / "kernel.so")], capture_output=True, text=True, check=True).stdout
    assert " T __tvm_ffi_small_gemm" in names
    assert " U _cudaLaunchKernelEx" in names


def test_bytes_do_not_depend_on_process_or_folder(
    built: tuple[Artifact, Path], plan: Plan, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second service, another hash seed and the caller's DSL switches change no byte."""
    monkeypatch.setenv("PYTHONHASHSEED", "77")
    monkeypatch.setenv("CUTE_DSL_LINEINFO", "1")
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_100a")
    (again,) = build([BuildJob(source, plan, tmp_path / "v")], 1, cache=Cache(tmp_path / "cache"))
    for name in ("kernel.ptx", "kernel.cubin", "kernel.o", "kernel.so"):
        assert again.files[name] == built[0].files[name], name


def test_second_run_does_no_work(
    built: tuple[Artifact, Path], plan: Plan, source: str, tmp_path: Path, shared_cache: Cache, no_compile: None
) -> None:
    jobs = [BuildJob(source, dataclasses.replace(plan, label=str(i)), tmp_path / str(i)) for i in range(100)]
    first = build(jobs, 2, cache=shared_cache)
    stamps = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    seen: list[tuple[int, int]] = []
    imported = set(sys.modules)
    start = time.process_time()  # not the clock: the machine may be busy with something else
    second = build(jobs, 2, lambda done, total, artifact: seen.append((done, total)), cache=Cache(tmp_path / "empty"))
    assert time.process_time() - start < 1.0
    assert second == first
    assert seen == [(i + 1, 100) for i in range(100)]
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == stamps
    assert "cutlass" not in set(sys.modules) - imported  # other tests of this process may have needed it


def test_another_plan_rechecks_without_compiling(
    plan: Plan, source: str, tmp_path: Path, built: tuple[Artifact, Path], shared_cache: Cache, no_compile: None
) -> None:
    folder = tmp_path / "v"
    build([BuildJob(source, plan, folder)], 1, cache=shared_cache)
    smaller = dataclasses.replace(plan, kernels=(dataclasses.replace(plan.main, entry_registers=168),))
    (artifact,) = build([BuildJob(source, smaller, folder)], 1, cache=shared_cache)
    assert artifact.status == "degraded"
    assert [str(f) for f in artifact.findings] == ["registers.entry: expected at most 168, found 232"]


@pytest.mark.parametrize("name", ["kernel.so", "kernel.py", "build.json"])
def test_damaged_result_is_restored(
    name: str,
    built: tuple[Artifact, Path],
    plan: Plan,
    source: str,
    tmp_path: Path,
    shared_cache: Cache,
    no_compile: None,
) -> None:
    folder = shutil.copytree(built[1], tmp_path / "v")
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    (artifact,) = build([BuildJob(source, plan, folder)], 1, cache=shared_cache)
    assert artifact == built[0]
    assert (folder / name).read_bytes() == whole


def test_cached_facts_of_another_form_are_built_again(
    built: tuple[Artifact, Path], plan: Plan, source: str, tmp_path: Path, shared_cache: Cache
) -> None:
    key = built[0].key
    sound = shared_cache.get(key)
    assert sound
    for name in ("kernels", "constants", "launch"):
        cache = Cache(tmp_path / name / "cache")
        cache.put(key, sound.files, {fact: value for fact, value in sound.facts.items() if fact != name})
        run = _Run([BuildJob(source, plan, tmp_path / name / "v")], toolchain.current(), cache, None)
        assert [task.key for tasks in run.finish_known().values() for task in tasks] == [key]
        assert cache.get(key) is None


def test_source_may_be_a_file(
    built: tuple[Artifact, Path], plan: Plan, source: str, tmp_path: Path, shared_cache: Cache, no_compile: None
) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(source)
    (artifact,) = build([BuildJob(path, plan, tmp_path)], 1, cache=shared_cache)
    assert artifact == built[0]


def test_failures_stay_their_own(plan: Plan, source: str, tmp_path: Path, shared_cache: Cache, built: object) -> None:
    """An abort, a crash, a hang, a syntax error and a DSL error beside a sound kernel, two at a time."""
    head = "import ctypes, os, time\nimport cutlass.cute as cute\n"
    tail = "\n\ndef compile_arguments():\n    return ()\n"
    sources = {
        "abort": f"{head}print('about to abort', flush=True)\nos.abort()",
        "crash": f"{head}ctypes.string_at(0)",
        "hang": f"{head}time.sleep(600)",
        "syntax": "def gemm(:\n    pass\n",
        "dsl": f"{head}@cute.jit\ndef gemm():\n    cute.arch.mbarrier_wait(None, 0)\n{tail}\nENTRY = gemm\n",
        "entry": head,
        "exit": f"{head}raise SystemExit(0)",
        "gone": f"{head}os._exit(0)",
        "killed": f"{head}os.kill(os.getpid(), 9)",
        "full": f"{head}raise OSError(28, 'No space left on device')",
        "sound": source + "\n# sound\n",
    }
    jobs = [BuildJob(text, plan, tmp_path / name) for name, text in sources.items()]
    for stale in FILES:
        (tmp_path / "syntax").mkdir(exist_ok=True)
        (tmp_path / "syntax" / stale).write_text("of an earlier source")
    finished: list[int] = []
    outcomes = build(jobs, 2, lambda done, total, _: finished.append(done), timeout=8.0, cache=shared_cache)
    artifacts = dict(zip(sources, outcomes, strict=True))
    assert finished == list(range(1, len(jobs) + 1))
    assert artifacts["sound"].status is None
    undone = {name: artifacts.pop(name) for name in ("hang", "gone", "killed", "full")}
    assert {name: outcome.why for name, outcome in undone.items()} == {
        "hang": "the compile was not done after 8 s and was ended",
        "gone": "the compiled files could not be read: [Errno 2] No such file or directory: 'kernel.ptx'",
        "killed": "the compiler process died by SIGKILL",
        "full": "OSError: [Errno 28] No space left on device",
    }
    assert not any((tmp_path / name).exists() for name in undone)
    failures = {name: a.failure for name, a in artifacts.items() if name != "sound"}
    assert all(artifacts[name].status == "compile_failed" for name in failures)
    assert failures["abort"].reason == "signal"
    assert "SIGABRT" in failures["abort"].detail
    assert "about to abort" in (tmp_path / "abort" / "compile.log").read_text()
    assert "SIGSEGV" in failures["crash"].detail
    assert failures["syntax"].reason == "error"
    assert failures["syntax"].detail == "SyntaxError: invalid syntax (kernel.py, line 1)"
    assert {p.name for p in (tmp_path / "syntax").iterdir()} == {"kernel.py", "compile.log", "build.json"}
    assert failures["dsl"].reason == "error"
    assert "defines no function gemm" in failures["entry"].detail
    assert failures["exit"].reason == "error"
    assert str(tmp_path) not in (tmp_path / "dsl" / "compile.log").read_text()


def test_a_dead_service_costs_only_what_was_running(plan: Plan, source: str, tmp_path: Path) -> None:
    killer = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    jobs = [BuildJob(killer, plan, tmp_path / "killer"), BuildJob(source, plan, tmp_path / "sound")]
    lost, sound = build(jobs, 1, cache=Cache(tmp_path / "cache"))
    assert lost == Unbuilt("the build service died while this was being compiled")
    assert not (tmp_path / "killer").exists()
    assert sound.status is None


def test_code_that_cannot_be_disassembled_fails_alone(built: tuple[Artifact, Path]) -> None:
    cubin = (built[1] / "kernel.cubin").read_bytes()
    first, bad, last = _listings([cubin, b"no cubin", cubin], "sm_90a")
    assert isinstance(bad, ToolError)
    assert first == last
    assert "HGMMA" in first[built[0].kernels[0]]


def test_final_failures_are_not_tried_again(plan: Plan, tmp_path: Path, no_compile: None) -> None:
    """A source error stands as long as its key does; what a slow or full machine did is not recorded, and where an
    earlier version did record it, is tried again."""
    job, cache = BuildJob("def gemm(:\n", plan, tmp_path / "v"), Cache(tmp_path / "cache")
    run = _Run([job], toolchain.current(), cache, None)
    ((task,),) = run.finish_known().values()
    run.finish(task.key, {"compile.log": b""}, {}, Failure("error", "SyntaxError"))
    assert build([job], 1, cache=cache) == run.results()
    (recorded,) = run.results()
    slow = dataclasses.replace(recorded, failure=Failure("timeout", "not done"))
    (tmp_path / "v" / "build.json").write_text(slow.to_json())
    with pytest.raises(AssertionError, match="service was started"):
        build([job], 1, cache=cache)


KILLED = """
import sys
from pathlib import Path

root, out = Path(sys.argv[1]), Path(sys.argv[2])
sys.path[:0] = [str(root), str(root / "tests" / "build")]
from conftest import SOURCE, make_plan
from warpwright.build import BuildJob, build
from warpwright.build.builder import _listings, _Run
from warpwright.build.cache import Cache

hang = f"import os, time\\nopen({str(out / 'pid')!r}, 'w').write(str(os.getpid()))\\ntime.sleep(99)"
jobs = [BuildJob(SOURCE, make_plan(), out / "sound"), BuildJob(hang, make_plan(), out / "hang")]
build(jobs, 2, lambda *_: print("done", flush=True), cache=Cache(out / "cache"))
"""


def test_killed_build_leaves_finished_work_and_no_process(plan: Plan, source: str, tmp_path: Path) -> None:
    """SIGKILL of the whole build while one compile hangs: the finished variant stays, the service goes away."""
    build_process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(ROOT), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert build_process.stdout
    assert build_process.stdout.readline() == "done\n"
    child = int(_eventually(lambda: (tmp_path / "pid").read_text()))
    build_process.send_signal(signal.SIGKILL)
    build_process.wait()
    build_process.stdout.close()
    _eventually(lambda: not Path(f"/proc/{child}").exists())
    sound = read_artifact(tmp_path / "sound")
    assert sound
    assert sound.status is None
    assert not (tmp_path / "hang").exists()
    _eventually(lambda: not list(tmp_path.glob("warpwright-build.ww-*")))
    assert not list(tmp_path.rglob("*.ww-*"))


def test_interrupt_ends_the_service(plan: Plan, source: str, tmp_path: Path) -> None:
    """What Ctrl-C raises ends the compile that is running, at once."""
    hang = f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(99)"
    jobs = [BuildJob("def gemm(:\n", plan, tmp_path / "bad"), BuildJob(hang, plan, tmp_path / "hang")]

    def interrupt(done: int, total: int, artifact: Artifact) -> None:
        _eventually(lambda: (tmp_path / "pid").read_text())
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        build(jobs, 2, interrupt, cache=Cache(tmp_path / "cache"))
    assert time.monotonic() - start < 10
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
    assert read_artifact(tmp_path / "bad")


def test_a_service_that_cannot_start_is_a_clear_error(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'ImportError: broken DSL' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    (outcome,) = build([BuildJob("", plan, tmp_path / "v")], 1, cache=Cache(tmp_path / "cache"))
    assert isinstance(outcome, Unbuilt)
    assert outcome.why.startswith("the build service did not start: ImportError: broken DSL")
    assert not (tmp_path / "v").exists()


def _eventually(condition, seconds: float = 20.0):
    """Return the first true value of `condition`; errors of files that are not there yet do not count."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except OSError:
            value = None
        if value:
            return value
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
