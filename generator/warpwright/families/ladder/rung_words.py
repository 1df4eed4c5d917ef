"""The words of a rung on every arch: its GEMM's, and what kernels of one role say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.families.ladder.by_threads import by_threads
from warpwright.plan.types import Plan

__all__ = ["rung_words"]


def rung_words(
    plan: Plan, of_gemm: Mapping[str, Any], adds: Sequence[str], first_tma: int, first_of_roles: int
) -> dict[str, Any]:
    """Return what the templates need beside the plan itself.

    adds: of each rung, in a few words. first_tma, first_of_roles: the first rung with TMA loads, and whose warps have
    roles.
    """
    rung = plan.design.rung
    found = {
        **of_gemm,
        "title": f"Rung {rung} of {len(adds)}: {adds[rung - 1]}.",
        "one_role": rung < first_of_roles,
        "loads_by_tma": rung >= first_tma,
        "one_cta": plan.design.one_cta,
        "buffers": [_padded(buffer) for buffer in of_gemm["buffers"]],
    }
    return found | by_threads(plan) if rung < first_tma else found


def _padded(buffer: Mapping[str, str]) -> Mapping[str, str]:
    """A buffer as the GEMM has it, but for what keeps other CTAs off an SM."""
    return {**buffer, "type": "cute.struct.MemRange[Uint8, PADDING_BYTES]"} if buffer["name"] == "padding" else buffer
