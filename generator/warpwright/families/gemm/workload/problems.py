"""The standard problems that every variant is validated on: those of any product, and of a GEMM's own operands."""

from __future__ import annotations

from collections.abc import Iterable

from warpwright.device.problem import Problem
from warpwright.families.gemm.workload.design import GemmDesign, TensorDesign
from warpwright.families.gemm.workload.edges import edge_of
from warpwright.families.products import problems
from warpwright.families.products.problems import multiplication as problem
from warpwright.plan.types import Plan

__all__ = ["standard"]


def standard(plan: Plan, switches: Iterable[str]) -> list[Problem]:
    """Return the standard problems, cheap ones first; `switches` are the scalars that turn a tile operand off."""
    t: GemmDesign | TensorDesign = plan.design
    edge = edge_of(plan)
    m, n, k = t.tile_m, t.tile_n, t.tile_k
    ragged_m, ragged_n, _ = problems.ragged(t)
    special = [
        problem("odd_tiles", (t.cluster_m + 1) * m, (t.cluster_n + 1) * n, 2 * k, fill="integer"),
        problem("nonfinite", m + 7, n + 9, k + 3, fill="nonfinite"),
        *(problem(f"{scalar}_zero", ragged_m, ragged_n, 2 * k, zero=(scalar,)) for scalar in sorted({*switches})),
        # One subtile holds a part that TMA stores and a tail that threads store.
        problem("mixed_edge", *edge.extents(2 * edge.tile + edge.mixed(1), m + 1), k + 1, fill="integer"),
        problem("extreme", *edge.extents(edge.tile + edge.mixed(0), edge.tile + 9), k + 3, fill="extreme"),
    ]
    if any(argument.in_place for argument in plan.arguments):
        # C, which is D, is read ahead of the tiles that are stored.
        special.append(problem("in_place", 19 * m - 3, 18 * n - 5, k + 1, fill="integer", padding=1, in_place=True))
    return problems.standard(t, special)
