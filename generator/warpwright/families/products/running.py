"""What the workloads of products have in common (families/running.py has the protocol)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from warpwright.device.problem import Problem, shape_of
from warpwright.dtypes import dtype
from warpwright.families.products import tiles
from warpwright.families.running import Sample, Work
from warpwright.plan.types import Plan

__all__ = ["Products", "sample_rows"]

#: Elements of D beyond which the reference is computed for a sample of rows.
_ALL_ROWS = 1 << 28


class Products:
    """Of plans whose design is `Tiled`: what of D each cluster computes, where it is sampled, and what it costs."""

    modes: tuple[str, ...] = ("M", "N", "K", "L")

    def sample(self, plan: Plan, problem: Problem) -> Sample | None:
        extents = problem.extents
        if extents["M"] * extents["N"] * extents["L"] <= _ALL_ROWS:
            return None
        return Sample("M", sample_rows(extents["M"]))

    def work(self, plan: Plan, extents: Mapping[str, int]) -> Work:
        bits = sum(prod(shape_of(a, extents)) * dtype(a.dtype).bits for a in plan.arguments if a.kind != "scalar")
        return Work(2 * prod(extents[mode] for mode in "LMNK"), bits // 8, "TFLOP/s")

    def units(self, plan: Plan, problem: Problem) -> int:
        return tiles.count(plan.design, problem.extents)

    def share(self, plan: Plan, problem: Problem, clusters: int, only: Sequence[int]) -> list[Mapping[str, slice]]:
        return [box for cluster in only for box in tiles.computed(plan.design, problem.extents, clusters, cluster)]


def sample_rows(m: int, stride: int = 61) -> list[int]:
    """Rows that touch every tile of 64 rows or more: every 61st (prime: all offsets in a tile occur) and the last."""
    return sorted({*range(0, m, stride), *range(max(0, m - 3), m)})
