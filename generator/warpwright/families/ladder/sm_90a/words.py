"""The words of the ladder's templates: the GEMM's, and what kernels of one role say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpwright.families.gemm.sm_90a.words import words as of_gemm
from warpwright.families.ladder.rungs import FIRST_OF_ROLES, FIRST_RING, FIRST_TMA, RUNGS
from warpwright.plan.source import bracketed
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
        found |= _by_threads(plan)
    return found


def _by_threads(plan: Plan) -> dict[str, Any]:
    """The launch and the signature of a kernel that is given tensors instead of tensor maps."""
    passed = [
        *((name, name, "cute.Tensor") for name in ("a_mkl", "b_nkl", "d_mnl")),
        *(
            (a.name, f"{a.name}_vector", "cute.Tensor")
            for a in plan.arguments
            if a.kind == "vector" and a.role == "input"
        ),
        *((a.name, a.name, "cute.Tensor") for a in plan.arguments if a.role == "workspace"),  # of an instrumented twin
        ("tiles_mnl", "tiles_mnl", "cute.Shape"),
        *([("tile_count", "tile_count", "Int32")] if plan.design.one_cta else []),
        ("k_tiles", "k_tiles", "Int32"),
    ]
    name = plan.main.name
    return {
        "launched": bracketed(f"{name}(", [value for value, _, _ in passed], ")", 8, ".launch("),
        "kernel_signature": bracketed(f"def {name}(", [f"{name}: {kind}" for _, name, kind in passed], "):"),
    }
