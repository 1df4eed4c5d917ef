"""What was seen against the plan: nothing to say when they agree, and one line for each way in which they do not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.device.plans import problem
from tests.emulate.plans import cluster_plan, tile_plan
from warpwright.device.problem import Problem
from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.variant.check_plan import Seen, check_plan
from warpwright.emulate.variant.tensor_maps import mapped
from warpwright.plan.types import KernelPlan, Plan

PROBLEM = problem("p", 256, 128, 100)  # one cluster of two CTAs, two k tiles


@pytest.fixture
def plan() -> Plan:
    return cluster_plan()


def observed(plan: Plan) -> dict[str, dict[Any, Any]]:
    """What a run that follows the plan shows."""
    offsets = {buffer.name: buffer.offset for buffer in plan.main.buffers}
    return {
        "mbarriers": {
            RESERVED + offsets[b.buffer] + 8 * stage: {
                "counts": {b.arrivals}, "arrivals": {b.arrivals}, "bytes": {b.transaction_bytes},
                "ranks": {0, 1}, "phases": 1,
            }
            for b in plan.main.barriers
            if b.kind == "mbarrier"
            for stage in range(b.stages)
        },
        "tma": {
            0: {"boxes": set(), "multicast": {1}, "lanes": {1}, "copies": 4},
            2: {"boxes": set(), "multicast": {2}, "lanes": {1}, "copies": 4},
            4: {"boxes": set(), "multicast": {1}, "lanes": {1}, "copies": 16},
        },
        "registers": {232: set(range(8)), 40: {8, 9, 10, 11}},
        "named": {1: {128}, 2: {128}},
    }  # fmt: skip


def seen(plan: Plan, *shown: dict[str, dict[Any, Any]], problem: Problem = PROBLEM) -> Seen:
    result = Seen.of(plan)
    result.add(problem, [[0, 2, 4][: len(mapped(kernel))] for kernel in plan.kernels], shown)
    return result


def test_a_run_that_follows_the_plan(plan: Plan) -> None:
    assert check_plan(seen(plan, observed(plan))) == []


def test_the_barrier_of_all_threads_needs_no_place_in_the_plan(plan: Plan) -> None:
    shown = observed(plan)
    shown["named"][0] = {plan.main.threads}
    assert check_plan(seen(plan, shown)) == []


FULL_2 = RESERVED + 212992 + 16


@pytest.mark.parametrize(
    ("spoil", "rule", "expected", "found"),
    [
        (lambda s: s["mbarriers"].pop(FULL_2), "ab_full[2]: initialised", "yes", "no"),
        (lambda s: s["mbarriers"][FULL_2]["counts"].add(2), "ab_full[2]: arrival count", "1", "1, 2"),
        (lambda s: s["mbarriers"][FULL_2]["arrivals"].clear(), "ab_full[2]: arrivals per phase", "1", "none"),
        (lambda s: s["mbarriers"][FULL_2]["bytes"].add(64), "ab_full[2]: bytes per phase", "32768", "64, 32768"),
        (lambda s: s["mbarriers"].update({0: s["mbarriers"][FULL_2]}), "mbarriers", "none beside the plan's", "one at"),
        (lambda s: s["named"][1].add(256), "named barrier 1 (epilogue): threads", "128", "128, 256"),
        (lambda s: s["named"].pop(2), "named barrier 2 (epilogue): threads", "128", "none"),
        (lambda s: s["named"].update({5: {64}}), "named barrier 5: threads", "none", "64"),
        (lambda s: s["named"].update({0: {64}}), "named barrier 0: threads", "384", "64"),
        (lambda s: s["registers"][40].discard(9), "idle: registers after setmaxnreg", "40", "none"),
        (lambda s: s["registers"][40].discard(11), "idle: registers after setmaxnreg", "40", "none"),
        (lambda s: s["registers"].update({232: set()}), "consumer 0: registers after setmaxnreg", "232", "none"),
        (lambda s: s["tma"][2]["multicast"].add(1), "TMA load of b: CTAs that receive a box", "2", "1, 2"),
        (lambda s: s["tma"][0].update(copies=5), "TMA load of a: boxes of (64, 128, 1)", "4", "5"),
    ],
)
def test_every_difference_is_told(
    plan: Plan, spoil: Callable[[Any], Any], rule: str, expected: str, found: str
) -> None:
    shown = copy.deepcopy(observed(plan))
    spoil(shown)
    first = next(d for d in check_plan(seen(plan, shown)) if d.rule == rule)
    assert first.expected == expected
    assert first.found.startswith(found)


def test_c_is_not_copied_where_it_must_not_be_read() -> None:
    plan = tile_plan()
    result = Seen.of(plan)
    result.add(replace(PROBLEM, zero=("beta",)), [[0, 2, 4, 6]], [observed(plan)])
    assert result.kernels[0].boxes["c"] == {(16, 0)}


def bulk(kernel: KernelPlan) -> KernelPlan:
    """The same kernel with copies of A and B in bulk."""
    copies = tuple(replace(c, kind="bulk") if c.tensor in "ab" else c for c in kernel.copies)
    return replace(kernel, copies=copies)


def test_bytes_in_bulk_are_those_of_every_tensor_copied_that_way(plan: Plan) -> None:
    mixed = replace(plan, kernels=(bulk(plan.main),))
    shown = observed(plan)
    shown["tma"] = {0: shown["tma"][4]}
    elements = 256 * 128 + 128 * 128  # two tiles of A, one of B that both share, of two stages
    shown["bulk"] = {"load": {"copies": 7, "bytes": 2 * elements, "multicast": {1, 2}, "lanes": {1}}}
    assert check_plan(seen(mixed, shown)) == []
    shown["bulk"]["load"] |= {"bytes": 2 * elements - 16, "multicast": {1, 4}}
    shown["bulk"]["store"] = {"copies": 1, "bytes": 16, "multicast": {1}, "lanes": {1}}
    assert {(d.rule, d.expected, d.found) for d in check_plan(seen(mixed, shown))} == {
        ("bulk load of a, b: CTAs that receive a run", "1, 2", "1, 4"),
        ("bulk load of a, b: bytes", str(2 * elements), str(2 * elements - 16)),
        ("bulk store: bytes", "0", "16"),
    }


def test_the_last_phases_of_a_partial_barrier_may_bring_fewer_bytes(plan: Plan) -> None:
    barriers = tuple(replace(b, partial=b.name == "ab_full") for b in plan.main.barriers)
    partial = replace(plan, kernels=(replace(plan.main, barriers=barriers),))
    shown = observed(plan)
    shown["mbarriers"][FULL_2]["bytes"] = {64}
    assert check_plan(seen(partial, shown)) == []
    shown["mbarriers"][FULL_2]["bytes"] = {64, 32784}
    (found,) = check_plan(seen(partial, shown))
    assert (found.rule, found.expected, found.found) == (
        "ab_full[2]: bytes per phase",
        "at most 32768",
        "64, 32784",
    )


def test_each_kernel_of_several_is_held_against_its_own_plan(plan: Plan) -> None:
    second = KernelPlan("finish", threads=64, cluster=(1, 1, 1), shared_bytes=0, entry_registers=32)
    both = replace(plan, kernels=(plan.main, second))
    quiet: dict[str, dict[Any, Any]] = {kind: {} for kind in observed(plan)}
    assert check_plan(seen(both, observed(plan), quiet)) == []
    noisy = {**quiet, "named": {3: {64}}}
    (found,) = check_plan(seen(both, observed(plan), noisy))
    assert found.rule == "finish: named barrier 3: threads"
