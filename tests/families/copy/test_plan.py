"""What holds for every point: planning never raises, gives reasons, and keeps the invariants of a legal plan."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.families.copy.points import DTYPES, legal, planned, point
from tests.families.holding import calls_each, check_buffers, check_constants, check_illegal
from warpwright.archs import SM90A
from warpwright.device.launch import resident_ctas
from warpwright.dtypes import dtype
from warpwright.families import target
from warpwright.families.copy.workload.design import chunks, whole
from warpwright.plan.types import Plan

TARGET = target("copy", "sm_90a")

anything = st.fixed_dictionaries(
    {
        "x": st.sampled_from(DTYPES),
        "y": st.sampled_from(DTYPES),
        "stage_bytes": st.integers(1, 96).map(lambda units: 512 * units) | st.integers(1, 70000),
        "stages": st.just("auto") | st.integers(1, 40),
        "consumer_warps": st.integers(1, 40),
        "producer_warps": st.integers(1, 5),
        "ctas_per_sm": st.integers(1, 9),
        "store": st.sampled_from(("tma", "direct")),
        "slots": st.just("auto") | st.integers(1, 10),
    }
)
often = settings(max_examples=300, deadline=None)


def check_legal(plan: Plan) -> None:
    kernel, d = plan.main, plan.design
    x, y = (dtype(plan.kernel[name]["dtype"]) for name in "xy")
    end = check_buffers(kernel)
    assert end <= kernel.shared_bytes < end + 128
    # As many CTAs as the design says fit an SM, in each of its resources.
    assert (kernel.shared_bytes + SM90A.shared_reserved) * d.ctas_per_sm <= SM90A.shared_per_sm
    assert kernel.shared_bytes <= SM90A.shared_bytes
    warps = -(-kernel.threads * d.ctas_per_sm // 128) * 4
    assert warps * 32 * kernel.entry_registers <= SM90A.registers
    assert kernel.threads * d.ctas_per_sm <= SM90A.threads_per_sm
    assert resident_ctas(kernel, SM90A) == d.ctas_per_sm
    # Bulk copies move whole 16 bytes between addresses that are multiples of it; lanes move 16 bytes of the wider one.
    for copy in kernel.copies:
        assert copy.box[0] * dtype(copy.dtype).bytes % 16 == 0
    assert d.slice_elements % (32 * 16 // max(x.bytes, y.bytes)) == 0
    barriers = {barrier.name: barrier for barrier in kernel.barriers}
    assert barriers["x_full"].transaction_bytes == d.stage_elements * x.bytes < 2**20  # what an mbarrier can count
    assert barriers["x_empty"].arrivals == d.consumer_warps
    assert d.producer_warps <= d.stages
    check_constants(plan)


@often
@given(anything)
def test_a_plan_is_legal_in_every_respect_or_says_why_not(choices: dict[str, Any]) -> None:
    plan = planned(**choices)
    assert plan == planned(**choices)
    if plan.legal:
        check_legal(plan)
        return
    check_illegal(plan, {"N": 1})


def test_what_ships_is_legal_in_every_respect() -> None:
    for store in ("tma", "direct"):
        for x in DTYPES:
            for y in DTYPES:
                check_legal(legal(x, y, store=store))


def test_chunks_are_those_of_the_whole_16_bytes() -> None:
    plan = legal("f16", "f32")
    e = plan.design.stage_elements
    assert [whole(plan, n) for n in (0, 7, 8, 15, 16)] == [0, 0, 8, 8, 16]
    assert [chunks(plan, n) for n in (0, 7, 8, e, e + 7, e + 8, 2**40)] == [0, 0, 1, 1, 1, 2, 2**40 // e]
    assert [whole(legal("f32", "f32"), n) for n in (3, 4, 7)] == [0, 4, 4]
    (most,) = {argument.largest_extent for argument in plan.arguments if argument.kind == "vector"}
    # A step of every producer warp of every CTA beyond the last chunk is still a number of 32 bits.
    assert chunks(plan, most) == (2**31 - 1) // (plan.design.producer_warps + 1)


def test_the_ring_is_the_smallest_that_keeps_64_kib_in_flight() -> None:
    """Per SM, over all its CTAs; two stages at least, and no more than fit."""

    def stages(**design: Any) -> int:
        found: int = legal(**design).design.stages
        return found

    assert [stages(stage_bytes=2048 * k) for k in (1, 2, 3, 4, 8)] == [8, 4, 3, 2, 2]
    assert [stages(ctas_per_sm=c) for c in (1, 2, 4, 8)] == [16, 8, 4, 2]
    assert {stages(x=x, y=y, store=store) for x in DTYPES for y in DTYPES for store in ("tma", "direct")} == {4}
    assert stages(stage_bytes=512, consumer_warps=1, ctas_per_sm=1) == 128
    full = legal("f32", "f32", stage_bytes=20480, ctas_per_sm=1, store="tma", slots=8)
    assert full.design.stages == 3  # of the 4 that it takes


def test_planning_a_point_repeats_nothing() -> None:
    """Counted in calls, of which it takes 75 and 50 us: what is the same for all points is made once."""
    points = [point(x, y, stage_bytes=1024 * k, store=store)
              for x in DTYPES for y in DTYPES for k in (2, 4, 6, 8, 16) for store in ("tma", "direct")]  # fmt: skip
    assert calls_each(TARGET.plan, points) < 100
