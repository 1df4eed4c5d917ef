"""The GPU that is asked about is the one that is computed on: a driver and an nvidia-smi of two GPUs stand in."""

from __future__ import annotations

import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warpwright.device import gpu as gpu_module
from warpwright.device.gpu import Gpu, current_gpu
from warpwright.device.telemetry import clocks, describe_cuda, loaded_driver, others

FIRST, SECOND, PART = (str(uuid.UUID(int=number << 96 | number)) for number in (0x11111111, 0x22222222, 0x33333333))
#: Answers for the two by their bus id, and for the second by its UUID too.
SMI = f"""#!/bin/sh
echo "$@" >> "$0.asked"
case "$*" in
  *--id=0000:11:00.0*) name=first; apps="100" ;;
  *--id=0000:22:00.0*) name=second; apps="200
201
201
202" ;;
  *--id=GPU-{SECOND}*) name=second ;;
  *) echo "No devices were found"; exit 6 ;;
esac
case "$*" in
  *compute-apps*) echo "$apps" ;;
  *driver_version*) echo "driver of the $name" ;;
  *) test $name = first && echo "100, 101, 102.5, 103, 104" || echo "200, 201, [N/A], 203, 204" ;;
esac
"""


class FakeDriver:
    """libcuda with a current device: 0 and 1 are GPUs, 2 is a MIG instance of the second."""

    def __init__(self, current: int) -> None:
        self.current = current

    def cuCtxGetDevice(self, device: Any) -> int:  # noqa: N802
        device._obj.value = self.current
        return 0

    def cuDeviceGetUuid(self, found: Any, device: Any) -> int:  # noqa: N802
        found.raw = uuid.UUID((FIRST, SECOND, SECOND)[device.value]).bytes
        return 0

    def cuDeviceGetUuid_v2(self, found: Any, device: Any) -> int:  # noqa: N802
        found.raw = uuid.UUID((FIRST, SECOND, PART)[device.value]).bytes
        return 0

    def cuDeviceGetPCIBusId(self, bus: Any, length: Any, device: Any) -> int:  # noqa: N802
        bus.value = (b"0000:11:00.0", b"0000:22:00.0", b"0000:22:00.0")[device.value]
        return 0


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    command = tmp_path / "nvidia-smi"
    command.write_text(SMI)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "nvidia-smi.asked"


def on(monkeypatch: pytest.MonkeyPatch, current: int) -> Gpu:
    monkeypatch.setattr(gpu_module, "_driver", lambda: FakeDriver(current))
    return current_gpu()


def test_the_clocks_are_those_of_the_current_device(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = on(monkeypatch, 1)
    assert (second.uuid, second.bus, second.short) == (f"GPU-{SECOND}", "0000:22:00.0", "GPU-22222222")
    # What is not available is left out, and moves nothing else.
    expected = {"clocks_sm": 200.0, "clocks_mem": 201.0, "power_limit": 203.0, "temperature_gpu": 204.0}
    assert clocks(second) == expected
    assert clocks(on(monkeypatch, 0))["power_draw"] == 102.5
    assert "--id=0 " not in asked.read_text() + " "


def test_of_a_mig_instance_the_clocks_are_those_of_its_gpu(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = on(monkeypatch, 2)
    assert part.uuid == f"MIG-{PART}"
    assert clocks(part)["clocks_sm"] == 200.0
    assert f"--id=GPU-{PART}" not in asked.read_text()


def test_a_bus_that_nvidia_smi_does_not_know_gives_way_to_the_uuid(asked: Path) -> None:
    assert clocks(Gpu(f"GPU-{SECOND}", "0000:77:00.0"))["clocks_sm"] == 200.0


@pytest.mark.parametrize("unknown", [Gpu(), Gpu(f"MIG-{PART}"), Gpu(f"GPU-{PART}", "0000:77:00.0")])
def test_what_cannot_be_told_is_not_another_one_s(asked: Path, unknown: Gpu) -> None:
    assert clocks(unknown) == {}
    assert others(unknown) == 0


def test_others_are_all_but_this_process(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert others(on(monkeypatch, 0)) == 0
    assert others(on(monkeypatch, 1)) == 2  # 201 is told twice


class FakeTorch:
    """torch with the second of two devices as the current one."""

    __version__ = "2.9"
    version = SimpleNamespace(cuda="13.0")

    def __init__(self) -> None:
        self.cuda = self
        self.devices = [
            SimpleNamespace(name=name, major=9, minor=minor, multi_processor_count=sms, total_memory=sms << 30)
            for name, minor, sms in (("first", 0, 11), ("second", 1, 22))
        ]

    def current_device(self) -> int:
        return 1

    def get_device_properties(self, index: int) -> Any:
        return self.devices[index]


def test_the_current_device_is_described(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = describe_cuda(FakeTorch(), on(monkeypatch, 1))
    assert (told["gpu"], told["compute_capability"], told["sms"]) == ("second", "9.1", 22)
    assert told["driver"] == "driver of the second"
    assert told["uuid"] == "GPU-22222222"


def test_without_the_driver_s_word_torch_s_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise OSError("libcuda.so.1: cannot open shared object file")

    monkeypatch.setattr(gpu_module, "_driver", missing)
    torch = FakeTorch()
    assert current_gpu(torch) == Gpu()  # an old torch
    torch.devices[1].uuid = SECOND
    assert current_gpu(torch) == Gpu(f"GPU-{SECOND}", "")
    for part, value in (("domain", 0), ("bus", 0x22), ("device", 0)):
        setattr(torch.devices[1], f"pci_{part}_id", value)
    assert current_gpu(torch).bus == "0000:22:00.0"
    assert current_gpu() == Gpu()


def test_the_driver_is_known_without_nvidia_smi(tmp_path: Path) -> None:
    version = tmp_path / "version"
    for text, found in (
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Sep 1\nGCC version: 12.2\n",
            "580.159.04",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n", "570.86.15"),
        ("something else\n", ""),
    ):
        version.write_text(text)
        assert loaded_driver(version) == found
    assert loaded_driver(tmp_path / "absent") == ""
