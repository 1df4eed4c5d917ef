"""One process per folder: order kept, errors kept apart, a death costs its own answer only."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warpwright.emulate.variant.parallel import each

#: In a module of its own, which the processes can import.
WORK = """
import os, signal, time
from warpwright.emulate import EmulatorError
from warpwright.emulate.ptx.syntax import PtxError
from warpwright.epilogue.registry import OpError

class Unpicklable:
    def __reduce__(self):
        raise TypeError("cannot be sent")

def work(folder):
    name = folder.name
    if name == "refused":
        raise EmulatorError("not emulated: cp.async.wait_all")
    if name == "ptx":
        raise PtxError("line 3: cannot be read")
    if name == "operation":
        raise OpError("mine.py: no OP")
    if name == "file":
        open("/no/such/file")
    if name in ("SIGKILL", "SIGSEGV"):
        os.kill(os.getpid(), getattr(signal, name))
    if name == "memory":
        raise MemoryError
    if name == "bug":
        assert folder == 1, "a row too many"
    if name == "key":
        {}["%r7"]
    if name == "deep":
        return work(folder)
    if name == "leaves":
        raise SystemExit(3)
    if name == "vanishes":
        os._exit(0)
    if name == "hangs":
        time.sleep(60)
    if name == "unsent":
        return Unpicklable()
    return name, os.environ["OPENBLAS_NUM_THREADS"]
"""
#: What each of them is told as.
ENDINGS = {
    "refused": "not emulated: cp.async.wait_all",
    "ptx": "line 3: cannot be read",
    "operation": "mine.py: no OP",
    "file": "[Errno 2] No such file or directory: '/no/such/file'",
    "SIGKILL": "the emulating process was ended by SIGKILL: the machine ran out of memory, if nobody else did it; fewer"
    " at once (--jobs) take less",
    "SIGSEGV": "the emulating process was ended by SIGSEGV",
    "memory": "the emulation ran out of memory; fewer at once (--jobs) take less",
    "bug": "a fault of the emulator, not of the kernel: AssertionError: a row too many in work_of_a_test.py, line 26"
    " (work)",
    "key": "a fault of the emulator, not of the kernel: KeyError: '%r7' in work_of_a_test.py, line 28 (work)",
    "deep": "a fault of the emulator, not of the kernel: RecursionError: maximum recursion depth exceeded",
    "leaves": "a fault of the emulator, not of the kernel: SystemExit: 3 in work_of_a_test.py, line 32 (work)",
    "vanishes": "the emulating process ended with exit code 0 and without an answer",
    "hangs": "the emulation was not done after 3 s and was ended: it hangs, or the host function does",
    "unsent": "a fault of the emulator, not of the kernel: TypeError: cannot be sent in work_of_a_test.py, line 9",
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Any]:
    (tmp_path / "work_of_a_test.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("work_of_a_test", None)
    found: Callable[[Path], Any] = importlib.import_module("work_of_a_test").work
    return found


def test_answers_are_in_order_whatever_happens_to_one(
    work: Callable[[Path], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    steps: list[int] = []
    folders = [Path(name) for name in ("first", *ENDINGS, "last")]
    answers = each(work, folders, 2, lambda: steps.append(1), limit=3)
    assert [answers[0].value, answers[-1].value] == [("first", "1"), ("last", "1")]
    assert [answer.value for answer in answers[1:-1]] == [None] * len(ENDINGS)
    for answer, (name, text) in zip(answers[1:-1], ENDINGS.items(), strict=True):
        assert answer.error.startswith(text), name
    assert len(steps) == len(folders)
    assert "Traceback" not in capfd.readouterr().err


def descendants(root: int) -> set[int]:
    """The processes below one, found by their parents."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        state, parent = text.rpartition(")")[2].split()[:2]
        if state != "Z":
            parents[int(stat.parent.name)] = int(parent)
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def running(pids: set[int]) -> set[int]:
    states = {}
    for pid in pids:
        try:
            states[pid] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
    return {pid for pid, state in states.items() if state != "Z"}


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_a_killed_parent_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "work_of_a_test.py").write_text(
        "import os, time\n\ndef work(folder):\n    (folder / str(os.getpid())).touch()\n    time.sleep(60)\n"
    )
    folder = tmp_path / "begun"
    folder.mkdir()
    code = (
        "from pathlib import Path\nimport work_of_a_test\n"
        "from warpwright.emulate.variant.parallel import each\n"
        f"each(work_of_a_test.work, [Path({str(folder)!r})] * 3, 2, lambda: None)\n"
    )
    path = os.pathsep.join([str(tmp_path), *(p for p in sys.path if p)])
    parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, cwd=folder)
    try:
        patience = time.monotonic() + 30
        while len(list(folder.iterdir())) < 2 and time.monotonic() < patience:
            time.sleep(0.02)
        begun = {int(path.name) for path in folder.iterdir()}
        below = descendants(parent.pid)
        assert len(begun) == 2
        assert begun < below  # the server, and what looks after its resources, are there too
    finally:
        parent.kill()
        parent.wait()
    patience = time.monotonic() + 1 + 4 * (os.getloadavg()[0] > 4)
    while running(below) and time.monotonic() < patience:
        time.sleep(0.02)
    assert running(below) == set()


@pytest.mark.parametrize("entry", ["", ".", ":", "absolute"])
def test_nothing_is_imported_from_the_current_directory(tmp_path: Path, entry: str) -> None:
    """Whether the current directory came into the import path by itself or by an entry of PYTHONPATH."""
    for name in ("json", "numpy", "selectors", "socket", "struct", "random", "pickle", "tempfile", "ml_dtypes"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current directory')\n")
    code = (
        "import os, sys\n"
        "here = os.getcwd(); first, sys.path = sys.path, [p for p in sys.path if p not in ('', '.', here)]\n"
        "from pathlib import Path\n"
        "from warpwright.emulate.variant.parallel import each\n"
        "sys.path = first\n"
        "before = list(sys.path), dict(os.environ)\n"
        "(answer,) = each(os.path.basename, [Path('a/b')], 1, lambda: None)\n"
        "print(answer, (sys.path, dict(os.environ)) == before, Path.cwd())\n"
    )
    found = list(map(os.path.abspath, filter(None, sys.path)))
    place = {"": [], ".": ["."], ":": [""], "absolute": [str(tmp_path)]}[entry]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*found[:1], *place, *found[1:]])}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False, timeout=60)
    assert done.stdout == f"Answer(value='b', error='') True {tmp_path}\n", done.stderr


def test_nothing_to_do() -> None:
    assert each(str, [], 4, lambda: None) == []


def _with_tmpdir(tmp_path: Path, length: int, before: str = "") -> subprocess.Popen[str]:
    """Run one task where the path of TMPDIR has that many characters."""
    place = tmp_path / ("t" * (length - len(str(tmp_path)) - 1))
    place.mkdir()
    code = (
        "import os\nfrom pathlib import Path\nfrom warpwright.emulate.variant import parallel\n"
        f"{before}\nprint(parallel.each(os.path.basename, [Path('a/b')], 1, lambda: None))\n"
    )
    env = {**os.environ, "TMPDIR": str(place), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], env=env, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("length", [76, 107, 200])
def test_a_long_tmpdir_leaves_room_for_a_socket(length: int) -> None:
    """A socket's path has 107 characters at most; nothing that was made in the place of TMPDIR is left."""
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        running = _with_tmpdir(Path(top), length)
        assert running.communicate(timeout=60) == ("[Answer(value='b', error='')]\n", "")
        assert [*Path(top).glob("t*/*"), *Path("/tmp").glob(f"warpwright-emulate.ww-*-{running.pid}-*")] == []


def test_no_room_for_a_socket_is_told() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        running = _with_tmpdir(Path(top), 76, "parallel._SHORT_FOLDERS = ('/dev/null', '/nowhere')")
        _, words = running.communicate(timeout=60)
        assert running.returncode == 1
        assert f"TMPDIR is {top}/ttt" in words
        assert "choose one of at most 75 characters" in words
