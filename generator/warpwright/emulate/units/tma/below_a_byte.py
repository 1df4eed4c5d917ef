"""Boxes of elements below a byte: they are moved as bytes, and padded on their way into shared memory.

PTX ISA, "Sub-byte Types", and its restrictions on tensor copies. What the padding holds is undefined: ones here.
"""

from __future__ import annotations

import numpy as np

from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.tma.tensor_map import TensorMap

_PADDED_STEP = 128  # what the first coordinate of padded elements is a multiple of
_CHUNK = 16


def by_bytes(
    f: Fiber, number: int, shape: TensorMap, coordinates: tuple[int, ...], store: bool
) -> tuple[TensorMap, tuple[int, ...]]:
    """The map and the coordinates of one that has elements below a byte, with bytes as elements."""
    if store and shape.padded:
        text = f"a tensor store of elements that are padded in shared memory ({shape.type})"
        f.warp.machine.fault("tma", f.warp, number, text, fatal=True)
    step = _PADDED_STEP if shape.padded else 8 // shape.bits
    first = coordinates[0]
    if first % step:
        text = f"coordinate {first} of elements of {shape.bits} bits ({shape.type}): a multiple of {step}"
        f.warp.machine.fault("tma", f.warp, number, text, fatal=True)
    return shape.in_bytes, (first * shape.bits // 8, *coordinates[1:])


def with_padding(chunks: Array, shape: TensorMap) -> Array:
    """The chunks of a box in shared memory, of its bytes in global memory."""
    if not shape.padded:
        return chunks
    packed = chunks.view(np.uint8).reshape(-1, 2 * shape.bits)  # sixteen elements
    padded = np.full((len(packed), _CHUNK), 0xFF, dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    found: Array = padded.reshape(-1).view(np.complex128)
    return found
