"""Solves a point: what was asked for, and what follows, each value from the ones before it."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.families.gemm.parts.computed import Computed
from warpwright.families.gemm.sm_90a import ring as ring_of
from warpwright.families.gemm.sm_90a import tiles as tiles_of
from warpwright.families.gemm.sm_90a import warps as warps_of
from warpwright.families.gemm.sm_90a.asked import Asked

__all__ = ["Solution", "solve"]


class Solution(NamedTuple):
    """Everything that rules judge and tables are made from."""

    asked: Asked
    tiles: tiles_of.Tiles
    output: tiles_of.Output
    warps: warps_of.Warps
    ring: ring_of.Ring

    @property
    def computed(self) -> Computed:
        return self.asked.computed


def solve(asked: Asked) -> Solution:
    """Make every choice. Defined for every point, legal or not: rules speak of illegal ones."""
    tiles = tiles_of.tiles(asked)
    output = tiles_of.output(asked, tiles)
    warps = warps_of.warps(asked, tiles, output)
    return Solution(asked, tiles, output, warps, ring_of.ring(asked, tiles, output, warps))
