"""How large a problem may be: whatever the kernel counts, it counts in 32 bits."""

from __future__ import annotations

import functools

from warpwright.families.gemm.sm_90a.asked import Asked
from warpwright.plan.types import Limit

__all__ = ["largest_extents", "limits", "most_tiles", "walk"]

_LAST = 2**31 - 1


def walk(a: Asked) -> int:
    """How far the counter of tiles goes, in times of as many as there are.

    A persistent CTA steps by the clusters of the grid, no more than there are tiles, and stops when it is beyond the
    last one; a consumer of two that take turns goes by two steps.
    """
    return (3 if a.pingpong else 2) if a.persistent else 1


def most_tiles(a: Asked) -> int:
    """Cluster tiles that can be counted: by the walk, and as CTAs along the grid's first extent."""
    return _LAST // max(walk(a), a.cluster_m)


def largest_extents(a: Asked) -> dict[str, int]:
    """The largest extents of D whose last cluster of tiles ends within 32 bits.

    K needs no more than 32 bits for itself: where a box of its last tile would begin beyond them it begins below 0, and
    TMA brings zeros all the same.
    """
    units = {"M": a.tile_m * a.cluster_m, "N": a.tile_n * a.cluster_n}
    return {mode: _LAST // unit * unit for mode, unit in units.items()}


def limits(a: Asked) -> tuple[Limit, ...]:
    """Return the limits of a problem."""
    return _limits(a.tile_m * a.cluster_m, a.tile_n * a.cluster_n, most_tiles(a), tuple(largest_extents(a).items()))


@functools.lru_cache(maxsize=1024)
def _limits(m: int, n: int, tiles: int, extents: tuple[tuple[str, int], ...]) -> tuple[Limit, ...]:
    found = [Limit(f"along {mode}", ((mode, 1),), most) for mode, most in extents]
    return (*found, Limit(f"tiles of {m} x {n}", (("M", m), ("N", n), ("L", 1)), tiles))
