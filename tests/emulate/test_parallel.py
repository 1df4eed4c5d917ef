"""One process per folder: order kept, errors kept apart, a death costs its own answer only."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpwright.emulate.variant.parallel import each

#: In a module of its own, which the processes can import.
WORK = """
import os, signal
from warpwright.emulate import EmulatorError

def work(folder):
    if folder.name == "refused":
        raise EmulatorError("not emulated: cp.async.wait_all")
    if folder.name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    return folder.name, os.environ["OPENBLAS_NUM_THREADS"]
"""


def test_answers_are_in_order_whatever_happens_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work_of_a_test.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    steps: list[int] = []
    folders = [Path(name) for name in ("first", "killed", "refused", "last")]
    answers = each(importlib.import_module("work_of_a_test").work, folders, 2, lambda: steps.append(1))
    assert [answer.value for answer in answers] == [("first", "1"), None, None, ("last", "1")]
    assert answers[1].error == "the emulating process ended with code -9"
    assert answers[2].error == "not emulated: cp.async.wait_all"
    assert len(steps) == 4


def test_nothing_is_imported_from_the_current_directory(tmp_path: Path) -> None:
    for name in ("json", "numpy", "selectors", "socket", "struct"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the current directory')\n")
    code = (
        "import os, sys; sys.path = [p for p in sys.path if p]\n"
        "from pathlib import Path\n"
        "from warpwright.emulate.variant.parallel import each\n"
        "sys.path.insert(0, '')\n"
        "(answer,) = each(os.path.basename, [Path('a/b')], 1, lambda: None)\n"
        "print(answer, sys.path[0] == '', Path.cwd())\n"
    )
    path = os.pathsep.join(map(os.path.abspath, filter(None, sys.path)))
    env = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False, timeout=60)
    assert done.stdout == f"Answer(value='b', error='') True {tmp_path}\n", done.stderr


def test_nothing_to_do() -> None:
    assert each(str, [], 4, lambda: None) == []
