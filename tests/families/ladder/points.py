"""Points of the ladder for its tests."""

from __future__ import annotations

from typing import Any

from warpwright.families.ladder.models import Design, Kernel
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

__all__ = ["RUNGS", "legal", "planned", "point"]

RUNGS = range(1, 10)


def point(rung: int, m: int = 128, n: int = 128, k: int = 64, dtype: str = "f16", **design: Any) -> Point:
    """A rung with a tile of these extents, and the defaults of every choice that is not given."""
    kernel = Kernel.model_validate({"dtype": dtype})
    given = {"rung": rung, "tile": {"m": m, "n": n, "k": k}, **design}
    return Point("ladder", "sm_90a", kernel, Design.model_validate(given))


def planned(rung: int, m: int = 128, n: int = 128, k: int = 64, dtype: str = "f16", **design: Any) -> Plan:
    return plan(point(rung, m, n, k, dtype, **design))


def legal(rung: int, m: int = 128, n: int = 128, k: int = 64, dtype: str = "f16", **design: Any) -> Plan:
    found = planned(rung, m, n, k, dtype, **design)
    assert found.legal, found.violations
    return found


#: The kernels that are kept whole, see tests/render/golden.py: those that no other family has.
GOLDEN = {
    "serial": lambda: legal(1),
    "grid": lambda: legal(2, m=64, n=32, k=32, dtype="bf16"),
    "tma": lambda: legal(3),
    "ring": lambda: legal(4),
}
