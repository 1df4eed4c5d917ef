"""How the lanes of a warp lie over its part of a tile, and what that costs when they read shared memory.

Lane i has five bits. Each of them steps along M or along N, by so many places: a stride of 0 along the other mode; in
`crossed` order, which is plain otherwise, bits 0 and 1 are XORed into the first two bits along N as well.

An LDS.128 is served in 2 wavefronts, not in 4, where all lanes n and n ^ 1, or all lanes n and n ^ 2, read the same
address. In `interleaved` order bit 0 steps along N and bit 1 along M, so that A, which depends on the lane's place
along M alone, and B both take 2. In `plain` order lanes count along M first: neighbours read different parts of A, in 4
wavefronts, and the same of B. In `crossed` order they read different parts of both: 4 and 4.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["LANES", "Order", "order"]

LANES = 32  # of a warp


class Order(NamedTuple):
    """Strides of a lane's five bits along M and along N; `crossed`: N takes lane ^ (lane & 3) << so many bits."""

    m: tuple[int, ...]
    n: tuple[int, ...]
    crossed: int = 0

    def place(self, lane: int) -> tuple[int, int]:
        """Where a lane lies along M and along N."""
        other = lane ^ (lane & 3) << self.crossed if self.crossed else lane
        m, n = (
            sum((number >> bit & 1) * step for bit, step in enumerate(steps))
            for number, steps in ((lane, self.m), (other, self.n))
        )
        return m, n

    @functools.lru_cache(maxsize=64)  # noqa: B019 - of six orders
    def wavefronts(self, along_m: bool) -> int:
        """Of one LDS.128 of an operand whose address depends on the place along M, or along N."""
        read = [self.place(lane)[0 if along_m else 1] for lane in range(LANES)]
        merged = any(all(read[lane] == read[lane ^ other] for lane in range(LANES)) for other in (1, 2))
        return 2 if merged else 4


_ORDERS: Mapping[tuple[str, int], Order] = {
    ("interleaved", 4): Order((0, 1, 0, 0, 2), (1, 0, 2, 4, 0)),
    ("interleaved", 8): Order((0, 1, 0, 2, 4), (1, 0, 2, 0, 0)),
    ("plain", 4): Order((1, 2, 0, 0, 0), (0, 0, 1, 2, 4)),
    ("plain", 8): Order((1, 2, 4, 0, 0), (0, 0, 0, 1, 2)),
    ("crossed", 4): Order((1, 2, 0, 0, 0), (0, 0, 1, 2, 4), 2),
    ("crossed", 8): Order((1, 2, 4, 0, 0), (0, 0, 0, 1, 2), 3),
}


def order(name: str, lanes_m: int) -> Order:
    """Return the order of `lanes_m` lanes along M."""
    return _ORDERS[name, lanes_m]
