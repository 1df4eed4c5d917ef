"""What a rung is as a step: what it adds, its modelled timeline, and what others say of theirs."""

from __future__ import annotations

from warpwright.families.ladder.sm_100a.rungs import RUNGS, UNTRIED, published
from warpwright.families.ladder.sm_100a.timeline import timeline
from warpwright.plan.step import Step
from warpwright.plan.types import Plan

__all__ = ["step"]


def step(plan: Plan) -> Step:
    """Return the step of a legal plan."""
    rung = RUNGS[plan.design.rung - 1]
    return Step(rung.adds, timeline(plan), published(rung), UNTRIED)
