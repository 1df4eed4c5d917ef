"""How run.py ends: its exit code and its last sentence, whatever comes in between, and that no result is lost."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.kit import BAD, FUSED, GOOD, HERE, ROOT, bundle, run
from tests.device.plans import make_folder
from warpwright.device import validate
from warpwright.device.backend import CUDA
from warpwright.device.results_file import ResultsFile
from warpwright.record import write_json

pytestmark = pytest.mark.usefixtures("light")


@pytest.fixture
def packed(config: Path) -> Path:
    return bundle(config).directory


def results(packed: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (packed / "results.jsonl").read_text().splitlines()]
    return [result for result in found if "method" in result]


def last(done: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_nothing_to_run(packed: Path) -> None:
    done = run(packed, "--variants", "no*such")
    assert (done.returncode, last(done)) == (2, "run.py: no variant of the bundle matches 'no*such'; it has 3")
    done = run(packed, "--problems", "no*such", "--variants", "good*")
    assert done.returncode == 1
    assert "not_run on 0 problems" in done.stdout
    assert [(r["status"], r["diagnosis"]) for r in results(packed)] == [("not_run", "no problem was run")]


def test_nothing_to_time(config: Path) -> None:
    packed = bundle(config, bench={}).directory
    assert run(packed, "--only", "validate", "--variants", "good*").returncode == 0
    done = run(packed, "--only", "bench", "--variants", "good*")
    assert done.returncode == 2
    assert "the bundle names no problems to time" in last(done)
    assert run(packed, "--variants", "good*").returncode == 0  # where it is a part of the whole, that is no fault


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_is_finished(tmp_path: Path, number: int) -> None:
    config = tmp_path / "out" / "demo"
    make_folder(config, name="a-000000000000")
    make_folder(config, name="b-111111111111", fault="hang")
    packed = bundle(config).directory
    command = [sys.executable, str(packed / "run.py"), "--backend", "tests.device.doubles:HostBackend"]
    command += ["--problems", "tiny", "--only", "validate"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=env, cwd=packed, **pipes) as running:
        assert running.stdout is not None
        while "a-000000000000: correct" not in (line := running.stdout.readline()):
            assert line
        running.send_signal(number)
        _, stderr = running.communicate(timeout=20)
    assert running.returncode == 130
    assert stderr == f"run.py: interrupted; what is finished is in {packed / 'results.jsonl'}\n"
    assert [(r["variant"], r["status"]) for r in results(packed)] == [("a-000000000000", "correct")]


def test_a_killed_run_leaves_no_process_on_the_gpu(tmp_path: Path) -> None:
    config = tmp_path / "out" / "demo"
    make_folder(config, name="b-111111111111", fault="hang")
    packed = bundle(config).directory
    command = [sys.executable, str(packed / "run.py"), "--backend", "tests.device.doubles:HostBackend"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DOUBLE_KEY": "it", "WARPWRIGHT_LOCKS": str(tmp_path)}
    with subprocess.Popen(command, env=env, cwd=packed, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        running.stdout.readline()
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        assert len(children) == 1
        running.kill()
    until = time.monotonic() + 10
    while Path(f"/proc/{children[0]}").exists():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_gpu_that_is_lost_leaves_the_others_undone(
    packed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOUBLE_ONCE", str(tmp_path / "once"))
    done = run(packed, "--backend", "tests.device.doubles:OnceBackend")
    kept = f"what is finished is in {packed / 'results.jsonl'}"
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        [
            f"not validated: {FUSED} and 1 more",
            f"not timed: {BAD} and 2 more",
            f"run.py: RuntimeError: the GPU is lost; {kept}",
        ],
    )
    assert [(r["variant"], r["status"]) for r in results(packed)] == [
        (BAD, "incorrect")
    ]  # its process has ended with it
    again = run(packed, "--backend", "tests.device.doubles:OnceBackend", "--only", "validate")
    assert (again.returncode, last(again)) == (2, "run.py: RuntimeError: the GPU is lost; nothing was finished")


def test_without_a_gpu_nothing_is_run(packed: Path) -> None:
    done = run(packed, "--backend", "tests.device.doubles:nothing")
    assert done.returncode == 2
    assert last(done).endswith("has no attribute 'nothing'; nothing was finished")


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="is for machines without torch")
def test_without_torch_the_way_out_is_told(packed: Path) -> None:
    done = run(packed, "--backend", CUDA)
    assert done.returncode == 2
    assert last(done).startswith(f"run.py: {sys.executable} has no torch; run with a Python that has it")


@pytest.mark.parametrize("out", ["variants", "run.py/results.jsonl", "/dev/full", "/proc/results.jsonl"])
def test_a_results_file_that_cannot_be_written_is_exit_2(packed: Path, out: str) -> None:
    done = run(packed, "--out", str(packed / out), "--only", "validate", "--variants", "good*")
    assert done.returncode == 2
    assert last(done).startswith("run.py: [Errno ")
    assert out.partition("/results")[0] in last(done)


def test_two_runs_do_not_write_one_file(packed: Path) -> None:
    with ResultsFile(packed / "results.jsonl"):
        done = run(packed, "--only", "validate", "--variants", "good*")
        assert done.returncode == 2
        assert "another run is writing it; wait for it, or give this one a file of its own (--out)" in last(done)
        assert run(packed, "--only", "validate", "--variants", "good*", "--out", "other.jsonl").returncode == 0
    assert (packed / "results.jsonl").read_bytes() == b""


def test_a_second_run_goes_on_behind_a_line_that_was_cut_off(packed: Path) -> None:
    path = packed / "results.jsonl"
    path.write_text('5\n[]\nnull\n{"method": "gpu-validated", "protocol": 1}\n\x00\n{"method": "gpu-val')
    assert run(packed, "--variants", "good*").returncode == 0
    lines = path.read_text().splitlines()
    assert lines[5] == '{"method": "gpu-val'
    assert [json.loads(line).get("method") for line in lines[6:]] == [None, "gpu-validated", "benchmarked"]


def test_a_reader_that_has_gone_costs_no_result(packed: Path) -> None:
    command = f"{sys.executable} run.py --backend tests.device.doubles:HostBackend --problems tiny --variants 'good*'"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = ["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, cwd=packed, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert [r["method"] for r in results(packed)] == ["gpu-validated", "benchmarked"]
    done = subprocess.run(
        [*shell[:2], shell[2].replace("good*", "bad*")],
        cwd=packed, env=env, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1


@pytest.mark.parametrize(
    "option",
    [
        ("--rounds", "0"),
        ("--repeats", "-1"),
        ("--silence", "nan"),
        ("--wait", "-1"),
        ("--seed", "-3"),
        ("--rounds", "x"),
    ],
)
def test_a_nonsensical_option_is_a_usage_error(packed: Path, option: tuple[str, str]) -> None:
    done = run(packed, *option)
    assert done.returncode == 2
    assert f"argument {option[0]}: " in last(done)
    assert not (packed / "results.jsonl").exists()


def test_only_what_is_as_it_was_packed_is_imported(packed: Path) -> None:
    (packed / "numpy.py").write_text("open('sprung', 'w')")
    (packed / "json.py").write_text("open('sprung', 'w')")
    assert run(packed, "--only", "validate", "--variants", "good*").returncode == 0
    assert not (packed / "sprung").exists()
    module = packed / "lib" / "warpwright" / "canonical.py"
    module.write_text(module.read_text() + "\nopen('sprung', 'w')\n")
    (packed / "lib" / "warpwright" / "dtypes.py").unlink()
    done = run(packed)
    name = "lib/warpwright/canonical.py and 1 more"
    told = f"run.py: {name}: missing, or changed since it was packed; copy the bundle again"
    assert (done.returncode, last(done)) == (2, told)
    assert not (packed / "sprung").exists()


def test_another_python_says_so_before_anything_is_imported(packed: Path) -> None:
    described = json.loads((packed / "bundle.json").read_text())
    (packed / "bundle.json").write_text(json.dumps({**described, "python": "3.99"}))
    (packed / "lib" / "warpwright" / "device" / "runner.py").write_text("syntax of another version")
    done = run(packed)
    told = f"run.py: the bundle is for Python 3.99, this is {HERE}: `warpwright bundle ... --python {HERE}`"
    assert (done.returncode, last(done)) == (2, told)


def test_a_library_for_another_cpu_is_a_line(packed: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from warpwright.device import opening, runner

    why = "kernel.so needs a CPU of level x86-64-v4, and this one lacks avx512f; build it again"
    monkeypatch.setattr(opening, "unfit", lambda path: why if path.parent.name == GOOD else "")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.chdir(packed)  # the child leaves out the folder that we are in
    monkeypatch.setenv("WARPWRIGHT_RUNTIME", "")
    monkeypatch.setenv("WARPWRIGHT_OPS", "")
    options = ["--backend", "tests.device.doubles:HostBackend", "--problems", "tiny", "--only", "validate"]
    assert runner.main(packed, [*options, "--variants", "[gf]*"]) == 1
    told = capsys.readouterr()
    assert told.err == f"{GOOD}: cannot be run: {why}\n"
    assert f"{FUSED}: correct" in told.out
    assert runner.main(packed, [*options, "--variants", "good*"]) == 2
    assert capsys.readouterr().err == f"run.py: {GOOD}: {why}\n"


def test_what_the_host_lacks_is_no_verdict_on_the_variant(tmp_path: Path) -> None:
    from tests.device.test_validate import FEW
    from warpwright.device.supervise import Supervisor
    from warpwright.device.variant import load_variant

    folders = [
        make_folder(tmp_path, name=f"{fault}-000000000000", fault=fault)
        for fault in ("host", "memory", "killed", "image")
    ]
    with Supervisor("tests.device.doubles:HostBackend", silence=20, paths=[ROOT]) as supervisor:
        found = list(validate.validate([load_variant(folder) for folder in folders], supervisor, FEW))
    assert [result["status"] for result in found] == ["not_run"] * 4
    assert "libcute_dsl_runtime.so not found" in found[0]["diagnosis"]
    assert "out of memory" in found[1]["diagnosis"]
    assert "signal SIGKILL" in found[2]["diagnosis"]
    assert "no kernel image is available" in found[3]["diagnosis"]


def test_what_python_would_import_beside_what_was_packed_is_refused(packed: Path) -> None:
    options = ("--only", "validate", "--variants", "good*")
    assert [run(packed, *options).returncode for _ in range(2)] == [0, 0]  # a run leaves nothing of the kind
    (packed / "lib" / "numpy.py").write_text("open('sprung', 'w')")
    done = run(packed, *options)
    told = "run.py: 'lib/numpy.py': no part of the bundle, and Python would import it; remove it"
    assert (done.returncode, last(done)) == (2, told)
    (packed / "lib" / "numpy.py").rename(packed / "elsewhere")
    (packed / "ops").symlink_to(packed / "variants")
    assert "no part of the bundle" in last(run(packed, *options))
    assert not (packed / "sprung").exists()


@pytest.mark.parametrize("name", ["bundle.json", "lib/warpwright/canonical.py"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(packed: Path, name: str) -> None:
    (packed / name).unlink()
    os.mkfifo(packed / name)
    done = run(packed)
    assert done.returncode == 2
    assert name in last(done)


def test_the_runtime_of_another_bundle_is_replaced(packed: Path) -> None:
    runtime = packed / "libcute_dsl_runtime.so"
    runtime.write_text("of another bundle")
    assert run(packed, "--only", "validate", "--variants", "good*").returncode == 0
    assert runtime.read_bytes() == b"runtime"


def test_a_gpu_that_the_bundle_was_not_built_for_runs_nothing(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOUBLE_CAPABILITY", "10.0")
    done = run(packed)
    why = "built for sm_90a, which runs on compute capability 9.0 alone, and the GPU here, double, is sm_100"
    assert (done.returncode, done.stderr) == (2, f"run.py: {BAD} and 2 more: {why}; nothing was finished\n")
    assert (packed / "results.jsonl").read_bytes() == b""


def test_of_a_bundle_for_two_gpus_each_runs_its_own(config: Path) -> None:
    built = config / FUSED / "build.json"
    write_json(built, {**json.loads(built.read_text()), "arch": "sm_100a"})
    packed = bundle(config).directory
    done = run(packed, "--only", "validate", "--variants", "[gf]*")
    why = "built for sm_100a, which runs on compute capability 10.0 alone, and the GPU here, double, is sm_90"
    assert (done.returncode, done.stderr) == (1, f"{FUSED}: cannot be run: {why}\n")
    assert [(r["variant"], r["status"]) for r in results(packed)] == [(GOOD, "correct")]
    assert "1 variant" in done.stdout
