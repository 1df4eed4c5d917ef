"""Lanes as masks and as rows of 32 values."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from warpwright.emulate.numbers.formats import Array

if TYPE_CHECKING:
    from warpwright.emulate.machine.state import Fiber

FULL = 0xFFFFFFFF
LANES = np.arange(32, dtype=np.uint32)
#: What a register holds before anything wrote it, by its width in bits: NaN for whoever reads it as floats (of 16 bits
#: and more), a large odd number for whoever counts or addresses with it. Predicates differ.
POISON = {16: 0x7FFD, 32: 0x7FFDFFFB, 64: 0x7FFDFFFB_7FFDFFFB}
_LANE_MASKS: dict[int, Array] = {}
_MASKS: dict[bytes, int] = {}


def lanes_of(mask: int) -> Array:
    """32 booleans."""
    found = _LANE_MASKS.get(mask)
    if found is None:
        found = _LANE_MASKS[mask] = (mask >> LANES & 1).astype(bool) if mask else np.zeros(32, dtype=bool)
    return found


@functools.cache
def unset(bits: int, count: int, kind: Any, odd: int) -> Array:
    """(count, 32) registers of `bits` that nothing has written, to be copied; of predicates every second lane holds."""
    if bits > 1:
        return np.full((count, 32), POISON[bits], dtype=kind)
    predicates: Array = np.add.outer(np.arange(count), LANES + odd) & 1 == 1
    return predicates


@functools.cache
def thread_index(block: tuple[int, int, int], first: int) -> tuple[Array, Array, Array]:
    """%tid of the lanes of the warp that begins with thread `first` of a block."""
    x, y, _ = block
    flat = LANES + np.uint32(first)
    return flat % x, flat // x % y, flat // (x * y)


def mask_of(lanes: Any) -> int:
    key = lanes.tobytes()
    found = _MASKS.get(key)
    if found is None:
        found = _MASKS[key] = int.from_bytes(np.packbits(lanes, bitorder="little").tobytes(), "little")
    return found


def one(f: Fiber, number: int, row: Array) -> int:
    """The value that all active lanes have in `row`, for operands that must be the same in all of them."""
    values = row[f.lanes]
    if (values != values[0]).any():
        text = f"the active lanes disagree on an operand: {values.tolist()[:4]}..."
        f.warp.machine.fault("convergence", f.warp, number, text, fatal=True)
    return int(values[0])


def rows_of(kind: str, *values: Any) -> Array:
    """(len(values), 32) of uniform values and rows."""
    return np.stack([np.broadcast_to(np.asarray(v, dtype=kind), 32) for v in values])


#: What generated code may use beside what its instructions bring.
NAMES: dict[str, Any] = {"LANES": LANES, "one": one, "rows_of": rows_of}
