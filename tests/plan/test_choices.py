"""Choices of the gemm's solver at their boundaries: none is illegal the other way, some are slower or spill."""

from __future__ import annotations

import dataclasses
import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.plan.space import likely_point, point
from warpwright.archs import SM90A
from warpwright.families.gemm.sm_90a.asked import asked
from warpwright.families.gemm.sm_90a.ring import buffers, size
from warpwright.families.gemm.sm_90a.shapes import SHAPE
from warpwright.families.gemm.sm_90a.solution import Solution, solve
from warpwright.plan import plan

CHAIN = ["silu", "bias_n", "gelu_tanh"]


def solved(changes: dict[str, Any]) -> Solution:
    return solve(asked(point(changes)))


@pytest.mark.parametrize(
    ("k", "registers", "number", "looped"),
    [(192, 40, 3, False), (256, 40, 4, False), (192, 24, 3, False), (256, 24, 4, True), (80, 40, 5, True)],
)
def test_a_few_boxes_are_issued_one_by_one(k: int, registers: int, number: int, looped: bool) -> None:
    tile = {"m": 128, "n": 64, "k": k}
    split = {"producer": registers, "consumer": 232}
    boxes = solved({"design.tile": tile, "design.registers": split}).ring.a
    assert (boxes.number, boxes.looped) == (number, looped)


@pytest.mark.parametrize(("columns", "needed"), [(16, 0), (32, 0), (64, 32 + 16 + 32 - 16)])
def test_of_wide_subtiles_the_registers_of_all_operations_count(columns: int, needed: int) -> None:
    """As many values as half of the columns; 16 registers of the usual 32 are for the chain."""
    changes = {"kernel.epilogue": CHAIN, "design.tile": {"m": 128, "n": 64, "k": 64}, "design.epilogue_n": columns}
    assert solved(changes).warps.consumer_overhead == 32 + needed


def test_one_stage_more_than_fit_does_not() -> None:
    solutions = [solve(asked(likely_point(random.Random(seed).choice))) for seed in range(3000)]
    sound = [s for s in solutions if not SHAPE.violations(s)]
    assert any(s.asked.pingpong and s.computed.read for s in sound)
    for s in sound:
        fitting, limit = s.ring.fitting, SM90A.shared_bytes
        assert fitting == 0 or size(s.asked, s.tiles, s.output, fitting) <= limit, s
        assert size(s.asked, s.tiles, s.output, fitting + 1) > limit, s


def test_every_scratch_begins_at_16_bytes_in_the_map_and_in_its_size() -> None:
    s = solved({"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 2})
    step = SimpleNamespace(scratch="scratch", op=SimpleNamespace(shared_bytes=321, name="odd"))
    a = s.asked._replace(computed=dataclasses.replace(s.computed, steps=cast(Any, (step,) * 3)))
    last = buffers(a, s.tiles, s.output, s.ring)[-1]
    assert -(-(last.offset + last.bytes) // 1024) * 1024 == size(a, s.tiles, s.output, s.ring.stages)


@pytest.mark.parametrize(("k", "stages"), [(16, 16), (64, 16), (192, 8)])
def test_as_many_stages_as_fit_and_sixteen_at_most(k: int, stages: int) -> None:
    """Of (64 + 8) * 2 k bytes; beside them 227 KiB hold one buffer of 64 x 8 for D, and two barriers a stage."""
    tile = {"design.tile": {"m": 64, "n": 8, "k": k}, "design.consumer_warps": 4}
    ring = solved(tile).ring
    assert ring.stages == stages
    assert ring.fitting == (227 * 1024 - 64 * 8 * 2) // (72 * 2 * k + 16)


WITH_C = {"kernel.epilogue": ["beta_c"], "kernel.c": {"dtype": "f32", "major": "n"}, "design.stages": 3}


@pytest.mark.parametrize(
    ("changes", "stages", "slots"),
    [
        # The next subtile of C comes while one is read; each of two warpgroups that share the tile has its own.
        ({}, 2, 4),
        ({"design.schedule": "pingpong"}, 2, 2),
        ({"design.consumer_warps": 4, "design.tile.m": 64}, 2, 2),
        ({"design.epilogue_stages": 1}, 2, 4),
        ({"design.epilogue_stages": 4}, 4, 8),
        ({"design.store": "direct"}, 2, 4),
        # A CTA takes each subtile of its only tile once: here there is one.
        ({"design.scheduler.kind": "one_tile", "design.epilogue_n": 64, "design.tile.n": 64}, 1, 2),
    ],
)
def test_the_ring_of_c(changes: dict[str, Any], stages: int, slots: int) -> None:
    planned = plan(point({**WITH_C, **changes}))
    assert planned.legal, planned.violations
    (c,) = [buffer for buffer in planned.main.buffers if buffer.name == "c"]
    columns = planned.design.subtile_n
    assert (planned.design.c_stages, c.shape, c.bytes) == (stages, (64, columns, slots), 64 * columns * slots * 4)
    (full,) = [barrier for barrier in planned.main.barriers if barrier.name == "c_full"]
    assert (full.stages, full.transaction_bytes) == (stages, 64 * columns * 4 * slots // stages)


@pytest.mark.parametrize(
    ("columns", "major", "swizzle"),
    [(8, "n", "none"), (16, "n", "32B"), (32, "n", "64B"), (64, "n", "128B"), (8, "m", "128B")],
)
def test_a_subtile_is_swizzled_as_widely_as_its_lines_are(columns: int, major: str, swizzle: str) -> None:
    changes = {"design.epilogue_n": columns, "kernel.d": {"dtype": "f16", "major": major}}
    (d,) = [buffer for buffer in plan(point(changes)).main.buffers if buffer.name == "d"]
    assert d.swizzle == swizzle


@pytest.mark.parametrize(
    ("n", "columns", "subtile_stages"), [(128, 32, 2), (48, 16, 1), (40, 8, 1), (32, 32, 1), (256, 32, 2), (96, 32, 1)]
)
def test_subtiles_are_as_wide_as_divides_the_tile_and_two_at_a_time_where_they_are_even(
    n: int, columns: int, subtile_stages: int
) -> None:
    design = plan(point({"design.tile": {"m": 128, "n": n, "k": 64}, "design.stages": 2})).design
    assert (design.subtile_n, design.subtile_stages) == (columns, subtile_stages)
