"""Choices of the gemm's solver on sm_100a, and the readable name that says each which is not the usual one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plan.tensor_space import legal_plans, point
from warpwright.plan import folder_name, plan
from warpwright.plan.types import Plan

HEAD = "f16-kkn-128x128x64-c1x1-s6-acc2"
C = {"kernel.c": {"dtype": "bf16", "major": "m"}}
PAIR = {"design.cta_group": 2, "design.cluster": {"m": 2, "n": 1}}


def legal(changes: dict[str, Any]) -> Plan:
    planned = plan(point(changes))
    assert planned.legal, planned.violations
    return planned


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({}, HEAD),
        ({"kernel.d": {"dtype": "f32", "major": "m"}, "design.stages": 5}, "f16.f32-kkm-128x128x64-c1x1-s5-acc2"),
        ({"kernel.a.major": "m", "kernel.b.major": "n"}, "f16-mnn-128x128x64-c1x1-s6-acc2"),
        ({"design.tile": {"m": 256, "n": 256, "k": 64}}, "f16-kkn-256x256x64-c1x1-s3-acc1"),
        ({"design.cluster": {"m": 2, "n": 1}}, "f16-kkn-128x128x64-c2x1-s6-acc2"),
        (PAIR, "f16-kkn-128x128x64-c2x1-pair-s8-acc2"),
        ({**PAIR, "design.cluster": {"m": 4, "n": 2}}, "f16-kkn-128x128x64-c4x2-pair-s8-acc2"),
        ({"design.accumulator_stages": 1}, "f16-kkn-128x128x64-c1x1-s6-acc1"),
        ({"design.epilogue_warps": 8, "design.stages": 6}, f"{HEAD}-w8"),
        ({"design.tile.m": 256, "design.stages": 3}, "f16-kkn-256x128x64-c1x1-s3-acc2"),
        ({"design.scheduler.kind": "one_tile"}, "f16-kkn-128x128x64-c1x1-s6-acc1-one"),
        ({"design.scheduler.kind": "dynamic"}, f"{HEAD}-dyn"),
        ({"design.scheduler.raster": "n"}, f"{HEAD}-n8"),
        ({"design.scheduler.group": 3}, f"{HEAD}-m3"),
        ({"design.scheduler.snake": True}, f"{HEAD}-m8s"),
        ({"design.store": "direct", "design.stages": 6}, f"{HEAD}-direct"),
        ({"design.epilogue_n": 16}, f"{HEAD}-e16x2"),
        ({"design.epilogue_stages": 4, "design.stages": 5}, "f16-kkn-128x128x64-c1x1-s5-acc2-e32x4"),
        ({"kernel.epilogue": ["alpha", {"op": "bias_n", "dtype": "f16"}, "relu"]}, f"{HEAD}-alpha+bias_n.f16+relu"),
        ({"kernel.epilogue": ["beta_c"], **C, "design.stages": 5},
         "f16-kkn-128x128x64-c1x1-s5-acc2-beta_c-c.bf16.m"),
    ],
)  # fmt: skip
def test_what_is_unusual_is_in_the_name(changes: dict[str, Any], label: str) -> None:
    planned = legal(changes)
    assert planned.label == label
    assert folder_name(planned) == f"{label}-{planned.identity[:8]}"


def test_no_two_plans_have_one_label() -> None:
    """What a label leaves out decides nothing."""
    by_label: dict[str, str] = {}
    for planned in legal_plans(11, 400):
        assert by_label.setdefault(planned.label, planned.identity) == planned.identity, planned.label


@pytest.mark.parametrize(
    ("changes", "stages", "columns"),
    [
        ({}, 2, 256),
        ({"design.tile.n": 256}, 2, 512),
        ({"design.tile": {"m": 256, "n": 128, "k": 64}}, 2, 512),
        ({"design.tile": {"m": 256, "n": 144, "k": 64}}, 1, 512),
        ({"design.tile": {"m": 256, "n": 256, "k": 64}}, 1, 512),
        ({"design.tile.n": 16}, 2, 32),
        ({"design.tile.n": 16, "design.accumulator_stages": 1}, 1, 32),
        ({"design.tile.n": 48}, 2, 128),
        ({"design.tile.n": 64, "design.accumulator_stages": 1}, 1, 64),
        ({"design.tile.n": 80, "design.accumulator_stages": 1}, 1, 128),
        ({"design.scheduler.kind": "one_tile"}, 1, 128),
    ],
)
def test_two_accumulators_where_they_fit_and_a_power_of_two_of_columns(
    changes: dict[str, Any], stages: int, columns: int
) -> None:
    planned = legal(changes)
    memory = planned.main.tensor_memory
    assert memory is not None
    assert (planned.design.accumulator_stages, memory.columns) == (stages, columns)


@pytest.mark.parametrize(
    ("changes", "warps", "columns", "buffers"),
    [
        ({}, 4, 32, 2),
        ({"design.tile.m": 256}, 8, 32, 2),
        ({"design.epilogue_warps": 8}, 8, 32, 2),
        ({"design.epilogue_warps": 8, "design.tile.n": 64}, 8, 32, 1),
        ({"design.epilogue_warps": 8, "design.tile.n": 96}, 8, 16, 1),
        ({"design.epilogue_warps": 8, "design.tile.n": 48}, 8, 8, 1),
        ({"design.tile.n": 48}, 4, 16, 1),
        ({"design.tile.n": 96}, 4, 32, 1),
        ({"design.store": "direct"}, 4, 32, 0),
    ],
)
def test_subtiles_are_as_wide_as_divides_what_a_warpgroup_drains(
    changes: dict[str, Any], warps: int, columns: int, buffers: int
) -> None:
    design = legal(changes).design
    assert (design.epilogue_warps, design.subtile_n, design.subtile_stages) == (warps, columns, buffers)


WITH_C = {"kernel.epilogue": ["beta_c"], "kernel.c": {"dtype": "f32", "major": "n"}, "design.stages": 3}


@pytest.mark.parametrize(
    ("changes", "stages", "slots"),
    [
        ({}, 2, 2),
        ({"design.epilogue_warps": 8}, 2, 4),
        ({"design.tile.m": 256, "design.stages": 2}, 2, 4),
        ({"design.epilogue_stages": 4, "design.epilogue_n": 16}, 4, 4),
        ({"design.store": "direct"}, 2, 2),
        ({"design.scheduler.kind": "one_tile", "design.tile.n": 32, "design.stages": 4}, 1, 1),
    ],
)
def test_the_ring_of_c(changes: dict[str, Any], stages: int, slots: int) -> None:
    planned = legal({**WITH_C, **changes})
    (c,) = [buffer for buffer in planned.main.buffers if buffer.name == "c"]
    assert (planned.design.c_stages, c.shape) == (stages, (128, planned.design.subtile_n, slots))


@pytest.mark.parametrize(
    "changes",
    [
        {"design.stages": 5},
        {"design.accumulator_stages": 1},
        {"design.epilogue_warps": 8},
        {"design.epilogue_n": 16},
        {"design.epilogue_stages": 1},
        {"design.store": "direct"},
        {"design.scheduler": {"kind": "dynamic"}},
        {"design.scheduler": {"snake": True}},
        {"design.cluster": {"m": 1, "n": 2}},
        PAIR,
        {"kernel.epilogue": ["relu"]},
    ],
)
def test_another_choice_is_another_variant_and_says_so(changes: dict[str, Any]) -> None:
    usual, other = legal({}), legal(changes)
    assert usual.identity != other.identity
    assert usual.label != other.label


@pytest.mark.parametrize(
    "changes",
    [
        {"design.stages": 6},
        {"design.accumulator_stages": 2},
        {"design.consumer_warps": 1},
        {"design.epilogue_warps": 4},
        {"design.registers": "none"},
        {"design.epilogue_n": 32, "design.epilogue_stages": 2},
    ],
)
def test_what_auto_becomes_is_the_same_variant(changes: dict[str, Any]) -> None:
    assert folder_name(legal({})) == folder_name(legal(changes))
