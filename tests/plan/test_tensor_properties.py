"""What holds for every point of gemm on sm_100a: reasons, or a plan that fits, whose counts follow from its roles."""

from __future__ import annotations

import itertools
import json
import math
import random
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.plan.tensor_space import any_point, likely_point, model, written_out
from warpwright.archs import SM100A
from warpwright.canonical import canonical_json, plain
from warpwright.families import target
from warpwright.plan import folder_name, plan
from warpwright.plan.explanation import explain
from warpwright.plan.memory import align_up, lay_out
from warpwright.plan.stored import plan_from_json
from warpwright.render import render

pytestmark = pytest.mark.slow

SPAN = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i64": 8, "i32": 4}

anywhere = settings(max_examples=200, deadline=None)
within = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
seeds = st.integers(0, 2**32).map(lambda seed: random.Random(seed).choice)
any_points = seeds.map(any_point)
likely_points = seeds.map(likely_point)
legal_plans = likely_points.map(plan).filter(lambda planned: planned.legal)


def shared(planned):
    return [buffer for buffer in planned.main.buffers if buffer.space == "shared"]


def barriers(planned):
    return {barrier.name: barrier for barrier in planned.main.barriers}


@anywhere
@given(any_points | likely_points)
def test_planning_never_raises_and_repeats_itself(point):
    planned = plan(point)
    again = plan(model(plain({"kernel": point.kernel, "design": point.design})))
    assert canonical_json(planned) == canonical_json(again)
    assert folder_name(planned) == folder_name(again)
    assert plan_from_json(json.loads(canonical_json(planned))) == planned


@anywhere
@given(any_points)
def test_an_illegal_plan_says_why(point):
    planned = plan(point)
    assume(not planned.legal)
    assert planned.kernels == planned.constants == planned.arguments == ()
    ids = [violation.rule for violation in planned.violations]
    assert len(ids) == len(set(ids)) > 0
    text = explain(planned, {"M": 1, "N": 1, "K": 1, "L": 1})
    for violation in planned.violations:
        assert all((violation.field, violation.value, violation.limit, violation.nearest))
        assert violation.message in text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(legal_plans)
def test_every_choice_written_out_gives_the_same_variant(planned):
    explicit = plan(model({"kernel": planned.kernel, "design": written_out(planned.design)}))
    assert explicit.legal, explicit.violations
    assert canonical_json(explicit) == canonical_json(planned)
    assert render(explicit) == render(planned)


@within
@given(legal_plans)
def test_shared_memory_lies_apart_and_aligned_and_fits(planned):
    end = 0
    for buffer in shared(planned):
        assert buffer.offset >= end
        assert buffer.offset % buffer.alignment == 0
        assert buffer.bytes == math.prod(buffer.shape) * BYTES[buffer.dtype]
        end = buffer.offset + buffer.bytes
    for copy in planned.main.copies:
        buffer = next(b for b in shared(planned) if b.name == copy.buffer)
        assert buffer.alignment == 1024
        assert buffer.bytes // buffer.shape[-1] % (8 * SPAN[copy.swizzle]) == 0
    assert planned.shared_bytes == align_up(end, 1024) <= SM100A.shared_bytes
    assert lay_out(tuple(shared(planned))) == (tuple(shared(planned)), planned.shared_bytes)


@within
@given(legal_plans)
def test_no_stage_more_would_fit_where_nobody_chose(planned):
    """`auto` takes all that fit, up to sixteen."""
    design = written_out(planned.design) | {"stages": "auto"}
    most = plan(model({"kernel": planned.kernel, "design": design})).design.stages
    assert planned.design.stages <= most <= 16
    if most < 16:
        more = plan(model({"kernel": planned.kernel, "design": design | {"stages": most + 1}}))
        assert [violation.rule for violation in more.violations] == ["shared_memory"]


@within
@given(legal_plans)
def test_tensor_memory_holds_the_accumulators_of_all_ctas_of_an_sm(planned):
    d, memory = planned.design, planned.main.tensor_memory
    (sums,) = [buffer for buffer in planned.main.buffers if buffer.space == "tensor"]
    used = d.tile_n * d.accumulator_stages * (d.tile_m // 128)
    assert (sums.offset, sums.bytes, math.prod(sums.shape)) == (0, used, 128 * used)
    assert memory.columns in (32, 64, 128, 256, 512)
    assert memory.columns / 2 < max(used, 17) <= memory.columns
    assert memory.ctas == d.cta_group
    on_an_sm = min(233_472 // (planned.shared_bytes + 1024), 2048 // planned.main.threads)
    assert on_an_sm * memory.columns <= 512


@within
@given(legal_plans)
def test_boxes_are_what_tma_takes_and_fill_a_stage(planned):
    for copy in planned.main.copies:
        assert all(1 <= extent <= 256 for extent in copy.box)
        inner = copy.box[0] * BYTES[copy.dtype]
        assert inner % 16 == 0
        assert inner <= SPAN[copy.swizzle]
        buffer = next(b for b in shared(planned) if b.name == copy.buffer)
        assert (copy.dtype, copy.swizzle) == (buffer.dtype, buffer.swizzle)
        stage = buffer.bytes // buffer.shape[-1]
        boxes, rest = divmod(stage, math.prod(copy.box) * BYTES[copy.dtype] * copy.multicast)
        assert rest == 0
        looped = {c.name: c.value for c in planned.constants}.get(f"{copy.tensor.upper()}_BOXES")
        assert copy.instructions == (1 if looped else boxes)
        assert looped in (None, boxes)


@within
@given(legal_plans)
def test_barriers_count_what_arrives(planned):
    """From who does what in a cluster, CTA by CTA and warp by warp."""
    d, found = planned.design, barriers(planned)
    ctas = [*product(range(d.cluster_m), range(d.cluster_n))]
    leaders = [(m, n) for m, n in ctas if m % d.cta_group == 0]
    stage = {b.name: b.bytes // b.shape[-1] for b in shared(planned) if b.name in ("a", "b", "c", "d")}
    # What both CTAs of a pair load reports to the leader's barrier, which one thread arrives at.
    assert (found["loaded"].arrivals, found["loaded"].transaction_bytes) == (1, d.cta_group * (stage["a"] + stage["b"]))
    assert found["loaded"].transaction_bytes < 2**20
    assert found["loaded"].stages == found["consumed"].stages == d.stages
    for m, n in ctas:
        # A CTA's boxes of A go to those of its row, its boxes of B to those of its column that have the same half.
        reached = {(m, other) for other in range(d.cluster_n)}
        reached |= {(other, n) for other in range(d.cluster_m) if other % d.cta_group == m % d.cta_group}
        readers = {(row // d.cta_group, column) for row, column in reached}
        assert found["consumed"].arrivals == len(readers) * (d.tile_m // 128)
    accumulators = d.accumulator_stages * (d.tile_m // 128)
    assert (found["accumulated"].stages, found["accumulated"].arrivals) == (accumulators, 1)
    assert ("drained" in found) == (d.scheduler != "one_tile")
    if "drained" in found:
        # Of each CTA the warps that read one accumulator: half of eight where each half of the rows has its own.
        warps = d.epilogue_warps // (d.tile_m // 128) * d.cta_group
        assert (found["drained"].stages, found["drained"].arrivals) == (accumulators, warps)
    assert {name for name, barrier in found.items() if barrier.pair} == (
        {"loaded", "drained"} & found.keys() if d.cta_group == 2 else set()
    )
    assert ("c_full" in found) == (planned.kernel["c"] is not None)
    if "c_full" in found:
        assert found["c_full"].transaction_bytes == stage["c"] * (d.epilogue_warps // 4)
        assert (found["c_full"].arrivals, found["c_empty"].arrivals) == (1, d.epilogue_warps)
        assert found["c_full"].stages == found["c_empty"].stages == d.c_stages
    assert ("tile_taken" in found) == (d.scheduler == "dynamic")
    if "tile_taken" in found:
        walks = [
            (cta, role.name)
            for cta in ctas
            for role in planned.main.roles
            for _ in range(role.warps)
            if cta in leaders or not role.name.startswith("consumer")
        ]
        assert (found["tile_taken"].arrivals, found["tile_ready"].transaction_bytes) == (len(walks), 16)
    assert ("cluster" in found) == (len(ctas) > 1)
    if "cluster" in found:
        assert found["cluster"].arrivals == planned.main.threads * len(ctas)


@within
@given(legal_plans)
def test_roles_partition_the_warps(planned):
    roles = sorted(planned.main.roles, key=lambda role: role.first_warp)
    assert roles[0].first_warp == 0
    for role, following in itertools.pairwise(roles):
        assert role.first_warp + role.warps == following.first_warp
    assert 32 * (roles[-1].first_warp + roles[-1].warps) == planned.main.threads <= 512
    assert planned.main.threads * planned.main.entry_registers <= SM100A.registers
    # Warps of the epilogue reach the quarter of the lanes that is their number's.
    assert all(role.first_warp % 4 == 0 and role.warps == 4 for role in roles if role.name.startswith("epilogue"))
    named = [i for barrier in planned.main.barriers if barrier.kind == "named" for i in barrier.ids]
    assert len(named) == len(set(named))
    assert all(0 < i < SM100A.named_barriers for i in named)


@within
@given(legal_plans)
def test_the_descriptor_says_the_shape(planned):
    (mma,) = planned.main.mmas
    d, kernel = planned.design, planned.kernel
    field = {name: mma.descriptor >> at & (1 << bits) - 1 for name, at, bits in (
        ("sparse", 2, 1), ("d", 4, 2), ("a", 7, 3), ("b", 10, 3), ("negated", 13, 2), ("a_major", 15, 1),
        ("b_major", 16, 1), ("n", 17, 6), ("m", 24, 5),
    )}  # fmt: skip
    element = int(kernel["a"]["dtype"] == "bf16")
    assert field == {
        "sparse": 0, "d": 1, "a": element, "b": element, "negated": 0,
        "a_major": int(kernel["a"]["major"] == "m"), "b_major": int(kernel["b"]["major"] == "n"),
        "n": d.tile_n // 8, "m": 128 * d.cta_group // 16,
    }  # fmt: skip
    assert (mma.m, mma.n, mma.k, mma.per_stage) == (128 * d.cta_group, d.tile_n, 16, d.tile_k // 16)


extents = st.fixed_dictionaries({mode: st.integers(0, 2**31 - 1) for mode in "MNK"} | {"L": st.integers(0, 100)})


@within
@given(legal_plans, extents)
def test_every_legal_plan_can_be_explained_and_predicted(planned, problem):
    predicted = target("gemm", "sm_100a").predict(planned, problem)
    assert 0 < predicted.seconds < math.inf
    assert (predicted.counts["tile"] == 0) == (problem["M"] * problem["N"] * problem["L"] == 0)
    assert predicted.counts["CTA"] <= 148
    text = explain(planned, problem)
    assert all(thing.name in text for thing in (*planned.main.buffers, *planned.main.barriers, *planned.main.roles))
