"""Solves a point: what was asked for, and what follows, each value from the ones before it."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.families.gemm.parts.computed import Computed
from warpwright.families.gemm.sm_100a import ring as ring_of
from warpwright.families.gemm.sm_100a import tiles as tiles_of
from warpwright.families.gemm.sm_100a import warps as warps_of
from warpwright.families.gemm.sm_100a.asked import Asked
from warpwright.plan.types import Buffer

__all__ = ["Solution", "solve"]


class Solution(NamedTuple):
    """Everything that rules judge and tables are made from."""

    asked: Asked
    accumulators: tiles_of.Accumulators
    output: tiles_of.Output
    warps: warps_of.Warps
    ring: ring_of.Ring
    buffers: tuple[Buffer, ...]  # of shared memory

    @property
    def computed(self) -> Computed:
        return self.asked.computed

    @property
    def sharing(self) -> int:
        """CTA groups (CTAs, or pairs) that a CTA's loads reach, its own among them."""
        return self.asked.cluster_m // self.asked.cta_group + self.asked.cluster_n - 1


def solve(asked: Asked) -> Solution:
    """Make every choice. Defined for every point, legal or not: rules speak of illegal ones."""
    accumulators = tiles_of.accumulators(asked)
    output = tiles_of.output(asked, accumulators)
    warps = warps_of.warps(asked, accumulators)
    ring = ring_of.ring(asked, accumulators, output)
    accumulators = tiles_of.with_scales(asked, accumulators, ring.stages)
    return Solution(asked, accumulators, output, warps, ring, ring_of.buffers(asked, accumulators, output, ring))
