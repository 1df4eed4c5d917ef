"""Which bytes a tensor takes, and whether two of them share one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpwright.device.held import held_bytes
from warpwright.plan.types import Argument

__all__ = ["Span", "span_of"]


@dataclass(frozen=True)
class Span:
    """Bytes that a tensor's elements lie in: [first, last), and the window they take of each `pitch` bytes.

    steps: extent and stride in bytes of each mode of more than one element: two of the same are element for element.
    """

    first: int
    last: int
    pitch: int  # smallest stride beyond the contiguous mode, 0 where the tensor is one run
    window: int  # bytes of one contiguous run
    steps: tuple[tuple[str, int, int], ...]

    def overlaps(self, other: Span) -> bool:
        """Whether two tensors share a byte; exact for runs of one common pitch (column slices of one matrix).

        Where it cannot be told, they do.
        """
        if self.last <= other.first or other.last <= self.first:
            return False
        if self.pitch and self.pitch == other.pitch:
            gap = (other.first - self.first) % self.pitch
            return not (self.window <= gap and gap + other.window <= self.pitch)
        return True


def span_of(argument: Argument, tensor: Any) -> Span:
    """Return the bytes of a tensor that has elements, of checked strides."""
    size, first = held_bytes(argument), int(tensor.data_ptr())
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    last = first + size * (1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)))
    inner = argument.shape.index(argument.contiguous) if argument.contiguous else len(shape) - 1
    outer = [strides[m] for m in range(len(shape)) if m != inner and shape[m] > 1]
    pitch = min(outer, default=0)
    regular = pitch and all(stride % pitch == 0 for stride in outer)
    modes = zip(argument.shape, shape, strides, strict=True)
    steps = tuple((mode, extent, stride * size) for mode, extent, stride in modes if extent > 1)
    return Span(first, last, pitch * size if regular else 0, shape[inner] * size, steps)
