"""Points whose kernels between them have every section of the template, and their plans."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan import tensor_space
from tests.plan.space import point
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.point import Point

CASES: dict[str, dict[str, Any]] = {
    "cooperative_cluster": {
        "design.tile": {"m": 128, "n": 256, "k": 64},
        "design.cluster": {"m": 2, "n": 1},
    },
    "pingpong": {
        "kernel.a": {"dtype": "bf16", "major": "m"},
        "kernel.b": {"dtype": "bf16", "major": "n"},
        "kernel.d": {"dtype": "f32", "major": "m"},
        "design.schedule": "pingpong",
        "design.producer_warps": 2,
    },
    "one_tile": {
        "design.consumer_warps": 4,
        "design.tile": {"m": 64, "n": 64, "k": 64},
        "design.cluster": {"m": 1, "n": 2},
        "design.scheduler": {"kind": "one_tile", "raster": "n", "group": 4},
    },
    "chain_with_c": {
        "kernel.c": {"dtype": "f16", "major": "n"},
        "kernel.epilogue": ["alpha", "beta_c", {"op": "bias_n", "dtype": "f16"}, "bias_m", "silu"],
        "design.cluster": {"m": 2, "n": 2},
    },
    "direct_store": {
        "kernel.d": {"dtype": "f32", "major": "n"},
        "kernel.epilogue": ["bias_n", "relu"],
        "design.store": "direct",
        "design.registers": "none",
    },
}
#: Of sm_100a.
TENSOR_CASES: dict[str, dict[str, Any]] = {
    "tensor_plain": {},
    "tensor_pair": {
        "design.tile": {"m": 256, "n": 256, "k": 64},
        "design.cluster": {"m": 4, "n": 1},
        "design.cta_group": 2,
        "design.scheduler": {"kind": "dynamic", "raster": "m", "group": 8, "snake": True},
    },
}
POINTS: dict[str, Point] = {name: point(changes) for name, changes in CASES.items()} | {
    name: tensor_space.point(changes) for name, changes in TENSOR_CASES.items()
}


@pytest.fixture(params=sorted(POINTS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def planned(name: str) -> Plan:
    found = plan(POINTS[name])
    assert found.legal, found.violations
    return found
