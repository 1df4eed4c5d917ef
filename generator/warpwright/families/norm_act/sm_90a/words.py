"""The words of the template for sm_90a: plan values in the DSL's spelling. No numbers are made here."""

from __future__ import annotations

import re
from typing import Any

from warpwright.dtypes import dtype
from warpwright.epilogue import registry
from warpwright.families.norm_act.workload.design import NormDesign
from warpwright.plan.types import Plan

__all__ = ["words"]

#: Instead of an operation's own last step, x 2^(-log2(1 + power)): one special-function instruction less, of three.
#: rcp.approx.ftz.f32 is off by 2^-23 at most (PTX ISA, rcp) and flushes what the other flushes, so that the operation's
#: bound holds.
_DIVISION = "x = x * cute.math.exp2(-cute.math.log2(1.0 + power, fastmath=True), fastmath=True)"
_RECIPROCAL = "x = x * cute.math.rcp(1.0 + power, approx=True, ftz=True)"
_REMARK = re.compile(r"^# x / \(1 \+ power\).*\n", re.MULTILINE)

_TITLES = {"layer": "Layer norm", "rms": "RMS norm"}
_NORMS = {"layer": "(x - mean(x)) / sqrt(variance(x) + eps)", "rms": "x / sqrt(mean(x^2) + eps)"}


def words(plan: Plan) -> dict[str, Any]:
    """Return what the template needs beside the plan itself."""
    kernel, design = plan.kernel, plan.design
    assert isinstance(design, NormDesign)
    x, y = dtype(kernel["x"]["dtype"]), dtype(kernel["y"]["dtype"])
    scales = [(name, dtype(kernel[name]["dtype"])) for name in ("weight", "bias") if kernel[name]]
    name = kernel["activation"]
    code = "" if name == "identity" else registry.get(name).code
    used = {x.dsl, y.dsl, "Float32", "Int32", "Int64"}
    return {
        "title": f"{_TITLES[kernel['norm']]} and {kernel['activation']} for {plan.arch}: {x.name} in, {y.name} out.",
        "formula": _formula(plan),
        "names": {constant.name for constant in plan.constants},
        "x": x,
        "y": y,
        "scales": scales,
        "in_shared": [name for name, _ in scales] if design.scales == "shared" else [],
        "residual": kernel["residual"],
        "mean": kernel["norm"] == "layer",
        "activation": _REMARK.sub("", code).replace(_DIVISION, _RECIPROCAL).strip(),
        "ahead": design.ahead,
        "shared_out": design.ctas_per_row > 1,
        "bulk": design.specialise == "tma",
        "preprocess": design.specialise == "preprocess",
        "some_idle": design.reallocate and design.producer_groups < design.producer_warps,
        "named": design.ring == "named",
        "ring": design.specialise != "none",
        "persistent": design.persistent,
        "long": design.long,
        "held": design.row == "shared",
        "dsl_types": sorted(used),
        "tensors": [a.name for a in plan.arguments if a.kind == "tensor" or a.kind == "vector"],
    }


def _formula(plan: Plan) -> str:
    kernel = plan.kernel
    found = f"norm({'x + residual' if kernel['residual'] else 'x'})"
    found += " weight" if kernel["weight"] else ""
    found += " + bias" if kernel["bias"] else ""
    if kernel["activation"] != "identity":
        found = f"{kernel['activation']}({found})"
    return f"y = {found}, norm(x) = {_NORMS[kernel['norm']]}, of each row"
