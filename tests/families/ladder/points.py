"""Points of the ladder for its tests."""

from __future__ import annotations

from typing import Any

from warpwright.families.ladder.models import Design, Kernel
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

__all__ = ["BLACKWELL", "RUNGS", "legal", "legal_blackwell", "planned", "point"]

RUNGS = range(1, 10)
#: Of sm_100a.
BLACKWELL = range(1, 7)


def point(
    rung: int, m: int = 128, n: int = 128, k: int = 64, dtype: str = "f16", arch: str = "sm_90a", **design: Any
) -> Point:
    """A rung with a tile of these extents, and the defaults of every choice that is not given."""
    kernel = Kernel.model_validate({"dtype": dtype, "arch": arch})
    given = {"rung": rung, "tile": {"m": m, "n": n, "k": k}, **design}
    return Point("ladder", arch, kernel, Design.model_validate(given))


def legal_blackwell(rung: int, m: int = 128, n: int = 128, k: int = 64, dtype: str = "f16", **design: Any) -> Plan:
    """The same for sm_100a."""
    return legal(rung, m, n, k, dtype, arch="sm_100a", **design)


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
    "blackwell_synchronous": lambda: legal_blackwell(1),
    "blackwell_tiled": lambda: legal_blackwell(2, n=32, k=32, dtype="bf16"),
    "blackwell_tma": lambda: legal_blackwell(3),
}
