"""A GPU that is lost on the way: nobody is blamed for it, and whoever waits for it is told."""

from __future__ import annotations

import io
import queue
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.device.doubles import ROOT
from tests.device.plans import make_folder
from warpwright.device import validate
from warpwright.device.supervise import Supervisor, _forward
from warpwright.device.validate import Validation
from warpwright.device.variant import load_variant
from warpwright.errors import DeviceUnavailableError

ONE = Validation(problems=[{"m": 16, "n": 8, "k": 8, "l": 1}], repeats=2, seed=5)


def watch(backend: str, **how: Any) -> Supervisor:
    return Supervisor(f"tests.device.doubles:{backend}", silence=20, paths=[ROOT], **how)


@pytest.fixture
def once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOUBLE_ONCE", str(tmp_path / "once"))


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(
    ("fault", "looked"), [("sticky", "crash: "), ("abort", "crash: "), ("load", "launch_failed: ")]
)
def test_a_variant_is_not_blamed_where_the_device_is_gone_afterwards(tmp_path: Path, fault: str, looked: str) -> None:
    folders = [make_folder(tmp_path, name=f"{number}-000000000000", fault=fault) for number in (1, 2)]
    with watch("OnceBackend") as supervisor:
        found = validate.validate([load_variant(folder) for folder in folders], supervisor, ONE)
        first = next(found)
        assert first["status"] == "not_run"
        assert first["diagnosis"].startswith(looked)
        assert first["diagnosis"].endswith("; then the device was gone: RuntimeError: the GPU is lost")
        with pytest.raises(DeviceUnavailableError, match="the GPU is lost"):
            next(found)


@pytest.mark.parametrize(("backend", "status"), [("HostBackend", "crash"), ("OtherBackend", "not_run")])
def test_a_variant_is_blamed_as_long_as_it_is_the_same_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, status: str
) -> None:
    """Where one of several falls off its bus, the next process finds another in its place."""
    monkeypatch.setenv("DOUBLE_ONCE", str(tmp_path / "once"))
    with watch(backend) as supervisor:
        (found,) = validate.validate([load_variant(make_folder(tmp_path, fault="sticky"))], supervisor, ONE)
    assert found["status"] == status
    assert ("in its place is " in found["diagnosis"]) == (status == "not_run")


def test_a_device_that_fails_before_the_first_request_is_no_device(tmp_path: Path) -> None:
    with watch("NoMemoryBackend") as supervisor, pytest.raises(DeviceUnavailableError, match="CUDA error: unknown"):
        supervisor.start()


def test_a_line_that_a_kill_has_cut_is_no_event() -> None:
    lines: queue.Queue[str | None] = queue.Queue()
    _forward(io.StringIO('{"event": "beat"}\n{"event": "prob'), lines)
    assert [lines.get_nowait(), lines.get_nowait()] == ['{"event": "beat"}\n', None]


def test_a_child_that_cannot_be_ended_costs_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one in the driver's hands: what it found out stands, and no other is started beside it."""
    with watch("HostBackend") as supervisor:
        (found,) = validate.validate([load_variant(make_folder(tmp_path))], supervisor, ONE)
        process: Any = supervisor._process
        monkeypatch.setattr(supervisor, "_process", Stuck(process))
    assert found["status"] == "correct"
    with pytest.raises(DeviceUnavailableError, match="cannot be ended; the device is stuck"):
        supervisor.start()


class Stuck:
    """A process that was killed, and that does not end in time."""

    def __init__(self, process: Any) -> None:
        self.process, self.pid, self.stdin = process, process.pid, process.stdin

    def kill(self) -> None:
        self.process.kill()

    def wait(self, timeout: float) -> int:
        self.process.wait(timeout)
        raise subprocess.TimeoutExpired("child", timeout)
