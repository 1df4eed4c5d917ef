"""What holds for every point: planning never raises, gives reasons, and keeps the invariants of a legal plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.families.holding import check_buffers, check_constants, check_illegal
from tests.families.norm_act.points import DTYPES, SMALL, legal, planned, point
from warpwright.archs import SM90A
from warpwright.dtypes import dtype
from warpwright.families import target
from warpwright.families.norm_act.sm_90a.solution import solve
from warpwright.families.norm_act.workload.design import grain, whole
from warpwright.plan.types import Plan

TARGET = target("norm_act", "sm_90a")

anything = st.fixed_dictionaries(
    {
        "x": st.sampled_from(DTYPES),
        "y": st.sampled_from(DTYPES),
        "norm": st.sampled_from(("layer", "rms")),
        "weight": st.sampled_from((*DTYPES, None)),
        "bias": st.sampled_from((*DTYPES, None)),
        "residual": st.booleans(),
        "specialise": st.sampled_from(("none", "tma", "preprocess")),
        "columns": st.integers(1, 32).map(lambda units: 256 * units) | st.integers(1, 65536),
        "warps_per_row": st.sampled_from((1, 2, 4, 8, 16)),
        "groups": st.integers(1, 4) | st.integers(1, 20),
        "producer_warps": st.just("auto") | st.sampled_from((1, 2, 4, 8)),
        "producer_groups": st.integers(1, 4),
        "stages": st.just("auto") | st.integers(1, 40),
        "ctas_per_sm": st.integers(1, 4),
        "persistent": st.booleans(),
        "ctas_per_row": st.just(1) | st.sampled_from((1, 2, 3, 4, 8, 16)),
        "rows_per_group": st.just(1) | st.integers(1, 6),
        "row": st.just("registers") | st.sampled_from(("shared", "streamed")),
        "ring": st.just("mbarrier") | st.just("named"),
        "scales": st.sampled_from(("registers", "shared")),
        "reallocate": st.booleans(),
        "access_bytes": st.sampled_from((2, 4, 8, 16)),
    }
)
often = settings(max_examples=400, deadline=None)


def check_legal(plan: Plan) -> None:
    kernel, d = plan.main, plan.design
    x, y = (dtype(plan.kernel[name]["dtype"]) for name in "xy")
    end = check_buffers(kernel)
    assert end <= kernel.shared_bytes < end + 128
    # As many CTAs as the design says fit an SM, in each of its resources.
    assert (kernel.shared_bytes + SM90A.shared_reserved) * d.ctas_per_sm <= SM90A.shared_per_sm
    warps = -(-kernel.threads * d.ctas_per_sm // 128) * 4
    assert warps * 32 * kernel.entry_registers <= SM90A.registers
    assert d.ctas_per_sm <= SM90A.ctas_per_sm
    assert kernel.threads * d.ctas_per_sm <= SM90A.threads_per_sm
    # What warps have after reallocation is no more than there was.
    given = sum(32 * role.warps * (role.registers or kernel.entry_registers) for role in kernel.roles)
    assert given <= kernel.threads * kernel.entry_registers
    assert sum(role.warps for role in kernel.roles) * 32 == kernel.threads
    # Every lane moves whole vectors, of addresses that are multiples of them.
    vector = d.access_bytes // max(x.bytes, y.bytes)
    assert vector >= 1
    assert d.columns % (32 * vector * d.warps_per_row * d.ctas_per_row) == 0
    assert kernel.cluster == (d.ctas_per_row, 1, 1)
    assert d.ctas_per_row in (1, 2, 4, 8)
    for argument in plan.arguments:
        if argument.kind == "tensor":
            assert argument.alignment % (vector * dtype(argument.dtype).bytes) == 0
    for copy in kernel.copies:
        assert copy.box[0] * dtype(copy.dtype).bytes % 16 == 0
    if d.stages:
        # A stage has one group that fills it, and one that empties it.
        assert d.stages % d.groups == d.stages % d.producer_groups == 0
        (full,) = (barrier for barrier in kernel.barriers if barrier.name == "row_full")
        assert full.transaction_bytes < 2**20  # what an mbarrier can count
    assert all(id_ < SM90A.named_barriers for barrier in kernel.barriers for id_ in barrier.ids)
    check_constants(plan)


@often
@given(anything)
def test_a_plan_is_legal_in_every_respect_or_says_why_not(choices: dict[str, Any]) -> None:
    plan = planned(**choices)
    assert plan == planned(**choices)
    if plan.legal:
        check_legal(plan)
        return
    check_illegal(plan, {"M": 1, "N": 1})


def test_each_design_is_legal_in_every_respect() -> None:
    for x in DTYPES:
        for y in DTYPES:
            for specialise in ("none", "tma", "preprocess"):
                check_legal(legal(x=x, y=y, columns=1024, specialise=specialise))
    check_legal(legal(columns=4096, groups=4, reallocate=True))
    check_legal(legal(specialise="none", persistent=False, groups=2, rows_per_group=3))
    check_legal(legal(specialise="preprocess", ring="named"))
    check_legal(legal(specialise="none", persistent=False, groups=1, columns=32768, ctas_per_row=8, rows_per_group=2))
    for specialise in ("none", "tma"):
        for row in ("shared", "streamed"):
            check_legal(legal(specialise=specialise, row=row, columns=65536, warps_per_row=16, groups=1))


ONE_WARP: dict[str, Any] = {"columns": 256, "warps_per_row": 1, "groups": 1}
#: From which one number at a time is raised as far as rules let it.
BASES: dict[str, dict[str, Any]] = {
    **SMALL,
    "one warp": {**ONE_WARP, "specialise": "none", "columns": 32, "access_bytes": 2, "weight": None, "bias": None},
    "two warps, named": {**ONE_WARP, "specialise": "preprocess", "producer_warps": 1, "ring": "named"},
    "reallocated": {"groups": 4, "reallocate": True, "columns": 1024, "stages": 4},
}
NUMBERS: dict[str, Iterable[int]] = {
    "ctas_per_sm": range(1, 41), "stages": range(2, 70), "groups": range(1, 34), "rows_per_group": range(1, 70),
    "ctas_per_row": range(1, 33), "warps_per_row": range(1, 34), "producer_warps": range(1, 33),
    "producer_groups": range(1, 33), "columns": range(256, 65537, 256),
}  # fmt: skip


@pytest.mark.parametrize("base", BASES)
def test_the_largest_numbers_that_are_legal_are_so_in_every_respect(base: str) -> None:
    raised = 0
    for field, values in NUMBERS.items():
        plans = [plan for value in values if (plan := planned(**{**BASES[base], field: value})).legal]
        for plan in plans[-1:]:
            check_legal(plan)
            raised += len(plans) > 1
    assert raised >= 2


@pytest.mark.parametrize(
    ("choices", "bytes_of_an_element"),
    [
        ({}, 4 + 2 + 2),  # in f32, with weight and bias
        ({"weight": "f32", "bias": None}, 4 + 4),
        ({"scales": "shared"}, 4),
        ({"residual": True}, 4 + 2 + 2),  # it comes through shared memory
        ({"specialise": "none"}, 4 + 2 + 2 + 2),  # and the next row as it comes
        ({"specialise": "none", "residual": True}, 4 + 2 + 2 + 2 + 2),
        ({"specialise": "none", "x": "f32", "residual": True, "scales": "shared"}, 4 + 4 + 4),
        ({"specialise": "none", "persistent": False}, 4 + 2),
        ({"specialise": "none", "persistent": False, "rows_per_group": 2}, 4 + 2 + 2),
        ({"specialise": "preprocess"}, 4 + 2 + 2),
        ({"specialise": "preprocess", "x": "f32", "residual": True}, 4 + 4 + 4),  # of a producer, which has the same
    ],
)
def test_the_registers_that_a_row_takes_add_up(choices: dict[str, Any], bytes_of_an_element: int) -> None:
    """32 elements of a row of 4096 for each thread of four warps."""
    assert 4 * solve(point(**choices)).value_registers == 32 * bytes_of_an_element


def test_the_rows_of_a_problem_have_limits() -> None:
    plan = legal()
    assert plan.exceeded({"M": 5, "N": 4096}) is None
    beyond = plan.exceeded({"M": 5, "N": 4097})
    assert beyond
    assert (beyond.what, beyond.most) == ("columns", 4096)


ONCE = {"specialise": "none", "persistent": False}


@pytest.mark.parametrize(
    ("choices", "most"),
    [
        ({}, (2**31 - 1) // 4),  # a step of three groups beyond the last row is still a number of 32 bits
        ({"specialise": "none", "groups": 1}, (2**31 - 1) // 2),
        (ONCE | {"groups": 1}, 2**31 - 1),  # a CTA for each row: what a grid may have
        (ONCE | {"groups": 2}, 2**31 - 2),
        (ONCE | {"groups": 2, "rows_per_group": 3, "columns": 1024}, 2**31 - 6),  # the last CTA has a row at least
        ({"specialise": "preprocess", "ring": "named", "stages": 3}, (2**31 - 1) // 4),
    ],
)
def test_as_many_rows_as_32_bits_count(choices: dict[str, Any], most: int) -> None:
    plan = legal(**choices)
    assert plan.exceeded({"M": most, "N": 1}) is None
    assert plan.exceeded({"M": most + 1, "N": 1})


def test_what_is_moved_in_vectors() -> None:
    assert [whole(legal(), n) for n in (1, 7, 8, 4095, 4096)] == [0, 0, 8, 4088, 4096]
    assert grain(legal(y="f32")) == 8  # bulk copies move 16 bytes of x
    assert grain(legal(specialise="none", y="f32")) == 4
    assert grain(legal(specialise="none", access_bytes=2, columns=1024)) == 1


def test_the_ring_keeps_64_kib_in_flight_and_every_group_has_a_stage() -> None:
    def stages(**choices: Any) -> int:
        found: int = legal(**choices).design.stages
        return found

    assert [stages(groups=g) for g in (1, 2, 3)] == [8, 8, 9]
    assert stages(groups=1, ctas_per_sm=2) == 4
    assert stages(columns=1024, warps_per_row=1, groups=12) == 36
    assert stages(columns=8192, warps_per_row=8, groups=1) == 4
    assert stages(specialise="preprocess") == 6  # two for each group
    assert stages(specialise="preprocess", columns=2048, warps_per_row=2, producer_groups=2) == 6
    assert stages(residual=True, groups=1) == 4
