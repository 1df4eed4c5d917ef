"""Host memory that a kernel writes to and the host reads while it runs, as a tensor of the device."""

from __future__ import annotations

import ctypes
from typing import Any, ClassVar

import numpy as np

from warpwright.dlpack import CUDA, DLTensor

__all__ = ["Mapped", "capsule", "mapped"]

_PORTABLE, _MAPPED = 1, 2  # CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP
_SIGNED = 0  # kDLInt
#: What tensors refer to: it must be there as long as they are, so until the process ends.
_KEPT: list[Any] = []


class _ManagedTensor(DLTensor):
    """DLManagedTensor, whose deleter is null: the memory is not its own."""

    _fields_: ClassVar = [("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Mapped:
    """`words` of 64 bits: `host` is how the host sees them (numpy), `device` how kernels do (a tensor of torch)."""

    def __init__(self, host: Any, device: Any) -> None:
        self.host, self.device = host, device


def capsule(address: int, words: int, device_type: int = CUDA, device: int = 0) -> object:
    """Return memory of signed 64-bit words as a DLPack capsule."""
    extents = (ctypes.c_int64 * 1)(words)
    strides = (ctypes.c_int64 * 1)(1)
    tensor = _ManagedTensor(address, device_type, device, 1, _SIGNED, 64, 1, extents, strides, 0, None, None)
    _KEPT.append((extents, strides, tensor))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    found: object = new(ctypes.addressof(tensor), b"dltensor", None)
    return found


def mapped(torch: Any, words: int, value: int) -> Mapped:
    """Allocate host memory that kernels of torch's current device can write to, filled with `value`.

    Raises RuntimeError where the driver refuses, or the device does not see what the host wrote.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    pointer, seen = ctypes.c_void_p(), ctypes.c_void_p()
    _check("cuMemHostAlloc", driver.cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(8 * words),
                                                   ctypes.c_uint(_PORTABLE | _MAPPED)))  # fmt: skip
    _check("cuMemHostGetDevicePointer", driver.cuMemHostGetDevicePointer_v2(ctypes.byref(seen), pointer, 0))
    host = np.ctypeslib.as_array((ctypes.c_int64 * words).from_address(int(pointer.value or 0)))
    host[...] = value
    device = torch.utils.dlpack.from_dlpack(capsule(int(seen.value or 0), words, device=torch.cuda.current_device()))
    if int(device[words - 1].item()) != value:
        raise RuntimeError("the device does not see host memory that is mapped for it")
    return Mapped(host, device)


def _check(name: str, code: int) -> None:
    if code:
        raise RuntimeError(f"{name} failed with CUDA error {code}")
