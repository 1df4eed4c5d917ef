"""Who times on a GPU is alone there, or says that it was not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder
from tests.device.test_bench import HOST, SHORT
from tests.device.test_validate import FEW
from warpwright.device.bench import bench
from warpwright.device.lock import LOCKS_VARIABLE, holding, lock_file
from warpwright.device.supervise import Supervisor
from warpwright.device.validate import validate
from warpwright.device.variant import load_variant

KEY = "GPU-double"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv(LOCKS_VARIABLE, str(tmp_path))
    monkeypatch.setenv("DOUBLE_KEY", KEY)
    return tmp_path


def taken(alone: bool, wait: float = 0.0) -> str:
    with holding(KEY, alone, wait, lambda _: None) as why:
        return why


def test_one_alone_or_any_number_together() -> None:
    with holding(KEY, False, 0, lambda _: None) as first, holding(KEY, False, 0, lambda _: None) as second:
        assert (first, second) == ("", "")
        assert taken(alone=True) == "another process held the GPU for more than 0 s"
    with holding(KEY, True, 0, lambda _: None):
        assert taken(alone=True)
        assert taken(alone=False)
        with holding("GPU-another", True, 0, lambda _: None) as why:
            assert why == ""
    assert taken(alone=True) == taken(alone=False) == ""


def test_a_kill_releases_it() -> None:
    code = (
        "import sys, time\nfrom warpwright.device.lock import holding\n"
        f"with holding({KEY!r}, True, 0, print) as why:\n    print(why or 'held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert taken(alone=True)
        holder.kill()
        holder.wait()
    assert taken(alone=True) == ""


def test_one_waits_and_gets_it() -> None:
    waited: list[float] = []
    with holding(KEY, True, 0, waited.append):
        started = time.monotonic()
        with holding(KEY, True, 0.5, waited.append) as why:
            assert why
        assert 0.5 <= time.monotonic() - started < 5
    assert len(waited) >= 2
    assert waited == sorted(waited)


def test_another_user_s_file_is_read_and_never_written(folder: Path) -> None:
    assert taken(alone=True) == ""
    assert lock_file(KEY).stat().st_mode & 0o777 == 0o644
    lock_file(KEY).chmod(0o444)
    assert taken(alone=True) == ""


def test_a_lock_that_cannot_be_used_is_no_lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(lock_file(KEY))
    assert "it is no file" in taken(alone=True)  # and does not wait for a writer
    lock_file(KEY).unlink()
    lock_file(KEY).symlink_to(folder / "elsewhere")
    assert "could not be used" in taken(alone=True)
    assert not (folder / "elsewhere").exists()
    monkeypatch.setenv(LOCKS_VARIABLE, str(folder / "absent"))
    assert "could not be used (No such file or directory)" in taken(alone=True)


def test_without_a_key_nothing_is_locked(folder: Path) -> None:
    with holding("", True, 0, print) as first, holding("", True, 0, print) as second:
        assert first == second == ""
    assert list(folder.iterdir()) == []


def run(variant: Path, wait: float) -> tuple[dict, list[str]]:
    told: list[str] = []
    with Supervisor(HOST, silence=2, paths=[ROOT], wait=wait, notice=told.append) as supervisor:
        (result,) = bench([load_variant(variant)], supervisor, SHORT)
    return result, told


def test_a_second_bench_waits_and_says_so_and_is_clean(tmp_path: Path) -> None:
    variant = make_folder(tmp_path / "out")
    lock = holding(KEY, True, 0, print)
    lock.__enter__()
    # Longer than the child takes to start, and than the silence that is a hang.
    threading.Timer(4.5, lock.__exit__, (None, None, None)).start()
    result, told = run(variant, wait=60)
    assert result["status"] == "correct"
    assert "shared" not in result["figures"]
    assert told == ["another process of warpwright is on this GPU; waiting for it, at most 60 s"]
    assert taken(alone=True) == ""  # it has been given back


def test_a_second_bench_that_waited_in_vain_marks_its_figures(tmp_path: Path) -> None:
    with holding(KEY, False, 0, print):  # a validation is a disturbance too
        result, _ = run(make_folder(tmp_path / "out"), wait=0.3)
    assert result["status"] == "correct"
    assert result["figures"]["shared"] == "another process held the GPU for more than 0.3 s"


@pytest.mark.parametrize("seen", ["2", "2,0", "0,2", "1,2", "2,1"])
def test_others_on_the_gpu_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str) -> None:
    """Those who were there ahead of the rounds or behind them; the most that were."""
    monkeypatch.setenv("DOUBLE_OTHERS", seen)
    result, told = run(make_folder(tmp_path / "out"), wait=0)
    assert result["figures"]["shared"] == "2 other compute processes seen"
    assert told == []


def test_both_reasons_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOUBLE_OTHERS", "0,1")
    with holding(KEY, True, 0, print):
        result, _ = run(make_folder(tmp_path / "out"), wait=0)
    held = "another process held the GPU for more than 0 s"
    assert result["figures"]["shared"] == f"{held}; 1 other compute process seen"


def test_validations_share_a_gpu(tmp_path: Path) -> None:
    with holding(KEY, False, 0, print), Supervisor(HOST, silence=10, paths=[ROOT], wait=0) as supervisor:
        (result,) = validate([load_variant(make_folder(tmp_path / "out"))], supervisor, FEW)
    assert result["status"] == "correct"
