"""The words of the ladder's templates: the GEMM's, and what kernels of one role say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpwright.families.gemm.sm_90a.words import words as of_gemm
from warpwright.families.ladder.by_threads import by_threads
from warpwright.families.ladder.rungs import FIRST_OF_ROLES, FIRST_RING, FIRST_TMA, RUNGS
from warpwright.plan.types import Plan

__all__ = ["words"]


def words(plan: Plan) -> Mapping[str, Any]:
    """Return what the templates need beside the plan itself."""
    found, rung = of_gemm(plan), plan.design.rung
    found |= {
        "title": f"Rung {rung} of {len(RUNGS)}: {RUNGS[rung - 1].adds}.",
        "one_role": rung < FIRST_OF_ROLES,
        "loads_by_tma": rung >= FIRST_TMA,
        "has_ring": rung >= FIRST_RING,
        "one_cta": plan.design.one_cta,
    }
    buffers = [dict(buffer) for buffer in found["buffers"]]
    for buffer in buffers:
        if buffer["name"] == "padding":
            buffer["type"] = "cute.struct.MemRange[Uint8, PADDING_BYTES]"
    found["buffers"] = buffers
    if rung < FIRST_TMA:
        found |= by_threads(plan)
    return found
