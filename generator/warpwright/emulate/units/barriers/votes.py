"""Named barriers that also count: bar.red, whose threads learn for how many of them a predicate holds."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.rows import mask_of
from warpwright.emulate.machine.state import Fiber, Warp
from warpwright.emulate.units.barriers.named import NamedBarrier, NamedBarriers, bar_sync


class Voting:
    """Of a warp: the votes of the phase that each of its fibers waits for."""

    def __init__(self, _warp: Warp) -> None:
        self.of: dict[Fiber, list[int]] = {}


def bar_red(
    f: Fiber, number: int, identifier: int, threads: int, aligned: bool, operation: str, holds: Any
) -> int | None:
    """bar.red.popc, .and, .or: the result for all threads of the phase; None while the fiber must wait."""
    warp = f.warp
    mine = warp.own(Voting).of
    if f.token is None:
        barrier = warp.cta.own(NamedBarriers).at.setdefault(identifier, NamedBarrier())
        votes = mine[f] = barrier.votes
        row = np.ascontiguousarray(np.broadcast_to(np.asarray(holds, dtype=bool), 32))
        votes[0] += bin(mask_of(row) & f.mask).count("1")
        votes[1] += bin(f.mask).count("1")
    if not bar_sync(f, number, identifier, threads, True, aligned):
        return None
    ones, every = mine.pop(f)
    return {"popc": ones, "and": int(ones == every), "or": int(ones > 0)}[operation]
