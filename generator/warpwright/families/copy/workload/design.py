"""How a copy is done once every choice is made, and how a vector is cut up by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from warpwright.dtypes import dtype
from warpwright.plan.types import Plan

__all__ = ["CopyDesign", "chunks", "grain", "whole"]


@dataclass(frozen=True)
class CopyDesign:
    """What `auto` became, and nothing that follows from the rest."""

    stage_elements: int
    stages: int
    consumer_warps: int
    producer_warps: int
    ctas_per_sm: int
    store: Literal["tma", "direct"]
    slots: int  # per consumer warp; 0 where threads store

    @property
    def slice_elements(self) -> int:
        """Elements of a chunk that one consumer warp scales."""
        return self.stage_elements // self.consumer_warps


def grain(plan: Plan) -> int:
    """Elements that fill whole 16 bytes of x and of y: the unit of bulk copies."""
    return 16 // min(dtype(plan.kernel[name]["dtype"]).bytes for name in "xy")


def whole(plan: Plan, n: int) -> int:
    """Elements of `n` that bulk copies bring: all but the few behind the last whole 16 bytes."""
    return n // grain(plan) * grain(plan)


def chunks(plan: Plan, n: int) -> int:
    """Chunks that `n` elements are cut into."""
    design: CopyDesign = plan.design
    return -(-whole(plan, n) // design.stage_elements)
