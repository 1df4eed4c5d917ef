"""The words of the copy template for sm_90a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

from typing import Any

from warpwright.dtypes import Dtype, dtype
from warpwright.families.copy.workload.design import CopyDesign
from warpwright.plan.types import Plan

__all__ = ["words"]


def words(plan: Plan) -> dict[str, Any]:
    """Return what the template needs beside the plan itself."""
    x, y = dtype(plan.kernel["x"]["dtype"]), dtype(plan.kernel["y"]["dtype"])
    design = plan.design
    assert isinstance(design, CopyDesign)
    return {
        "title": f"Copy for {plan.arch}: {x.name} in, {y.name} out.",
        "formula": "y = alpha x",
        "names": {constant.name for constant in plan.constants},
        "x": x,
        "y": y,
        "stores_by_tma": design.store == "tma",
        "dsl_types": sorted({x.dsl, y.dsl, "Float32", "Int32", "Int64"}),
        "scaled_vectors": _scaled("x_vectors.load()", x, y),
        "scaled_element": _scaled("x[element]", x, y),
    }


def _scaled(value: str, x: Dtype, y: Dtype) -> str:
    """Return a value of x's dtype, times alpha in f32, in y's dtype."""
    product = f"{value}{'' if x.name == 'f32' else '.to(Float32)'} * alpha"
    return product if y.name == "f32" else f"({product}).to({y.dsl})"
