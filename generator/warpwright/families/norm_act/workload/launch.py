"""What a normalisation's kernel must be launched with, and the problems at which only that is checked."""

from __future__ import annotations

from warpwright.device.problem import Case, Problem
from warpwright.families.norm_act.workload.design import NormDesign, rows_at_once
from warpwright.families.norm_act.workload.problems import of_rows
from warpwright.families.running import Launched, View
from warpwright.plan.types import Plan

__all__ = ["ctas", "huge", "launched"]

_LIMIT = 132  # CTAs in flight


def ctas(plan: Plan, problem: Problem, clusters: int) -> int:
    """CTAs of a grid, or clusters where rows are shared: of persistent ones as many as rows, up to the limit; else one
    for the rows of its groups."""
    d: NormDesign = plan.design
    rows = problem.extents["M"]
    return min(rows, clusters) if d.persistent else -(-rows // rows_at_once(plan))


def launched(plan: Plan, problem: Problem, clusters: int) -> Launched:
    """Return grid and parameters: tensors alone, with their extents and strides."""
    tensors = [a for a in plan.arguments if a.kind != "scalar"]
    return Launched(
        grid=(ctas(plan, problem, clusters) * plan.design.ctas_per_row, 1, 1),
        maps={},
        values=tuple((a.name, View(a.name, a.shape)) for a in tensors),
    )


def huge(plan: Plan) -> list[Case]:
    """Return the problems: rows around the most that are counted and beyond, a column too many, rows far apart."""
    rows, columns = plan.limits[1].most, plan.limits[0].most
    sizes = [(rows - 1, 1), (rows, 1), (rows + 1, 1), (7, columns + 1), (2**31 - 1, columns)]
    found = [Case(of_rows(f"huge_{m}_{n}", m, n), _LIMIT, 0, ()) for m, n in sizes]
    return [*found, Case(of_rows("huge_strides", 5, columns, padding=1 << 27), _LIMIT, 0, ())]
