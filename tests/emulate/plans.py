"""Plans of a GEMM of 128x128x64, made without a configuration file."""

from __future__ import annotations

from typing import Any

from tests.plan.space import point
from warpwright.plan import plan
from warpwright.plan.types import Plan


def gemm_plan(changes: dict[str, Any] | None = None) -> Plan:
    """A legal plan, with some fields of the point changed by dotted path."""
    found = plan(point(changes))
    assert found.legal, found.violations
    return found


def cluster_plan() -> Plan:
    """Two CTAs share B; two consumers, six stages."""
    return gemm_plan({"design.cluster": {"m": 2, "n": 1}})


def tile_plan() -> Plan:
    """Reads a C of f32 that is M-major: A, B and C are loaded, D is stored."""
    return gemm_plan({"kernel.epilogue": ["alpha", "beta_c"], "kernel.c": {"dtype": "f32", "major": "m"}})
