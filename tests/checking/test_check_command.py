"""The command `warpwright check`: programs as they stand, programs that declare, and what it exits with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checking.programs import PROGRAMS

pytestmark = pytest.mark.slow


def check(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warpwright", "check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd)


def left() -> list[Path]:
    """Folders of processes that are no more."""
    folders = Path(tempfile.gettempdir()).glob("warpwright-check.ww-*")
    return [each for each in folders if not Path("/proc", each.name.split("-")[3]).exists()]


def test_a_right_program() -> None:
    done = check("--json", PROGRAMS / "vector_add.py", "--elements", 200)
    assert done.returncode == 0, done.stderr
    assert "PASS" in done.stderr
    found = json.loads(done.stdout)
    (launch,) = found["launches"]
    assert left() == []
    assert (found["arch"], found["status"], found["ended"]) == ("sm_90a", "correct", "returned")
    assert launch["kernel"].startswith("vector_add_kernel (vector_add.py:")
    assert (launch["grid"], launch["runs"]) == ([2, 1, 1], 2)


def test_a_program_that_reads_too_far() -> None:
    done = check("--seeds", 1, PROGRAMS / "vector_add.py", "--extra", 1)
    assert done.returncode == 1
    first = done.stdout.partition("\n")[0]
    assert first.startswith("crash: global-bounds in launch 0, vector_add_kernel (vector_add.py:")
    assert first.endswith("where the program was stopped")
    assert all(len(line) <= 100 for line in done.stdout.splitlines()[1:3])
    assert "global-bounds (launch 0): read of 4 bytes" in done.stdout
    assert "1200 bytes from the start of 'a', which has 1200 bytes" in done.stdout
    assert "c[i] = a[i] + b[i]" in done.stdout
    assert "1 launch for sm_90a: 1 finding, 0 notes" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_program_whose_own_comparison_fails(tmp_path: Path) -> None:
    """What it computes is not what it wants: the program says so, and that counts."""
    done = check(PROGRAMS / "vector_add.py", "--", "--extra", -1)
    assert done.returncode == 1
    assert "the program raised AssertionError: Arrays are not equal\n" in done.stdout
    assert "runpy" not in done.stderr


def test_a_program_that_raises(tmp_path: Path) -> None:
    (tmp_path / "boom.py").write_text('raise RuntimeError("boom")\n')
    done = check(tmp_path / "boom.py")
    assert done.stdout.endswith("the program failed: it raised RuntimeError\n")
    assert "warpwright" not in done.stderr
    done = check("--json", tmp_path / "boom.py")
    assert (done.returncode, json.loads(done.stdout)["code"]) == (1, 1)


DEPENDS = """\
import numpy as np
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(y: cute.Tensor):
    block, _, _ = cute.arch.block_idx()
    y[0] = block

@cute.jit
def run(y: cute.Tensor):
    kernel(y).launch(grid=[8, 1, 1], block=[1, 1, 1])

run(from_dlpack(np.zeros(4, np.int32)))
"""


def test_strictly_what_depends_on_the_schedule_is_found(tmp_path: Path) -> None:
    (tmp_path / "depends.py").write_text(DEPENDS)
    done = check("--strict", "--seeds", 3, tmp_path / "depends.py")
    assert "\nschedule (launch 0): 1 byte of 'y' depends on the schedule" in done.stdout
    assert done.stdout.endswith("2 findings, 0 notes\n")


DECLARED = """\
import sys; sys.path.insert(0, {folder!r})
import numpy as np
import cutlass.cute as cute
from vector_add import vector_add_kernel

@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    vector_add_kernel(a, b, c, cute.size(c) + {extra}).launch(grid=[2, 1, 1], block=[128, 1, 1])

a, b, c = (np.full(200, value, np.float32) for value in (1, 2, 0))
check = {{"function": add, "arguments": [a, b, c], "outputs": {{"c": c}}, "reference": lambda: a + b}}
"""


@pytest.mark.parametrize(
    ("extra", "code", "words"),
    [(0, 0, "0 findings"), (-1, 1, "1 of 200 elements of c are wrong"), (1, 1, f"  {PROGRAMS}/vector_add.py:")],
)
def test_a_program_that_declares_what_is_to_be_checked(tmp_path: Path, extra: int, code: int, words: str) -> None:
    program = tmp_path / "declared.py"
    program.write_text(DECLARED.format(folder=str(PROGRAMS), extra=extra))
    done = check(program, cwd=tmp_path)
    assert (done.returncode, words in done.stdout) == (code, True), done.stdout


def test_what_is_declared_wrongly(tmp_path: Path) -> None:
    text = DECLARED.format(folder=str(PROGRAMS), extra=0).replace("lambda: a + b", 'lambda: {"d": a}')
    (tmp_path / "named.py").write_text(text)
    done = check("--seeds", 1, tmp_path / "named.py")
    assert (done.returncode, "check: the reference has 'd', the outputs are 'c'" in done.stdout) == (2, True)
    assert "nothing found" in done.stdout
    assert done.stdout.endswith("0 notes; it cannot be checked\n")
    assert "Traceback" not in done.stderr
    (tmp_path / "number.py").write_text("check = 5\n")
    assert "check is 5: it must be a mapping" in check(tmp_path / "number.py").stdout
    assert "is a folder" in check(tmp_path).stderr
    done = check("--arch", "sm_70", tmp_path / "number.py")
    assert (done.returncode, done.stderr.startswith("error: --arch: arch 'sm_70' is not known")) == (2, True)


def heeding_interrupts() -> None:
    """In a new process: what a shell starts in the background ignores SIGINT, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("group", [False, True])
def test_an_interrupted_program(tmp_path: Path, group: bool) -> None:
    program, told = tmp_path / "waits.py", tmp_path / "told"
    program.write_text(f"import pathlib, time\npathlib.Path({str(told)!r}).touch()\nwhile True: time.sleep(1)\n")
    command = [sys.executable, "-m", "warpwright", "check", str(program)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heeding_interrupts,
    ) as run:
        try:
            until(told.is_file)
            if group:
                os.killpg(run.pid, signal.SIGINT)
            else:
                run.send_signal(signal.SIGINT)
            out, errors = run.communicate(timeout=60)
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
    assert (run.returncode, errors) == (130, "")
    assert out.startswith("interrupted at waits.py:3;")


def test_what_cannot_be_checked(tmp_path: Path) -> None:
    assert "no such file" in check(tmp_path / "none.py").stderr
    (tmp_path / "idle.py").write_text("print('nothing')\n")
    done = check(tmp_path / "idle.py")
    assert (done.returncode, "launched no kernel" in done.stdout) == (2, True)
    (tmp_path / "plan.json").write_text("{}")
    assert f"`warpwright emulate {tmp_path}` does" in check(tmp_path / "idle.py").stderr
    (tmp_path / "asks.py").write_text("from cuda.bindings import driver\ndriver.cuGraphCreate(0)\n")
    done = check("asks.py", cwd=tmp_path)
    assert (done.returncode, "calls cuGraphCreate, for which there is no stand-in" in done.stdout) == (2, True)
    (tmp_path / "dies.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)\n")
    done = check("dies.py", cwd=tmp_path)
    assert (done.returncode, "ended with signal 9" in done.stderr) == (2, True)


def test_a_killed_command_leaves_no_program_behind(tmp_path: Path) -> None:
    program, told = tmp_path / "waits.py", tmp_path / "pid"
    program.write_text(f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid()) + '\\n'); time.sleep(120)\n")
    command = [sys.executable, "-m", "warpwright", "check", str(program)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        until(lambda: told.is_file() and told.read_text().endswith("\n"))
        running.kill()
    child = Path("/proc") / told.read_text().strip() / "stat"
    until(lambda: not child.is_file() or child.read_text().rpartition(")")[2].split()[0] == "Z")


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_timeline_replaces_nothing_else(tmp_path: Path) -> None:
    """Told before the program runs, which takes a while."""
    pipe, notes = tmp_path / "pipe", tmp_path / "notes"
    os.mkfifo(pipe)
    notes.write_text("mine")
    for path, why in ((pipe, "a device or a pipe"), (notes, "holds something else already")):
        done = check("--trace", path, PROGRAMS / "vector_add.py")
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{path}: {why}" in done.stderr
    assert pipe.is_fifo()
    assert notes.read_text() == "mine"


def test_a_timeline(tmp_path: Path) -> None:
    done = check("--trace", tmp_path / "t.json", PROGRAMS / "vector_add.py")
    assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert events[0]["args"]["name"].startswith("launch 0: vector_add_kernel")
