"""Points of the norm_act family for its tests."""

from __future__ import annotations

from typing import Any

from warpwright.families.norm_act.models import Design, Kernel
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

__all__ = ["DTYPES", "GOLDEN", "SMALL", "legal", "planned", "point"]

DTYPES = ("f16", "bf16", "f32")
_KERNEL = {"x", "y", "norm", "eps", "residual", "weight", "bias", "activation"}


def point(**choices: Any) -> Point:
    """The point of these choices of kernel (dtypes as words) and design, with the defaults of all others."""
    given = {"x": "bf16", "y": "bf16", "weight": "bf16", "bias": "bf16"} | choices
    kernel = {name: value for name, value in given.items() if name in _KERNEL}
    for name in ("x", "y", "weight", "bias"):
        kernel[name] = kernel[name] and {"dtype": kernel[name]}
    design = {name: value for name, value in given.items() if name not in _KERNEL}
    return Point("norm_act", "sm_90a", Kernel.model_validate(kernel), Design.model_validate(design))


def planned(**choices: Any) -> Plan:
    return plan(point(**choices))


def legal(**choices: Any) -> Plan:
    found = planned(**choices)
    assert found.legal, [violation.message for violation in found.violations]
    return found


#: Short rows, which are quick to emulate: each design, with what only it has.
SMALL: dict[str, dict[str, Any]] = {
    "tma": {"specialise": "tma", "columns": 512, "warps_per_row": 2, "groups": 2, "stages": 4, "residual": True,
            "producer_groups": 2, "activation": "relu"},
    "preprocess": {"specialise": "preprocess", "columns": 512, "warps_per_row": 1, "groups": 2, "producer_warps": 4,
                   "producer_groups": 2, "stages": 4, "norm": "rms", "y": "f32", "bias": None, "activation": "silu"},
    "none": {"specialise": "none", "columns": 512, "warps_per_row": 2, "groups": 2, "ctas_per_sm": 2, "x": "f16",
             "activation": "gelu_tanh", "scales": "shared"},
    "ahead": {"specialise": "none", "persistent": False, "rows_per_group": 3, "columns": 512, "warps_per_row": 2,
              "groups": 2, "norm": "rms", "residual": True, "bias": None, "activation": "silu"},
    "cluster": {"specialise": "none", "persistent": False, "rows_per_group": 2, "columns": 512, "warps_per_row": 1,
                "groups": 1, "ctas_per_row": 2, "weight": None, "activation": "relu"},
    "named": {"specialise": "preprocess", "columns": 512, "warps_per_row": 1, "groups": 2, "producer_warps": 4,
              "producer_groups": 2, "stages": 4, "weight": None, "activation": "identity", "ring": "named"},
    # Rows of four chunks: through a ring that holds five, or three; by a row's own threads, for each walk anew.
    "held": {"specialise": "tma", "columns": 2048, "warps_per_row": 1, "groups": 1, "stages": 5, "row": "shared",
             "bias": None, "activation": "relu"},
    "streamed": {"specialise": "tma", "columns": 2048, "warps_per_row": 1, "groups": 1, "stages": 3,
                 "row": "streamed", "norm": "rms", "residual": True, "activation": "identity"},
    "walked": {"specialise": "none", "columns": 4096, "warps_per_row": 2, "groups": 1, "row": "shared", "x": "f16",
               "weight": "f32", "activation": "silu"},
}  # fmt: skip

#: The kernels that are kept whole, see tests/render/golden.py.
GOLDEN = {
    "tma": lambda: legal(),
    "preprocess": lambda: legal(
        specialise="preprocess", columns=2048, warps_per_row=2, producer_groups=2, norm="rms", bias=None
    ),
    "held": lambda: legal(columns=65536, warps_per_row=16, groups=1, row="shared", bias=None, activation="silu"),
    "cluster": lambda: legal(
        specialise="none", groups=1, persistent=False, columns=8192, ctas_per_row=2, rows_per_group=3, ctas_per_sm=5
    ),
    "none": lambda: legal(specialise="none", groups=1, persistent=False, ctas_per_sm=4, residual=True, weight=None),
}
