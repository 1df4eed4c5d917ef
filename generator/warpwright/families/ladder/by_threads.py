"""The words of kernels whose threads load A and B: they are given tensors instead of tensor maps."""

from __future__ import annotations

from typing import Any

from warpwright.plan.source import bracketed
from warpwright.plan.types import Plan

__all__ = ["by_threads"]


def by_threads(plan: Plan) -> dict[str, Any]:
    """The launch and the signature."""
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
