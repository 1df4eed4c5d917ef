"""Boxes that are not copied as they are: traversal strides, NaN outside the tensor, rounding to tf32.

What the documentation leaves open was seen on an H200 (driver 580): a box begins at its coordinates, outside the tensor
too, and takes each steps[i]-th element from there; NaN fill is 0x7ff7 in every 16 bits, whatever the floating-point
type; a load of tf32 rounds to nearest even and makes every NaN 0x7fffe000, while f32.ftz is loaded as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.emulate.machine.memory import Buffer
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.tma.tensor_map import TensorMap

_NAN = 0x7FF77FF77FF77FF7
_TF32_NAN = 0x7FFFE000


@dataclass(frozen=True)
class Part:
    """The part of a box that lies inside the tensor; outermost mode first, as numpy has it.

    source: a view of those elements in their buffer, or of its write counts. inside: where they lie in the box.
    """

    buffer: Buffer
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    inside: tuple[slice, ...]

    def view(self, data: Any, kind: str) -> Array:
        found: Array = np.ndarray(self.sizes, kind, data, self.offset, self.strides)
        return found


def part(f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...], granule: int = 1) -> Part | None:
    """The part of the box at `coordinates` that is inside the tensor, None where nothing is.

    The innermost extent counts as rounded up to `granule` bytes.
    """
    whole = max(1, granule // shape.element)
    steps = shape.steps or (1,) * len(shape.box)
    sizes, strides, inside, offset, span = [], [], [], 0, shape.element
    modes = zip(coordinates, shape.copied, shape.extents, (shape.element, *shape.strides), steps, strict=True)
    for axis, (at, count, extent, stride, step) in enumerate(modes):
        end = extent if axis else -(-extent // whole) * whole
        low = max(-(at // step), 0) if at < 0 else 0
        high = min(count, -(-(end - at) // step))
        if high <= low:
            return None
        sizes.append(high - low)
        strides.append(stride * step)
        inside.append(slice(low, high))
        offset += (at + low * step) * stride
        span += (high - low - 1) * stride * step
    address = shape.address + offset
    memory = f.warp.machine.memory
    buffer = memory.at(address, span)
    if buffer is None:
        text = f"tensor copy of {span} bytes at {address:#x}: {memory.near(address)}"
        f.warp.machine.fault("global-bounds", f.warp, number, text, fatal=True)
        raise AssertionError
    return Part(buffer, address - buffer.address, tuple(sizes[::-1]), tuple(strides[::-1]), tuple(inside[::-1]))


def fetch(f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...]) -> Array:
    """The box at `coordinates` as 16-byte chunks."""
    kind = f"u{shape.element}"
    fill = _NAN & (1 << 8 * shape.element) - 1 if shape.fill == "nan" else 0
    box = np.full(shape.copied[::-1], fill, dtype=kind)
    found = part(f, number, shape, coordinates)
    if found is not None:
        values = found.view(found.buffer.data.data, kind)
        box[found.inside] = rounded(values) if shape.type.startswith("tf32") else values
    return box.reshape(-1).view(np.complex128)


def rounded(bits: Array) -> Array:
    """Bits of f32 rounded to tf32: 13 bits off, to nearest even."""
    wide = bits.astype(np.uint64)
    even = wide + 0xFFF + (wide >> 13 & 1) & 0xFFFFE000
    nan = (wide & 0x7FFFFFFF) > 0x7F800000
    found: Array = np.where(nan, _TF32_NAN, even).astype(np.uint32)
    return found
