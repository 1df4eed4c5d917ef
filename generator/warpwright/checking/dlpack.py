"""Arrays in host memory, shown to the DSL as arrays in device memory; and which bytes each of them has.

The DSL gives a tensor the address space of its device, which it reads off the DLPack capsule. So an array is handed on
in a capsule of its own that says CUDA, with the address that its bytes have there (`mirrors`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warpwright.dlpack import CPU, CUDA, DLTensor

__all__ = ["OnDevice", "Span", "is_array"]

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@dataclass(frozen=True)
class Span:
    """The bytes of an array, from its first element to its last: gaps of a strided one are among them.

    shape, strides: in elements; bits: of one element.
    """

    address: int
    bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    bits: int


def is_array(value: object) -> bool:
    """Whether a value is an array of another library (numpy, torch) that the DSL takes."""
    return hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__") and not isinstance(value, OnDevice)


def _span(tensor: DLTensor) -> Span:
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        strides = tuple(tensor.strides[i] for i in range(tensor.ndim))
    else:
        steps = [1]
        for extent in reversed(shape[1:]):
            steps.append(steps[-1] * extent)
        strides = tuple(reversed(steps[: tensor.ndim]))
    bits = tensor.bits * tensor.lanes
    address = (tensor.data or 0) + tensor.byte_offset
    if 0 in shape:
        return Span(address, 0, shape, strides, bits)
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0)
    first = address + low * bits // 8
    return Span(first, -(-(high - low + 1) * bits // 8), shape, strides, bits)


class OnDevice:
    """An array of another library, to be taken for one in the memory of device 0.

    `moved`: how far its bytes lie there from where they are, of (array, address, bytes).
    Raises whatever the array raises that cannot be exported (one that needs a gradient, say).
    """

    def __init__(self, array: Any, moved: Callable[[Any, int, int], int] = lambda *_: 0) -> None:
        self.array, self._moved = array, moved
        self.span = self._capsule()[1]

    def __dlpack__(self, **_: object) -> object:
        return self._capsule()[0]

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def _capsule(self) -> tuple[object, Span]:
        capsule = self.array.__dlpack__()
        tensor = DLTensor.from_address(_pointer_of(capsule, b"dltensor"))
        if tensor.device_type == CPU:
            tensor.device_type, tensor.device_id = CUDA, 0
            span = _span(tensor)
            if span.bytes:
                tensor.data += self._moved(self.array, span.address, span.bytes)
        return capsule, _span(tensor)
