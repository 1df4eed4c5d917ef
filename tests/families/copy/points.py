"""Points of the copy family for its tests."""

from __future__ import annotations

from typing import Any

from warpwright.families.copy.models import Design, Kernel
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

__all__ = ["DTYPES", "legal", "planned", "point"]

DTYPES = ("f16", "bf16", "f32")


def point(x: str = "f16", y: str = "f16", **design: Any) -> Point:
    """The point of these dtypes, with the defaults of every choice that is not given."""
    kernel = Kernel.model_validate({"x": {"dtype": x}, "y": {"dtype": y}})
    return Point("copy", "sm_90a", kernel, Design.model_validate(design))


def planned(x: str = "f16", y: str = "f16", **design: Any) -> Plan:
    return plan(point(x, y, **design))


def legal(x: str = "f16", y: str = "f16", **design: Any) -> Plan:
    found = planned(x, y, **design)
    assert found.legal, found.violations
    return found


#: The kernels that are kept whole, see tests/render/golden.py.
GOLDEN = {
    "through_shared": lambda: legal("f32", "f16", store="tma"),
    "direct": lambda: legal("f16", "f32", store="direct", producer_warps=2, ctas_per_sm=1),
}
