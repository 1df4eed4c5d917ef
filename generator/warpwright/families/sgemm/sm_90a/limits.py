"""How large a problem may be: whatever the kernel counts, it counts in 32 bits."""

from __future__ import annotations

import functools

from warpwright.plan.types import Limit

__all__ = ["MOST_TILES", "largest", "limits"]

_LAST = 2**31 - 1
#: Tiles that are counted: a CTA steps by the CTAs of the grid, no more than there are tiles, and stops beyond the last.
MOST_TILES = _LAST // 2


def largest(tile: int) -> int:
    """The largest extent whose last tile ends within 32 bits."""
    return _LAST // tile * tile


@functools.lru_cache(maxsize=1024)
def limits(tile_m: int, tile_n: int) -> tuple[Limit, ...]:
    """Return the limits of a problem."""
    each = (Limit(f"along {mode}", ((mode, 1),), largest(tile)) for mode, tile in (("M", tile_m), ("N", tile_n)))
    return (*each, Limit(f"tiles of {tile_m} x {tile_n}", (("M", tile_m), ("N", tile_n), ("L", 1)), MOST_TILES))
