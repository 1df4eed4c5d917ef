"""The nine rungs: what each adds to the one before it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FIRST_OF_ROLES", "FIRST_ON_GRID", "FIRST_PERSISTENT", "FIRST_RING", "FIRST_TMA", "RUNGS", "Rung"]


class Rung(NamedTuple):
    """A rung's name in labels, what it adds in a few words, and what of a GEMM's design it chooses."""

    name: str
    adds: str
    persistent: bool = False
    cluster_m: int = 1
    consumers: int = 1
    pingpong: bool = False


RUNGS = (
    Rung("serial", "threads load, synchronise, compute, synchronise: one CTA"),
    Rung("grid", "a CTA per tile"),
    Rung("tma", "TMA loads, one buffer"),
    Rung("ring", "a ring of stages: loads in flight while the warpgroup computes"),
    Rung("roles", "a producer warp and a consumer warpgroup"),
    Rung("persistent", "persistent CTAs, tiles in bands for L2", persistent=True),
    Rung("multicast", "clusters: two CTAs share what one loads", persistent=True, cluster_m=2),
    Rung("two", "two consumer warpgroups that share a tile", persistent=True, cluster_m=2, consumers=2),
    Rung("pingpong", "pingpong: one computes while the other stores", persistent=True, cluster_m=2, consumers=2,
         pingpong=True),
)  # fmt: skip
#: From which rung on: there is a CTA for each tile, at least; TMA loads; it fills a ring; warps have roles; CTAs stay.
FIRST_ON_GRID, FIRST_TMA, FIRST_RING, FIRST_OF_ROLES, FIRST_PERSISTENT = 2, 3, 4, 5, 6
