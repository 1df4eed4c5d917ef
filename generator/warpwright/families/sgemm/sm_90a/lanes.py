"""How the lanes of a warp lie over its part of a tile, and what that costs when they read shared memory.

Lane i has five bits. Each of them steps along M or along N, by so many places: a stride of 0 along the other mode. An
LDS.128 is served in 2 wavefronts, not in 4, where all lanes n and n ^ 1, or all lanes n and n ^ 2, read the same
address; so `interleaved` gives bit 0 to N and bit 1 to M, and then A, which depends on the lane's place along M alone,
and B both take 2. In `plain` order lanes count along M first: neighbours read different parts of A, and 4 wavefronts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["LANES", "Order", "order"]

LANES = 32  # of a warp


class Order(NamedTuple):
    """Strides of a lane's five bits along M and along N."""

    m: tuple[int, ...]
    n: tuple[int, ...]

    def wavefronts(self, along_m: bool) -> int:
        """Of one LDS.128 of an operand whose address depends on the place along M, or along N."""
        own = self.m if along_m else self.n
        return 2 if own[0] == 0 or own[1] == 0 else 4


_ORDERS: Mapping[tuple[str, int], Order] = {
    ("interleaved", 4): Order((0, 1, 0, 0, 2), (1, 0, 2, 4, 0)),
    ("interleaved", 8): Order((0, 1, 0, 2, 4), (1, 0, 2, 0, 0)),
    ("plain", 4): Order((1, 2, 0, 0, 0), (0, 0, 1, 2, 4)),
    ("plain", 8): Order((1, 2, 4, 0, 0), (0, 0, 0, 1, 2)),
}


def order(name: str, lanes_m: int) -> Order:
    """Return the order of `lanes_m` lanes along M."""
    return _ORDERS[name, lanes_m]
