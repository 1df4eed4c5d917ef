"""Instructions that look across the lanes of a warp: shuffles, votes, elections, reductions, matches.

Each takes its membermask: one for the warp, or a row of them where groups of lanes exchange among themselves. All lanes
that a mask names must be here with that mask, and who executes must be in its own (PTX ISA; else undefined behaviour).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpwright.emulate.machine.rows import LANES, lanes_of, mask_of
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import Array, fmax, fmin


def converged(f: Fiber, number: int, members: int) -> None:
    """All the lanes that the mask names must be here, and only they."""
    if members & f.warp.alive & ~f.mask:
        text = f"lanes {members:#010x} are named but only {f.mask:#010x} are here"
        f.warp.machine.fault("convergence", f.warp, number, text, fatal=True)
    if f.mask & ~members:
        text = f"lanes {f.mask & ~members:#010x} execute this but are not in its membermask, {members:#010x}"
        f.warp.machine.fault("convergence", f.warp, number, text, fatal=True)


def groups(f: Fiber, number: int, members: Any) -> list[int]:
    """The lanes that exchange with each other, as masks: all that are here, or by their own masks."""
    if isinstance(members, int):
        converged(f, number, members)
        return [f.mask]
    found = []
    for mask in dict.fromkeys(members[f.lanes].tolist()):
        here = mask_of(members == mask) & f.mask
        if here != mask & f.warp.alive:
            text = f"lanes {mask:#010x} are named by lanes {here:#010x}: the others are not here, or name other lanes"
            f.warp.machine.fault("convergence", f.warp, number, text, fatal=True)
        found.append(here)
    return found


def _spread(f: Fiber, number: int, members: Any, of: Callable[[int], int]) -> Any:
    """`of` each group of lanes: one value for the warp, or a row."""
    if isinstance(members, int):
        return of(groups(f, number, members)[0])
    row = np.zeros(32, dtype=np.uint32)
    for group in groups(f, number, members):
        row[lanes_of(group)] = of(group)
    return row


def broadcast(f: Fiber, number: int, lane: int, members: Any) -> None:
    """The check of shfl.sync.idx from one lane of the whole warp."""
    groups(f, number, members)
    if not f.mask >> (lane & 31) & 1:
        _outside(f, number, f.mask, lane & 31)
    elif not isinstance(members, int) and not (members[f.lanes] >> np.uint32(lane & 31) & 1).all():
        _outside(f, number, mask_of(members >> np.uint32(lane & 31) & 1 == 0) & f.mask, lane & 31)


def _outside(f: Fiber, number: int, readers: int, source: int) -> None:
    inactive = not f.mask >> source & 1
    why = "has ended or is not here" if inactive else "is not in their membermask"
    text = f"lanes {readers:#010x} read the register of lane {source}, which {why}: the result is undefined"
    f.warp.machine.fault("shuffle", f.warp, number, text)


def shuffle(
    f: Fiber, number: int, mode: str, values: Any, lane: Any, clamp: Any, members: Any
) -> tuple[Array, Array]:  # fmt: skip
    """shfl.sync: (values, in range), by the pseudo-code of the PTX ISA."""
    groups(f, number, members)
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
    chosen = np.where(inside, source, here)
    allowed = (members if isinstance(members, int) else members.astype(np.int64)) & f.mask
    bad = (allowed >> chosen & 1 == 0) & f.lanes
    if bad.any():
        first = int(chosen[bad.argmax()])
        _outside(f, number, mask_of(bad & (chosen == first)), first)
    return values[chosen], inside & np.ones(32, dtype=bool)


def vote(f: Fiber, number: int, mode: str, row: Any, members: Any) -> Any:
    """vote.sync: a mask of lanes (ballot), or 0 or 1."""
    held = mask_of(np.broadcast_to(np.asarray(row, dtype=bool), 32))

    def of(group: int) -> int:
        lanes = held & group
        return {"ballot": lanes, "any": int(lanes != 0), "all": int(lanes == group),
                "uni": int(lanes in (0, group))}[mode]  # fmt: skip

    found = _spread(f, number, members, of)
    return found if mode == "ballot" or isinstance(found, int) else found != 0


def match(f: Fiber, number: int, mode: str, row: Any, members: Any) -> tuple[Any, Any]:
    """match.sync: (mask, predicate); any: the lanes with the same value; all: those of the group where all agree."""
    values = np.broadcast_to(np.asarray(row, dtype=np.uint64), 32)
    masks = np.zeros(32, dtype=np.uint32)
    for group in groups(f, number, members):
        for value in set(values[lanes_of(group)].tolist()):
            same = mask_of(values == np.uint64(value)) & group
            masks[lanes_of(same)] = same if mode == "any" or same == group else 0
    return masks, masks != 0


_REDUCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "min": min, "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}  # fmt: skip


def reduce_lanes(f: Fiber, number: int, name: str, row: Any, members: Any) -> Any:
    """redux.sync of integers, signed ones as such."""
    values = np.broadcast_to(np.asarray(row), 32)

    def of(group: int) -> int:
        first, *rest = (int(v) for v in values[lanes_of(group)])
        for value in rest:
            first = _REDUCTIONS[name](first, value)
        return first & 0xFFFFFFFF

    return _spread(f, number, members, of)


def reduce_floats(f: Fiber, number: int, name: str, row: Any, members: Any, nan: bool, absolute: bool) -> Any:
    """redux.sync.{min,max}{.abs}{.NaN}.f32 of bits."""
    values = np.array(np.broadcast_to(np.asarray(row, dtype=np.uint32), 32)).view(np.float32)
    values = np.abs(values) if absolute else values
    function = fmin if name == "min" else fmax

    def of(group: int) -> int:
        first, *rest = values[lanes_of(group)]
        result = function(first, first)  # one NaN is the canonical one
        for value in rest:
            result = function(result, value, nan)  # of one element
        return int(np.asarray(result, dtype=np.float32).reshape(-1).view(np.uint32)[0])

    return _spread(f, number, members, of)


def elected(f: Fiber, number: int, members: Any) -> tuple[Any, Array]:
    """elect.sync: (the lane that is elected, who is it): the lowest of each group."""
    lanes = [group & -group for group in groups(f, number, members)]
    if isinstance(members, int):
        return lanes[0].bit_length() - 1, lanes_of(lanes[0])
    return _spread(f, number, members, lambda group: (group & -group).bit_length() - 1), lanes_of(sum(lanes))
