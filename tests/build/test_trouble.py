"""What the machine could not do is no verdict: nothing is recorded or cached, and the next build heals."""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
import signal
from pathlib import Path

import pytest

from warpwright.build import Artifact, BuildJob, Unbuilt, build, builder, launch_capture
from warpwright.build.cache import Cache
from warpwright.build.compile import _whole
from warpwright.build.linking import LinkError
from warpwright.build.pool import Pool
from warpwright.build.resources import ToolError
from warpwright.build.trouble import MachineError, has_room, of_the_kernel, of_the_machine, words_of_the_machine
from warpwright.plan.types import Plan


def raised(error: BaseException, behind: BaseException, by: str) -> BaseException:
    """An error that was raised `from` another, or while another was handled (`in`)."""
    try:
        try:
            raise behind
        except BaseException as caught:
            if by == "from":
                raise error from caught
            if by == "from None":
                raise error from None
            raise error  # noqa: B904
    except BaseException as final:
        return final


FULL, ABSENT = OSError(errno.ENOSPC, "no room"), FileNotFoundError(errno.ENOENT, "No such file or directory")


@pytest.mark.parametrize(
    ("error", "machine"),
    [
        (FULL, True),
        (ABSENT, True),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), True),
        (MemoryError(), True),
        (LinkError("ld -shared failed"), True),
        (ToolError("cuobjdump ended with 1"), True),
        (MachineError("x"), True),
        (raised(RuntimeError("dump"), FULL, "from"), True),
        (raised(RuntimeError("dump"), raised(ValueError("x"), MemoryError(), "from"), "from"), True),
        (raised(RuntimeError("dump"), FULL, "in"), True),
        (raised(RuntimeError("dump"), MemoryError(), "in"), True),
        (RuntimeError("LLVM ERROR: IO failure on output stream: No space left on device"), True),
        (ImportError("libx.so: failed to map segment from shared object"), True),
        (raised(RuntimeError("dump"), FULL, "from None"), False),
        (raised(TypeError("the DSL's own"), ABSENT, "in"), False),  # it looked for something, and went on without
        (RuntimeError("the compiler left 0 .ptx files where one is expected"), False),
        (SyntaxError("invalid syntax"), False),
        (SystemExit(1), False),
        (AssertionError(), False),
    ],
)
def test_whose_doing_an_error_is(error: BaseException, machine: bool) -> None:
    assert of_the_machine(error) == machine


def test_an_error_that_is_its_own_cause_comes_to_an_end() -> None:
    error, other = RuntimeError("a"), RuntimeError("b")
    error.__cause__, other.__cause__ = other, error
    assert not of_the_machine(error)


def test_whose_doing_a_signal_is() -> None:
    faults = {"SIGABRT", "SIGSEGV", "SIGILL", "SIGFPE", "SIGTRAP"}
    assert {number.name for number in signal.Signals if of_the_kernel(number)} == faults
    assert not of_the_kernel(signal.SIGRTMIN + 3)


def test_words() -> None:
    assert words_of_the_machine("", "terminate called after throwing an instance of 'std::bad_alloc'")
    assert not words_of_the_machine("error: shared memory: 240000 bytes are more than 232448", "")


def test_room(tmp_path: Path) -> None:
    assert has_room(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not has_room(tmp_path / "none")
    assert not has_room(Path("/dev/full"))


SCRIPT = """#!/bin/sh
case "$*" in *--version*|*-dumpfullversion*) exec {real} "$@";; esac
{does}
"""
WAYS = {
    "full": "echo '{name}: final link failed: No space left on device' >&2; exit 1",
    "killed": "kill -9 $$",
    "broken": "exit 127",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"), [("gcc", "killed"), ("ld", "full"), ("ld", "killed"), ("objdump", "broken"), ("objdump", "killed")]
)
def test_a_tool_that_fails_is_no_verdict(
    name: str, way: str, plan: Plan, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, job = Cache(tmp_path / "cache"), BuildJob(source, plan, tmp_path / "v")
    bad = tmp_path / "bin" / name
    bad.parent.mkdir()
    bad.write_text(SCRIPT.format(real=shutil.which(name), does=WAYS[way].format(name=name)))
    bad.chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{bad.parent}:{path}")
    (outcome,) = build([job], 1, cache=cache)
    assert isinstance(outcome, Unbuilt)
    assert name in outcome.why
    assert not (tmp_path / "v").exists()
    assert not list((tmp_path / "cache").rglob("manifest.json"))
    if (name, way) == ("ld", "killed"):
        monkeypatch.setenv("PATH", path)
        (healed,) = build([job], 1, cache=cache)
        assert isinstance(healed, Artifact)
        assert healed.status is None


@pytest.mark.slow
def test_a_link_that_fails_where_the_launch_is_captured_is_no_verdict(
    built: tuple[Artifact, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where ld worked for the library and fails for the stub, the kernel has been called `incorrect`."""

    def fails(*_: object) -> None:
        raise LinkError("ld failed: No space left on device")

    parameters = {built[0].kernels[0]: [8]}
    monkeypatch.setattr(launch_capture, "link_with_stub", fails)
    with pytest.raises(launch_capture.NotLinkedError, match="No space left"):
        launch_capture.HostFunction(built[1] / "kernel.o", "small_gemm", parameters)
    monkeypatch.undo()
    monkeypatch.setattr("warpwright.scratch.folder", lambda kind: Path("/dev/full/x").mkdir())
    with pytest.raises(launch_capture.NotLinkedError, match="Not a directory"):
        launch_capture.HostFunction(built[1] / "kernel.o", "small_gemm", parameters)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kernel.cubin", "kernel.ptx"])
def test_a_file_written_in_part_is_seen(name: str, built: tuple[Artifact, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(built[1], tmp_path / "v")
    _whole(folder)
    data = (folder / name).read_bytes()
    parts = [data[:length] for length in (0, 1, 63, 64, 4096, 8192, len(data) - 100, len(data) - 3)]
    for part in (*parts, data[:4096] + bytes(len(data) - 4096)):
        assert part != data
        (folder / name).write_bytes(part)
        with pytest.raises(MachineError, match=f"{name} was written in part"):
            _whole(folder)


@pytest.mark.slow
def test_what_looks_like_the_kernels_doing_must_repeat(plan: Plan, source: str, tmp_path: Path) -> None:
    """A source that aborts, or raises, when it is compiled for the first time, and not again."""
    once = f"""
import os
if not os.path.exists({str(tmp_path / "{name}")!r}):
    open({str(tmp_path / "{name}")!r}, "w").close()
    {{does}}
"""
    ways = {"abort": "os.abort()", "raise": "raise TypeError('once')"}
    texts = [once.format(name=name, does=does) + source for name, does in ways.items()]
    jobs = [BuildJob(text, plan, tmp_path / f"v{n}") for n, text in enumerate(texts)]
    for outcome in build(jobs, 2, cache=Cache(tmp_path / "cache")):
        assert isinstance(outcome, Artifact)
        assert outcome.status is None


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_stops_no_other(
    plan: Plan, source: str, tmp_path: Path, shared_cache: Cache, built: object
) -> None:
    (tmp_path / "file").write_text("")
    jobs = [BuildJob(source, plan, tmp_path / "file" / "v"), BuildJob(source, plan, tmp_path / "v")]
    refused, sound = build(jobs, 1, cache=shared_cache)
    assert refused == Unbuilt(f"{tmp_path / 'file' / 'v'}: Not a directory")
    assert isinstance(sound, Artifact)


def test_a_service_that_cannot_be_started_leaves_everything_to_the_next_run(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise OSError(errno.ENOSPC, "No usable temporary directory found")

    monkeypatch.setattr(Pool, "__enter__", refuse)
    jobs = [BuildJob(f"# {n}", plan, tmp_path / str(n)) for n in range(3)]
    outcomes = build(jobs, 1, cache=Cache(tmp_path / "cache"))
    assert outcomes == [Unbuilt("[Errno 28] No usable temporary directory found")] * 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_again_builds_in_spite_of_record_and_cache(
    built: tuple[Artifact, Path], plan: Plan, source: str, tmp_path: Path, shared_cache: Cache
) -> None:
    """A cached kernel whose launch could not be captured, as an earlier version kept it for ever."""
    sound = shared_cache.get(built[0].key)
    assert sound
    cache, job = Cache(tmp_path / "cache"), BuildJob(source, plan, tmp_path / "v")
    cache.put(built[0].key, sound.files, {**sound.facts, "launch": {"error": "ld failed"}})
    (bad,) = build([job], 1, cache=cache)
    assert bad.status == "incorrect"
    assert build([job], 1, cache=cache) == [bad]
    (good,) = build([job], 1, cache=cache, again=True)
    assert good.status is None
    assert build([job], 1, cache=cache) == [good]
    shutil.rmtree(tmp_path / "v")
    (cached,) = build([job], 1, cache=cache)
    assert cached == good


@pytest.mark.slow
def test_where_it_cannot_be_built_again_what_is_recorded_stays(
    built: tuple[Artifact, Path],
    plan: Plan,
    source: str,
    tmp_path: Path,
    shared_cache: Cache,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = shutil.copytree(built[1], tmp_path / "v")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("warpwright.build.pool.child_command", lambda *_: ["/bin/false"])
    (outcome,) = build([BuildJob(source, plan, folder)], 1, cache=shared_cache, again=True)
    assert isinstance(outcome, Unbuilt)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert shared_cache.get(built[0].key)


def test_a_record_is_away_while_its_files_change(
    built: tuple[Artifact, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk in between leaves no record that speaks of other files."""
    folder = shutil.copytree(built[1], tmp_path / "v")
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "build.json"}
    written: list[str] = []

    def write(path: Path, data: bytes) -> None:
        written.append(path.name)
        if path.name == "kernel.ptx":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        path.write_bytes(data)

    monkeypatch.setattr(builder, "write_file", write)
    builder._record(folder, files, built[0])
    assert written == ["build.json"]  # alike, but for the record, which is written last in any case
    with pytest.raises(OSError, match="No space left"):
        builder._record(folder, {**files, "kernel.ptx": b"other"}, dataclasses.replace(built[0], seconds=1.0))
    assert not (folder / "build.json").exists()
