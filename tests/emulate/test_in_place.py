"""An output that is an input: each element is read before it is written, and by nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulate.plans import gemm_plan
from tests.emulate.planting import Planter
from tests.emulate.test_counts import copy_plan
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.operands import place
from warpwright.emulate.variant.verdict import Verdict
from warpwright.families import workload
from warpwright.plan.types import Plan

WITH_C: dict[str, Any] = {
    "kernel.epilogue": ["alpha", "beta_c"],
    "kernel.c": {"dtype": "f16", "major": "n"},
    "design.tile": {"m": 64, "n": 16, "k": 16},
    "design.consumer_warps": 4,
    "design.stages": 2,
}
TURNS: dict[str, Any] = {
    **WITH_C, "design.consumer_warps": 8, "design.schedule": "pingpong", "design.store": "direct"
}  # fmt: skip


def kinds(verdict: Verdict) -> dict[str, set[str]]:
    """The kinds of defects by case."""
    found: dict[str, set[str]] = {}
    for defect in verdict.defects:
        found.setdefault(defect.case, set()).add(defect.finding.kind)
    return found


def in_place_of(plan: Plan) -> dict[str, str]:
    return {argument.name: argument.in_place for argument in plan.arguments if argument.in_place}


@pytest.mark.parametrize(
    ("d", "same"),
    [
        ({"dtype": "f16", "major": "n"}, {"d": "c"}),
        ({"dtype": "f16", "major": "m"}, {}),
        ({"dtype": "bf16", "major": "n"}, {}),
    ],
)
def test_d_may_be_c_of_the_same_dtype_and_major(d: dict[str, str], same: dict[str, str]) -> None:
    plan = gemm_plan({**WITH_C, "kernel.d": d})
    assert in_place_of(plan) == same
    names = [case.problem.name for case in workload("gemm").cases(plan)]
    assert ("in_place" in names) == bool(same)
    assert ("in_place" in [each.name for each in workload("gemm").problems(plan)]) == bool(same)


def test_without_c_nothing_is_in_place() -> None:
    assert in_place_of(gemm_plan()) == {}
    assert in_place_of(copy_plan()) == {"y": "x"}


def test_both_are_one_buffer_that_holds_c_anew_in_each_run() -> None:
    plan = gemm_plan(TURNS)
    (case,) = (case for case in workload("gemm").cases(plan) if case.problem.name == "in_place")
    operands = place(plan, case.problem, 1)
    c, d = operands.tensors["c"], operands.tensors["d"]
    assert c.value == d.value
    assert c.value.address % 16 == 0  # D alone would need no more than its elements' alignment
    assert list(operands.memory.buffers) == ["a", "b", "c"]
    assert operands.memory.buffers["c"].access == "inout"
    before = c.view.copy()
    assert before.any()
    d.view[...] = 0
    operands.writes(d)[...] = 1
    operands.poison()
    assert np.array_equal(c.view, before)
    assert operands.touched(d) == 0


def test_a_kernel_that_reads_each_tile_ahead_of_storing_it_is_right(plant: Planter, with_c: Path) -> None:
    subject = harness.load(with_c)
    (case,) = (case for case in subject.cases() if case.problem.name == "in_place")
    prepared = subject.prepare(case)
    for outcome in subject.outcomes(prepared, subject.module):
        assert (outcome.findings, outcome.complete) == ((), True)
        assert outcome.agreements[0].elements == case.problem.extents["M"] * case.problem.extents["N"]
    verdict = plant.planted(gemm_plan(TURNS))
    assert (verdict.status, verdict.diagnosis) == ("correct", "")


def test_c_of_a_tile_that_another_cta_stores_is_a_race(plant: Planter) -> None:
    verdict = plant.planted(gemm_plan(WITH_C), ("box = c_src[None, m_tile,", "box = c_src[None, m_tile * 0,"))
    found = kinds(verdict)
    assert "race" in found.pop("in_place")
    assert found
    assert {kind for each in found.values() for kind in each} == {"wrong-result"}


def test_what_is_wrong_in_place_alone_is_found(plant: Planter) -> None:
    """The first element is read by the last CTA, while the first one writes it."""
    old = "y[element] = (x[element].to(Float32) * alpha).to(Float16)"
    new = "y[element] = ((x[element].to(Float32) + cutlass.min(x[0].to(Float32), -9.0) + 9.0) * alpha).to(Float16)"
    verdict = plant.planted(copy_plan(), (old, new))
    assert verdict.status == "incorrect"
    assert kinds(verdict)["in_place"] >= {"race"}
    assert "race" not in {kind for case, each in kinds(verdict).items() for kind in each if case != "in_place"}


def test_bytes_that_are_stored_twice_are_found(plant: Planter) -> None:
    """In place the second of two stores is of what the first one made of the input, or of the same: told as well."""
    old = "            move_slice(y_vectors, y_lane, elements)"
    verdict = plant.planted(copy_plan(), (old, f"{old}\n{old}"))
    assert kinds(verdict)["in_place"] == {"written-twice"}
