"""The words of the ladder's templates: the GEMM's, and what kernels of one role say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpwright.families.gemm.sm_100a.words import words as of_gemm
from warpwright.families.ladder.rung_words import rung_words
from warpwright.families.ladder.sm_100a.rungs import FIRST_OF_ROLES, FIRST_TMA, RUNGS
from warpwright.plan.types import Plan

__all__ = ["words"]


def words(plan: Plan) -> Mapping[str, Any]:
    """Return what the templates need beside the plan itself."""
    return rung_words(plan, of_gemm(plan), [rung.adds for rung in RUNGS], FIRST_TMA, FIRST_OF_ROLES)
