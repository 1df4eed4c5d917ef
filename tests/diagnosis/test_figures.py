"""Figures of traces whose times are known: overlap, stalls, lead and verdict, from stamps written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.diagnosis.written import Written
from tests.emulate.plans import gemm_plan
from warpwright.diagnosis.figures import Figures, figures_of
from warpwright.diagnosis.report import Report
from warpwright.diagnosis.spans import trace_of
from warpwright.plan.types import Plan

CONSUMERS, PRODUCER = range(8), 8
ROUNDS = 40


@pytest.fixture(scope="module")
def plan() -> Plan:
    return gemm_plan({"design.tile": {"m": 128, "n": 64, "k": 64}, "design.stages": 4})


def figures(plan: Plan, written: Written) -> Figures:
    found = figures_of(trace_of(plan.main, written.marks))
    assert found is not None
    return found


def test_one_stage_at_a_time(plan: Plan) -> None:
    """A load of 600 clocks, then 400 of computing, then the next load."""
    written = Written(plan)
    for n in range(ROUNDS):
        begun = 1000 * n
        written.stamp(PRODUCER, n, AB_WAIT=begun - 390, AB_GOT=begun, AB_DONE=begun)
        for warp in CONSUMERS:
            written.stamp(warp, n, AB_WAIT=begun, AB_GOT=begun + 600, AB_DONE=begun + 1000)
        for warp in (0, 4):
            written.stamp(warp, n, AB_RELEASED=begun + 1000)
    found = figures(plan, written)
    assert found.verdict == "lock-step"
    assert (found.both, found.overlap, found.deep) == (0, 0, 0)
    assert found.compute == pytest.approx(0.4, abs=0.02)
    assert found.loads == pytest.approx(0.6, abs=0.02)
    assert found.stalls["consumer 1"]["ab_full"] == pytest.approx(0.6, abs=0.02)
    assert found.lead == pytest.approx({0: 0.6, 1: 0.4}, abs=0.02)


def test_loads_run_ahead_of_computing(plan: Plan) -> None:
    """Each stage takes 500 clocks to compute; its load takes 700, and is issued as soon as there is room."""
    written = Written(plan)
    done = [1000 + 500 * n for n in range(ROUNDS)]  # of computing
    for n in range(ROUNDS):
        room = 0 if n < 4 else done[n - 4]
        written.stamp(PRODUCER, n, AB_WAIT=done[n - 5] + 20 if n > 4 else 0, AB_GOT=room, AB_DONE=room + 10)
        for warp in CONSUMERS:
            waited = 0 if n == 0 else done[n - 1]
            written.stamp(warp, n, AB_WAIT=waited, AB_GOT=710 if n == 0 else waited + 30, AB_DONE=done[n])
        for warp in (0, 4):
            written.stamp(warp, n, AB_RELEASED=done[n])
    found = figures(plan, written)
    assert found.verdict == "compute-bound"
    assert found.overlap > 0.9
    assert found.stalls["producer"]["ab_empty"] > 0.8
    assert found.stalls["consumer 0"]["ab_full"] < 0.1
    assert sum(part for level, part in found.lead.items() if level >= 2) > 0.9
    assert found.mean_lead > 2
    assert found.seen


def test_loads_that_nobody_waits_for_are_not_made_up(plan: Plan) -> None:
    written = Written(plan)
    for n in range(ROUNDS):
        written.stamp(PRODUCER, n, AB_WAIT=500 * n - 900, AB_GOT=500 * n - 890, AB_DONE=500 * n - 880)
        for warp in CONSUMERS:
            written.stamp(
                warp, n, AB_WAIT=500 * n, AB_GOT=500 * n + 20, AB_DONE=500 * n + 490, AB_RELEASED=500 * n + 490
            )
    found = figures(plan, written)
    assert (found.seen, found.verdict) == (False, "balanced")
    told = "\n".join(Report("v", "p", "measured", "ended", "gpu", figures=found).lines())
    assert "nobody was seen to wait for a load" in told
    assert "overlap: 0%" not in told


def test_figures_of_a_slow_twin_are_told_as_its_own(plan: Plan) -> None:
    """They stand behind what the marks cost, also as data."""
    written = Written(plan)
    written.stamp(PRODUCER, 0, AB_WAIT=0, AB_GOT=0, AB_DONE=0)
    for warp in CONSUMERS:
        written.stamp(warp, 0, AB_WAIT=0, AB_GOT=600, AB_DONE=1000, AB_RELEASED=1000)
    found = figures(plan, written)
    assert found.verdict == "too brief"  # of one round, whatever it is like
    slow = Report("v", "p", "measured", "ended", "gpu", figures=found, slowdown=1.8)
    assert list(slow.lines())[1].startswith("  the twin takes 1.80 x its kernel: what follows is of the twin")
    assert slow.data()["slowdown"] == 1.8
    close = replace(slow, slowdown=1.04)
    assert not any("what follows" in line for line in close.lines())


def test_nothing_is_made_of_no_stamps(plan: Plan) -> None:
    assert figures_of(trace_of(plan.main, Written(plan).marks)) is None
