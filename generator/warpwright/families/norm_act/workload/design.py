"""How rows are normalised once every choice is made, and how a row is cut up by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from warpwright.dtypes import dtype
from warpwright.plan.types import Plan

__all__ = ["NormDesign", "chunk", "grain", "loads_of_row", "rows_at_once", "rows_of_ring", "walked", "walks", "whole"]


@dataclass(frozen=True)
class NormDesign:
    """What `auto` became, and nothing that follows from the rest."""

    specialise: Literal["none", "preprocess", "tma"]
    columns: int
    warps_per_row: int
    groups: int
    ctas_per_row: int
    rows_per_group: int
    producer_warps: int  # 0 where all warps do everything
    producer_groups: int
    stages: int  # 0 where there is no ring
    ring: Literal["mbarrier", "named"]
    ctas_per_sm: int
    persistent: bool
    row: Literal["registers", "shared", "streamed"]
    scales: Literal["registers", "shared"]
    reallocate: bool
    access_bytes: int

    @property
    def long(self) -> bool:
        """Whether registers do not hold a row: its threads walk over it, chunk by chunk."""
        return self.row != "registers"

    @property
    def ahead(self) -> bool:
        """Whether one thread asks for all rows of its group at once, by bulk copies."""
        return self.rows_per_group > 1 or self.ctas_per_row > 1


def grain(plan: Plan) -> int:
    """Elements of a row that are moved in vectors are a multiple of this; behind them, one by one."""
    x, y = (dtype(plan.kernel[name]["dtype"]).bytes for name in "xy")
    design: NormDesign = plan.design
    bulk = design.specialise == "tma" or design.ahead
    return 16 // x if bulk else design.access_bytes // max(x, y)


def whole(plan: Plan, n: int) -> int:
    """Elements of a row of `n` that are moved in vectors."""
    return n // grain(plan) * grain(plan)


def chunk(plan: Plan) -> int:
    """Elements of a row that its threads hold at once: all of it, or a part of a long one."""
    found = {constant.name: constant.value for constant in plan.constants}
    return int(found.get("CHUNK", plan.design.columns))


def walked(plan: Plan) -> int:
    """How often a long row is walked over: for its mean, for its variance, for y."""
    return 3 if plan.kernel["norm"] == "layer" else 2


def walks(plan: Plan) -> int:
    """How often a row is loaded: for each walk, or once."""
    return walked(plan) if plan.design.row == "streamed" else 1


def loads_of_row(plan: Plan, n: int) -> int:
    """Bulk copies, of chunks, that a row of `n` elements takes."""
    return walks(plan) * -(-n // chunk(plan))


def rows_of_ring(plan: Plan) -> int:
    """Rows, rounded up, that fill a ring."""
    design: NormDesign = plan.design
    return -(-design.stages * chunk(plan) // design.columns)


def rows_at_once(plan: Plan) -> int:
    """Rows of one CTA (of one cluster) in one step, or all that it has: of each of its groups one, or so many."""
    rows: int = plan.design.groups * plan.design.rows_per_group
    return rows
