"""One process per folder: order kept, errors kept apart, a death costs its own answer only."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from warpwright.emulate.parallel import each

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


def test_nothing_to_do() -> None:
    assert each(str, [], 4, lambda: None) == []
