"""Which GPU the current CUDA context is on, whatever the numbers and names by which a process was given its GPUs.

CUDA_VISIBLE_DEVICES holds indices, UUIDs, heads of UUIDs or MIG instances, and torch's device 0 is the first of those;
nvidia-smi knows nothing of it. What both know is a GPU's UUID and its place on the PCI bus.
"""

from __future__ import annotations

import contextlib
import ctypes
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpwright.archs import runs_on

__all__ = ["Gpu", "current_gpu", "misfit"]

#: Digits of a UUID that results keep: they tell the GPUs of a host apart, and CUDA_VISIBLE_DEVICES takes them.
_HEAD = 8


@dataclass(frozen=True)
class Gpu:
    """A GPU, or a MIG instance of one. uuid: "GPU-..." or "MIG-..."; bus: PCI bus id of the whole GPU; each "" where it
    cannot be told."""

    uuid: str = ""
    bus: str = ""

    @property
    def short(self) -> str:
        """The head of the UUID, with its kind: enough to tell the GPUs of a host apart."""
        kind, _, digits = self.uuid.partition("-")
        return f"{kind}-{digits[:_HEAD]}" if digits else ""

    @property
    def selectors(self) -> list[str]:
        """What nvidia-smi takes for it, the surest first; of a MIG instance, it knows but the whole GPU."""
        whole = self.uuid if self.uuid.startswith("GPU-") else ""
        return [each for each in (self.bus, whole) if each]


def current_gpu(torch: Any = None) -> Gpu:
    """Return the GPU of the current CUDA context; by what torch says of its current device where the driver says
    nothing."""
    with contextlib.suppress(OSError, AttributeError, _DriverError):
        return _of_driver(_driver())
    with contextlib.suppress(Exception):  # another version of torch; it is for a description alone
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        found = uuid.UUID(str(properties.uuid))
        return Gpu(f"GPU-{found}", _bus_of(properties))
    return Gpu()


def misfit(target: str, device: Mapping[str, Any]) -> str:
    """Say why a GPU, as telemetry describes it, cannot run what was built for a target (`sm_90a`); "" where it can.

    Nor is anything said where the GPU's compute capability is not known.
    """
    wanted, found = runs_on(target), str(device.get("compute_capability", ""))
    if wanted is None or not found:
        return ""
    capability, exact = wanted
    of = [tuple(map(int, each.split("."))) for each in (capability, found)]
    if of[0] == of[1] or (not exact and of[0][0] == of[1][0] and of[0] < of[1]):
        return ""
    alone = f"runs on compute capability {capability}{' alone' if exact else f' and later of {capability[:-2]}.x'}"
    return f"built for {target}, which {alone}, and the GPU here, {device.get('gpu')}, is sm_{found.replace('.', '')}"


class _DriverError(Exception):
    """A call of the driver failed."""


def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


def _of_driver(driver: Any) -> Gpu:
    """Ask the driver (libcuda). Raises AttributeError where a function is missing, _DriverError where one fails."""
    device, bus = ctypes.c_int(), ctypes.create_string_buffer(32)
    whole, part = (ctypes.create_string_buffer(16) for _ in range(2))
    _check(driver.cuCtxGetDevice(ctypes.byref(device)))
    _check(driver.cuDeviceGetUuid(whole, device))
    _check(driver.cuDeviceGetUuid_v2(part, device))  # of a MIG instance its own, where the first gives the whole GPU's
    _check(driver.cuDeviceGetPCIBusId(bus, ctypes.c_int(len(bus)), device))
    kind = "GPU" if whole.raw == part.raw else "MIG"
    return Gpu(f"{kind}-{uuid.UUID(bytes=part.raw)}", bus.value.decode())


def _check(code: int) -> None:
    if code:
        raise _DriverError(code)


def _bus_of(properties: Any) -> str:
    try:
        domain, bus, device = (int(getattr(properties, f"pci_{part}_id")) for part in ("domain", "bus", "device"))
    except AttributeError:
        return ""
    return f"{domain:04x}:{bus:02x}:{device:02x}.0"
