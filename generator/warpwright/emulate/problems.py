"""The small problems on which a variant is emulated: each has a property that some broken kernel got wrong.

Extents follow the variant's tile, cluster and ring and are the smallest that have the property: an emulated CTA
tile costs milliseconds, and every variant must be through in two seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpwright.device.problems import Problem, tiling
from warpwright.plan.types import Plan

__all__ = ["Case", "cases"]


@dataclass(frozen=True)
class Case:
    """One problem and how it is run.

    clusters: the kernel's `max_clusters`, so the size of a persistent grid. resident: clusters in flight at once
    (0: the whole grid). seeds: of the schedule; the operands are the same for all of them.
    """

    problem: Problem
    clusters: int
    resident: int
    seeds: tuple[int, ...]


def cases(plan: Plan, skips: Mapping[str, str]) -> list[Case]:
    """Return the cases of a GEMM variant; `skips` maps a tile operand to the scalar that switches it off."""
    t = tiling(plan)
    design: Any = plan.point["design"]
    m, n, k = t.m, t.n, t.k
    cluster_m, cluster_n = m * t.cluster_m, n * t.cluster_n
    # Each consumer must go round its tile loop at least twice; pingpong consumers take every other tile.
    pingpong = design["schedule"] == "pingpong"
    tiles, batches = (4, 4) if pingpong else (3, 2)
    found = [
        Case(Problem("tiny", 1, 8, 8, odd_strides=True), 1, 1, (1,)),
        Case(Problem("k_zero", m // 2 + 1, cluster_n + 3, 0, fill="integer"), 1, 1, (2,)),
        *(
            Case(Problem(f"{scalar}_zero", m // 2 + 1, n // 2 + 3, k, zero=(scalar,)), 1, 1, (3,))
            for scalar in sorted({*skips.values()})
        ),
        # K shorter than the ring, several tiles per CTA.
        Case(Problem("batch", m - 5, n // 2 + 3, k + 1, batches, fill="integer", padding=2), 1, 1, (1, 2)),
        # Ragged in every extent, several clusters in flight.
        Case(Problem("ragged", cluster_m + m // 2 + 1, cluster_n - n // 2 + 3, 2 * k + k // 2 + 3), 2, 0, (1, 2, 3)),
        # Aligned, several tiles per CTA, each of one stage more than the ring: the ring's ends fall inside tiles.
        Case(Problem("tiles", cluster_m, tiles * cluster_n, (t.stages + 1) * k, fill="integer"), 1, 1, (1, 2, 3)),
        # K much longer than the ring.
        Case(Problem("k_long", m // 2 + 1, n // 2 + 3, (2 * t.stages + 2) * k - 5, fill="integer"), 1, 1, (3,)),
    ]
    return found
