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

CHAIN = ["silu", "bias_n", "gelu_tanh"]


def solved(changes: dict[str, Any]) -> Solution:
    return solve(asked(point(changes)))


@pytest.mark.parametrize(
    ("k", "registers", "number", "looped"),
    [(192, 40, 3, False), (256, 40, 4, False), (192, 24, 3, False), (256, 24, 4, True)],
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
