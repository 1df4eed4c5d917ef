"""How rows are normalised once every choice is made, and how a row is cut up by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from warpwright.dtypes import dtype
from warpwright.plan.types import Plan

__all__ = ["NormDesign", "grain", "rows_at_once", "whole"]


@dataclass(frozen=True)
class NormDesign:
    """What `auto` became, and nothing that follows from the rest."""

    specialise: Literal["none", "preprocess", "tma"]
    columns: int
    warps_per_row: int
    groups: int
    producer_warps: int  # 0 where all warps do everything
    producer_groups: int
    stages: int  # 0 where there is no ring
    ctas_per_sm: int
    persistent: bool
    scales: Literal["registers", "shared"]
    reallocate: bool
    access_bytes: int


def grain(plan: Plan) -> int:
    """Elements of a row that are moved in vectors are a multiple of this; behind them, one by one."""
    x, y = (dtype(plan.kernel[name]["dtype"]).bytes for name in "xy")
    design: NormDesign = plan.design
    return 16 // x if design.specialise == "tma" else design.access_bytes // max(x, y)


def whole(plan: Plan, n: int) -> int:
    """Elements of a row of `n` that are moved in vectors."""
    return n // grain(plan) * grain(plan)


def rows_at_once(plan: Plan) -> int:
    """Rows of one CTA in one step: its groups have one each."""
    groups: int = plan.design.groups
    return groups
