"""What holds for every point: planning never raises, gives reasons, and keeps the invariants of a legal plan."""

from __future__ import annotations

import itertools
import json
import math
import random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.plan.space import any_point, likely_point, model, written_out
from warpwright.archs import SM90A
from warpwright.canonical import canonical_json, plain
from warpwright.families import target
from warpwright.families.gemm.sm_90a.asked import asked
from warpwright.families.gemm.sm_90a.ring import size
from warpwright.families.gemm.sm_90a.solution import solve
from warpwright.plan import folder_name, plan
from warpwright.plan.explanation import explain
from warpwright.plan.memory import align_up, lay_out
from warpwright.plan.stored import plan_from_json

pytestmark = pytest.mark.slow

SPAN = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i64": 8}

anywhere = settings(max_examples=200, deadline=None)
within = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])


#: A point has some thirty fields: drawing a seed for them is ten times as fast as drawing each.
seeds = st.integers(0, 2**32).map(lambda seed: random.Random(seed).choice)
any_points = seeds.map(any_point)
likely_points = seeds.map(likely_point)
legal_plans = likely_points.map(plan).filter(lambda planned: planned.legal)


@anywhere
@given(any_points | likely_points)
def test_planning_never_raises_and_repeats_itself(point):
    planned = plan(point)
    again = plan(model(plain({"kernel": point.kernel, "design": point.design})))
    assert canonical_json(planned) == canonical_json(again)
    assert planned.identity == again.identity
    assert folder_name(planned) == folder_name(again)
    assert planned.kernel == plain(point.kernel)
    assert plan_from_json(json.loads(canonical_json(planned))) == planned


@anywhere
@given(any_points)
def test_an_illegal_plan_says_why(point):
    planned = plan(point)
    assume(not planned.legal)
    assert planned.label
    assert planned.kernels == planned.constants == planned.arguments == ()
    ids = [violation.rule for violation in planned.violations]
    assert len(ids) == len(set(ids)) > 0
    text = explain(planned, {"M": 1, "N": 1, "K": 1, "L": 1})
    for violation in planned.violations:
        assert all((violation.field, violation.value, violation.limit, violation.nearest))
        assert violation.message in text


@within
@given(legal_plans)
def test_buffers_lie_apart_and_aligned(planned):
    end = 0
    for buffer in planned.main.buffers:
        assert buffer.offset >= end
        assert buffer.offset % buffer.alignment == 0
        assert buffer.bytes == math.prod(buffer.shape) * BYTES[buffer.dtype]
        end = buffer.offset + buffer.bytes
    # TMA with a 128-byte swizzle repeats every 1024 bytes: the rings and each of their stages start on one.
    for copy in planned.main.copies:
        buffer = next(b for b in planned.main.buffers if b.name == copy.buffer)
        assert buffer.alignment == 1024
        assert buffer.bytes // buffer.shape[-1] % (8 * SPAN[copy.swizzle]) == 0
    assert end <= planned.shared_bytes <= SM90A.shared_bytes
    assert planned.shared_bytes == align_up(end, 1024)
    assert lay_out(planned.main.buffers) == (planned.main.buffers, planned.shared_bytes)


@within
@given(legal_plans, st.integers(1, 40))
def test_the_size_of_the_map_needs_no_map(planned, more):
    """`stages` grows by as many as fit: the ring of one more does not, unless more would hide nothing."""
    solution = solve(asked(model({"kernel": planned.kernel, "design": written_out(planned.design)})))
    a, t, o, _, ring = solution
    assert size(a, t, o, ring.stages) == planned.shared_bytes
    assert size(a, t, o, ring.fitting) <= SM90A.shared_bytes < size(a, t, o, ring.fitting + more)


@within
@given(legal_plans)
def test_boxes_are_what_tma_takes(planned):
    for copy in planned.main.copies:
        assert len(copy.box) == 3
        assert all(1 <= extent <= 256 for extent in copy.box)
        inner = copy.box[0] * BYTES[copy.dtype]
        assert inner % 16 == 0
        assert inner <= SPAN[copy.swizzle]
        buffer = next(b for b in planned.main.buffers if b.name == copy.buffer)
        assert copy.dtype == buffer.dtype
        assert copy.swizzle == buffer.swizzle
        # All CTAs' boxes together fill one stage; where there are many, one instruction in a loop copies them.
        stage = buffer.bytes // buffer.shape[-1]
        boxes, rest = divmod(stage, math.prod(copy.box) * BYTES[copy.dtype] * copy.multicast)
        assert rest == 0
        looped = {c.name: c.value for c in planned.constants}.get(f"{copy.tensor.upper()}_BOXES")
        assert copy.instructions == (1 if looped else boxes)
        assert looped in (None, boxes)
        assert boxes <= 4 or looped


@within
@given(legal_plans)
def test_barriers_count_what_arrives(planned):
    barriers = {barrier.name: barrier for barrier in planned.main.barriers}
    kernel, sharing = planned.kernel, planned.design.sharing
    for name, barrier in barriers.items():
        if barrier.kind != "mbarrier":
            continue
        buffer = next(b for b in planned.main.buffers if b.name == barrier.buffer)
        assert buffer.bytes == 8 * barrier.stages
        rings = {"ab_full": ("a", "b"), "c_full": ("c",)}.get(name, ())
        # What lands in one phase is what one stage holds; C comes in one box per warpgroup that shares the tile.
        landed = sum(b.bytes // barrier.stages for b in planned.main.buffers if b.name in rings)
        assert barrier.transaction_bytes == landed
        assert barrier.transaction_bytes < 2**20  # the hardware's limit of one phase
    cluster_m, cluster_n, _ = planned.main.cluster
    assert barriers["ab_full"].arrivals == 1
    # Every warpgroup that reads a stage, in every CTA that this one's loads reach.
    reached = {(m, 0) for m in range(cluster_m)} | {(0, n) for n in range(cluster_n)}
    assert barriers["ab_empty"].arrivals == sharing * len(reached)
    assert ("c_full" in barriers) == (kernel["c"] is not None)
    if "c_full" in barriers:
        assert (barriers["c_full"].arrivals, barriers["c_empty"].arrivals) == (1, 4 * sharing)
        # Of its only tile a CTA takes each subtile of C once.
        least = 2 if planned.design.persistent else min(2, planned.design.tile_n // planned.design.subtile_n)
        assert barriers["c_full"].stages == barriers["c_empty"].stages >= least
    assert barriers["ab_full"].stages == barriers["ab_empty"].stages >= 2
    assert ("cluster" in barriers) == (cluster_m * cluster_n > 1)
    if "cluster" in barriers:
        assert barriers["cluster"].arrivals == planned.main.threads * cluster_m * cluster_n


@within
@given(legal_plans)
def test_named_barriers_are_distinct(planned):
    ids = [i for barrier in planned.main.barriers if barrier.kind == "named" for i in barrier.ids]
    assert len(ids) == len(set(ids))
    assert all(0 < i < SM90A.named_barriers for i in ids)
    for barrier in planned.main.barriers:
        assert (barrier.kind == "named") == bool(barrier.ids)
        assert barrier.kind != "named" or barrier.arrivals % 32 == 0
        assert barrier.kind != "named" or barrier.arrivals <= planned.main.threads


@within
@given(legal_plans)
def test_roles_partition_the_warps_and_share_the_registers(planned):
    roles = sorted(planned.main.roles, key=lambda role: role.first_warp)
    assert roles[0].first_warp == 0
    for role, following in itertools.pairwise(roles):
        assert role.first_warp + role.warps == following.first_warp
    assert 32 * (roles[-1].first_warp + roles[-1].warps) == planned.main.threads <= 512
    assert planned.main.threads * planned.main.entry_registers <= SM90A.registers
    given_ = [role.registers for role in roles]
    if None in given_:
        assert set(given_) == {None}
        return
    assert planned.main.threads % 128 == 0  # setmaxnreg is executed by whole warpgroups
    by_warp = [role.registers for role in roles for _ in range(role.warps)]
    for first in range(0, len(by_warp), 4):
        assert len(set(by_warp[first : first + 4])) == 1
    assert 32 * sum(by_warp) <= SM90A.registers
    assert all(24 <= r <= 256 and r % 8 == 0 for r in by_warp)


@within
@given(legal_plans)
def test_arguments_are_what_the_interface_promises(planned):
    names = [argument.name for argument in planned.arguments]
    assert len(names) == len(set(names))
    assert names[:2] == ["a", "b"]
    assert [argument.name for argument in planned.arguments if argument.role == "grid_limit"] == (
        ["max_clusters"] if planned.design.persistent else []
    )
    kinds = [argument.kind for argument in planned.arguments]
    assert kinds == sorted(kinds, key=("tensor", "vector", "scalar").index)
    assert [argument.name for argument in planned.arguments if argument.output] == ["d"]
    for argument in planned.arguments:
        assert (argument.kind == "scalar") == (not argument.shape)
        assert argument.kind == "scalar" or argument.contiguous in argument.shape
    constants = [constant.name for constant in planned.constants]
    assert len(constants) == len(set(constants))


extents = st.fixed_dictionaries({mode: st.integers(0, 2**31 - 1) for mode in "MNK"} | {"L": st.integers(0, 100)})


@within
@given(legal_plans, extents)
def test_every_legal_plan_can_be_explained_and_predicted(planned, problem):
    predicted = predict(planned, **problem)
    tiles, ctas = predicted.counts["tile"], predicted.counts["CTA"]
    assert predicted.seconds > 0
    assert math.isfinite(predicted.seconds)
    assert (tiles == 0) == (problem["M"] * problem["N"] * problem["L"] == 0)
    assert tiles * planned.design.tile_m >= problem["M"] * (problem["L"] > 0) * (problem["N"] > 0)
    assert ctas <= 132
    text = explain(planned, problem)
    assert all(buffer.name in text for buffer in planned.main.buffers)


def test_a_larger_problem_takes_longer():
    planned = plan(likely_point(lambda options: options[0]))
    assert planned.legal
    times = [predict(planned, n, n, n).seconds for n in (1024, 2048, 4096, 8192)]
    assert times == sorted(times)
    assert predict(planned, 4096, 4096, 4096).speed < 4096 * 132 * 1.5e9 / 1e12


def predict(planned, M, N, K, L=1):  # noqa: N803 - as the modes are called
    return target("gemm", "sm_90a").predict(planned, {"M": M, "N": N, "K": K, "L": L})
