"""What a rung's producer and consumer do per stage: the GEMM's, where warps have roles."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import B200, Device
from warpwright.families.gemm.sm_100a.phases import phases as of_gemm
from warpwright.families.ladder.sm_100a.rungs import FIRST_OF_ROLES
from warpwright.plan.phases import Phases
from warpwright.plan.types import Plan

__all__ = ["phases"]


def phases(plan: Plan, extents: Mapping[str, int], device: Device = B200) -> Phases | None:
    """Return the phases of a legal plan for D (L, M, N) and depth K, None of a rung whose warps all do the same.

    Raises ValueError for an illegal plan.
    """
    found = of_gemm(plan, extents, device)
    return found if plan.design.rung >= FIRST_OF_ROLES else None
