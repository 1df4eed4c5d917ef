"""What holds for every point: planning never raises, gives reasons, and keeps the invariants of a legal plan."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.families.holding import calls_each, check_buffers, check_constants, check_illegal
from tests.families.sgemm.points import legal, planned, point
from warpwright.archs import SM90A
from warpwright.families import target
from warpwright.families.sgemm.sm_90a.lanes import order
from warpwright.plan.types import Plan

TARGET = target("sgemm", "sm_90a")

anything = st.fixed_dictionaries(
    {
        "a": st.sampled_from("mk"),
        "b": st.sampled_from("nk"),
        "bias": st.booleans(),
        "specialise": st.sampled_from(("producer", "none")),
        "warps": st.fixed_dictionaries({"m": st.integers(1, 9), "n": st.integers(1, 9)}),
        "thread": st.fixed_dictionaries({"m": st.sampled_from((8, 16)), "n": st.sampled_from((8, 16))}),
        "lanes_m": st.sampled_from(("auto", 4, 8)),
        "lane_order": st.sampled_from(("crossed", "interleaved", "plain")),
        "tile_k": st.sampled_from((8, 16, 32)),
        "unroll": st.sampled_from(("auto", 2, 4, 8, 16, 32)),
        "stages": st.just("auto") | st.integers(1, 8),
        "producer_warps": st.just("auto") | st.integers(1, 5),
        "registers": st.sampled_from(("auto", "none"))
        | st.fixed_dictionaries({"producer": st.integers(3, 8).map(lambda n: 8 * n),
                                 "consumer": st.integers(10, 32).map(lambda n: 8 * n)}),
        "ctas_per_sm": st.integers(1, 4),
        "raster": st.sampled_from("mn"),
        "group": st.integers(1, 20),
    }
)  # fmt: skip
often = settings(max_examples=300, deadline=None)


def check_legal(plan: Plan) -> None:
    kernel, d = plan.main, plan.design
    end = check_buffers(kernel)
    assert end <= kernel.shared_bytes < end + 1024
    ctas = d.ctas_per_sm
    assert (kernel.shared_bytes + SM90A.shared_reserved) * ctas <= SM90A.shared_per_sm
    assert kernel.shared_bytes <= SM90A.shared_bytes
    assert -(-kernel.threads * ctas // 128) * 128 * kernel.entry_registers <= SM90A.registers
    assert kernel.threads * ctas <= SM90A.threads_per_sm
    assert kernel.ctas_per_sm == (ctas if ctas > 1 else None)
    warps = [w for role in kernel.roles for w in range(role.first_warp, role.first_warp + role.warps)]
    assert warps == list(range(kernel.threads // 32))
    held = sum(role.warps * (role.registers or kernel.entry_registers) for role in kernel.roles)
    assert held <= len(warps) * kernel.entry_registers
    accumulators = d.thread_m * d.thread_n
    assert accumulators + d.thread_m + d.thread_n < (d.consumer_registers or kernel.entry_registers)
    for copy in kernel.copies:
        assert max(copy.box) <= SM90A.tma_box
        assert copy.box[0] * 4 % 16 == 0
        wide = {"none": 2**20, "32B": 32, "64B": 64, "128B": 128}[copy.swizzle]
        assert copy.box[0] * 4 <= wide
    if d.specialised:
        barriers = {barrier.name: barrier for barrier in kernel.barriers}
        stage = 4 * (d.tile_m + d.tile_n) * d.tile_k
        assert barriers["ab_full"].transaction_bytes == stage < 2**20
        assert sum(math.prod(copy.box) * 4 for copy in kernel.copies) == stage
        assert barriers["ab_empty"].arrivals == d.warps_m * d.warps_n
        assert d.producer_warps <= d.stages
    else:
        assert kernel.copies == kernel.barriers == ()
        vectors = [rows * d.tile_k // 4 for rows in (d.tile_m, d.tile_n)]
        assert not any(number % kernel.threads for number in vectors)
    check_constants(plan)


@often
@given(anything)
def test_a_plan_is_legal_in_every_respect_or_says_why_not(choices: dict[str, Any]) -> None:
    plan = planned(**choices)
    assert plan == planned(**choices)
    if plan.legal:
        check_legal(plan)
        return
    check_illegal(plan, {"M": 1, "N": 1, "K": 1, "L": 1})


def test_what_is_usual_is_legal_in_every_respect() -> None:
    for a in "mk":
        for b in "nk":
            check_legal(legal(a, b))
    check_legal(legal(specialise="none"))
    check_legal(legal(warps={"m": 2, "n": 4}, thread={"m": 8, "n": 8}, ctas_per_sm=2))


def test_lanes_cover_a_warp_once_and_share_what_they_read_or_do_not() -> None:
    for lanes_m in (4, 8):
        for name, wavefronts in (("interleaved", (2, 2)), ("plain", (4, 2)), ("crossed", (4, 4))):
            lanes = order(name, lanes_m)
            places = {lanes.place(lane) for lane in range(32)}
            assert places == {(m, n) for m in range(lanes_m) for n in range(32 // lanes_m)}
            assert (lanes.wavefronts(True), lanes.wavefronts(False)) == wavefronts


def test_the_tile_is_the_product_of_warps_lanes_and_threads() -> None:
    d = legal().design
    assert (d.tile_m, d.tile_n) == (4 * 4 * 16, 2 * 8 * 8) == (256, 128)
    d = legal(thread={"m": 8, "n": 16}, warps={"m": 2, "n": 4}).design
    assert (d.tile_m, d.tile_n, d.lanes_m) == (128, 256, 8)
    d = legal(thread={"m": 8, "n": 8}, warps={"m": 4, "n": 2}, lanes_m=4).design
    assert (d.tile_m, d.tile_n) == (128, 128)


def test_planning_a_point_repeats_nothing() -> None:
    """Counted in calls: what is the same for all points is made once."""
    points = [point(a, b, stages=stages, tile_k=k, group=group)
              for a in "mk" for b in "nk" for stages in (2, 3, 4) for k in (8, 16) for group in (2, 4)]  # fmt: skip
    assert calls_each(TARGET.plan, points) < 200
