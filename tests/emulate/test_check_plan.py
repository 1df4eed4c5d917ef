"""What was seen against the plan: nothing to say when they agree, and one line for each way in which they do not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from warpwright.build.launch_capture import Launch
from warpwright.device.problems import Problem
from warpwright.emulate.check_plan import Seen, check_launch, check_plan
from warpwright.emulate.machine import RESERVED
from warpwright.plan.types import Plan

PROBLEM = Problem("p", 256, 128, 100)  # one cluster of two CTAs, two k tiles


@pytest.fixture
def plan(shipped: list[Plan]) -> Plan:
    return next(p for p in shipped if p.label == "f16-kkn-128x128x64-c2x1-s6-coop2-n4")


def observed(plan: Plan) -> dict[str, dict[Any, Any]]:
    """What a run that follows the plan shows."""
    offsets = {buffer.name: buffer.offset for buffer in plan.buffers}
    return {
        "mbarriers": {
            RESERVED + offsets[b.buffer] + 8 * stage: {
                "counts": {b.arrivals}, "arrivals": {b.arrivals}, "bytes": {b.transaction_bytes}, "phases": 1
            }
            for b in plan.barriers
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


def seen(plan: Plan, shown: dict[str, dict[Any, Any]]) -> Seen:
    result = Seen()
    result.add(plan, PROBLEM, [0, 2, 4], shown)
    return result


def test_a_run_that_follows_the_plan(plan: Plan) -> None:
    assert check_plan(plan, seen(plan, observed(plan))) == []


def test_the_barrier_of_all_threads_needs_no_place_in_the_plan(plan: Plan) -> None:
    shown = observed(plan)
    shown["named"][0] = {plan.threads}
    assert check_plan(plan, seen(plan, shown)) == []


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
        (lambda s: s["registers"][40].discard(9), "idle: registers after setmaxnreg", "40", "none"),
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
    first = next(d for d in check_plan(plan, seen(plan, shown)) if d.rule == rule)
    assert first.expected == expected
    assert first.found.startswith(found)


def test_c_is_not_copied_where_it_must_not_be_read(shipped: list[Plan]) -> None:
    plan = next(p for p in shipped if "alpha+beta_c-c.f16.n" in p.label)
    result = Seen()
    result.add(plan, replace(PROBLEM, zero=("beta",)), [0, 2, 4, 6], observed(plan))
    assert result.copies["c"] == {(16, 0)}


def test_launches_are_compared(plan: Plan) -> None:
    right = Launch((2, 1, 1), (384, 1, 1), (2, 1, 1), plan.shared_bytes, ())
    assert check_launch(plan, right) == []
    wrong = replace(right, block=(256, 1, 1), cluster=(1, 1, 1), shared_bytes=1)
    assert [d.rule for d in check_launch(plan, wrong)] == [
        "launch: threads",
        "launch: cluster",
        "launch: shared memory",
    ]
