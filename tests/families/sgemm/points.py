"""Points of the SGEMM family for its tests."""

from __future__ import annotations

from typing import Any

from warpwright.families.sgemm.models import Design, Kernel
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

__all__ = ["legal", "planned", "point"]


def point(a: str = "m", b: str = "n", bias: bool = True, activation: str = "relu", **design: Any) -> Point:
    """The point of these majors, with the defaults of every choice that is not given."""
    kernel = {"a": {"major": a}, "b": {"major": b}, "bias": bias, "activation": activation}
    return Point("sgemm", "sm_90a", Kernel.model_validate(kernel), Design.model_validate(design))


def planned(a: str = "m", b: str = "n", **given: Any) -> Plan:
    return plan(point(a, b, **given))


def legal(a: str = "m", b: str = "n", **given: Any) -> Plan:
    found = planned(a, b, **given)
    assert found.legal, found.violations
    return found


#: The kernels that are kept whole, see tests/render/golden.py.
GOLDEN = {
    "specialised": lambda: legal(tile_k=16, unroll=4),
    "along_k": lambda: legal("k", "k", tile_k=32, producer_warps=2, warps={"m": 1, "n": 1}, thread={"m": 8, "n": 8}),
    "all_warps_load": lambda: legal(
        specialise="none", warps={"m": 2, "n": 4}, thread={"m": 8, "n": 8}, tile_k=8, stages=3, ctas_per_sm=2
    ),
}
