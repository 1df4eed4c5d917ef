"""How large a problem may be: whatever a kernel counts, it counts in 32 bits."""

from __future__ import annotations

import functools
from typing import Protocol

from warpwright.plan.types import Limit

__all__ = ["Cut", "largest_extents", "limits", "most_tiles"]

_LAST = 2**31 - 1


class Cut(Protocol):
    """How D is cut: elements of a CTA's tile, CTAs of a cluster."""

    @property
    def tile_m(self) -> int: ...

    @property
    def tile_n(self) -> int: ...

    @property
    def cluster_m(self) -> int: ...

    @property
    def cluster_n(self) -> int: ...

    @property
    def walk(self) -> int:
        """How far the counter of tiles goes, in times of as many as there are."""


def most_tiles(a: Cut) -> int:
    """Cluster tiles that can be counted: by the walk, and as CTAs along the grid's first extent."""
    return _LAST // max(a.walk, a.cluster_m)


def largest_extents(a: Cut) -> dict[str, int]:
    """The largest extents of D whose last cluster of tiles ends within 32 bits.

    K needs no more than 32 bits for itself: where a box of its last tile would begin beyond them it begins below 0, and
    TMA brings zeros all the same.
    """
    units = {"M": a.tile_m * a.cluster_m, "N": a.tile_n * a.cluster_n}
    return {mode: _LAST // unit * unit for mode, unit in units.items()}


def limits(a: Cut) -> tuple[Limit, ...]:
    """Return the limits of a problem."""
    return _limits(a.tile_m * a.cluster_m, a.tile_n * a.cluster_n, most_tiles(a), tuple(largest_extents(a).items()))


@functools.lru_cache(maxsize=1024)
def _limits(m: int, n: int, tiles: int, extents: tuple[tuple[str, int], ...]) -> tuple[Limit, ...]:
    found = [Limit(f"along {mode}", ((mode, 1),), most) for mode, most in extents]
    return (*found, Limit(f"tiles of {m} x {n}", (("M", m), ("N", n), ("L", 1)), tiles))
