"""Instructions that look across the lanes of a warp: shuffles, votes, elections, reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.rows import LANES, lanes_of, mask_of
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array


def converged(f: Fiber, number: int, members: int) -> None:
    """Instructions with a membermask: all the lanes it names must be here."""
    if members & f.warp.alive & ~f.mask:
        text = f"lanes {members:#010x} are named but only {f.mask:#010x} are here"
        f.warp.machine.fault("convergence", f.warp, number, text, fatal=True)


def shuffle(f: Fiber, mode: str, values: Any, lane: Any, clamp: Any) -> tuple[Array, Array]:
    """shfl.sync: (values, in range), by the pseudo-code of the PTX ISA."""
    values = np.broadcast_to(np.asarray(values, dtype=np.uint32), 32)
    b, c = np.asarray(lane, dtype=np.int64) & 31, np.asarray(clamp, dtype=np.int64)
    segment, top, here = c >> 8 & 31, c & 31, LANES.astype(np.int64)
    highest = (here & segment) | (top & ~segment)
    lowest = here & segment
    if mode == "up":
        source = here - b
        inside = source >= highest
    elif mode == "down":
        source = here + b
        inside = source <= highest
    elif mode == "bfly":
        source = here ^ b
        inside = source <= highest
    else:
        source = lowest | (b & ~segment & 31)
        inside = source <= highest
    return values[np.where(inside, source, here)], inside & np.ones(32, dtype=bool)


def vote(f: Fiber, mode: str, row: Any) -> int:
    lanes = mask_of(np.broadcast_to(np.asarray(row, dtype=bool), 32)) & f.mask
    return {"ballot": lanes, "any": int(lanes != 0), "all": int(lanes == f.mask),
            "uni": int(lanes in (0, f.mask))}[mode]  # fmt: skip


def reduce_lanes(f: Fiber, name: str, row: Any, signed: bool) -> int:
    """redux.sync over the active lanes."""
    values = [int(v) for v in np.broadcast_to(np.asarray(row), 32)[f.lanes]]
    result = values[0]
    for value in values[1:]:
        table = {"add": result + value, "min": min(result, value), "max": max(result, value)}
        table |= {"and": result & value, "or": result | value, "xor": result ^ value}
        result = table[name]
    return result & 0xFFFFFFFF


def leader(f: Fiber) -> Array:
    """elect.sync: the lowest active lane."""
    return lanes_of(f.mask & -f.mask)
