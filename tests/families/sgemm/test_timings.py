"""An SGEMM's predicted times against those of the ledger: near, and in the same order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.families.timings import Timing, fit, of_the_ledger
from warpwright.families.sgemm.sm_90a import prediction
from warpwright.plan.types import Plan

SQUARE = '{"k": 4096, "l": 1, "m": 4096, "n": 4096}'
#: Limits: rank correlation, typical factor, smallest and largest predicted over measured. The times of the ledger are
#: measured anew now and then, which moves a time by 2 %.
SHIPPED = (0.93, 1.025, 0.94, 1.13)


@functools.cache
def shipped() -> dict[str, list[Timing]]:
    return of_the_ledger("sgemm")


@pytest.fixture(autouse=True)
def renewed() -> None:
    if len(shipped().get(SQUARE, ())) < 20:
        pytest.skip("the ledger is of other plans than these: `warpwright ci` says so, until it is renewed")


def test_what_the_ledger_holds_is_predicted_nearly_and_ranks_alike() -> None:
    assert len(shipped()) == 4
    for problem, timings in shipped().items():
        assert len(timings) > 20
        assert fit(timings).within(*SHIPPED), (problem, fit(timings))


def test_the_fastest_of_each_problem_is_among_the_three_that_are_predicted_so() -> None:
    for timings in shipped().values():
        predicted = sorted(timings, key=lambda timing: timing.predicted())
        fastest = min(timings, key=lambda timing: timing.microseconds)
        assert min(timing.microseconds for timing in predicted[:3]) < 1.015 * fastest.microseconds


def design(**changes: Callable[[Plan], object]) -> Callable[[Plan], Plan]:
    """A plan whose design is another, which the prediction takes for the one that was timed."""
    return lambda planned: replace(
        planned, design=replace(planned.design, **{name: make(planned) for name, make in changes.items()})
    )


@pytest.mark.parametrize(
    "wrong",
    [
        design(lane_order=lambda p: "interleaved"),
        design(tile_k=lambda p: 64, unroll=lambda p: 64),
        design(ctas_per_sm=lambda p: 1),
        design(producer_warps=lambda p: 1),
        design(warps_m=lambda p: p.design.warps_n, warps_n=lambda p: p.design.warps_n),
    ],
    ids=["neighbours share what they read", "deep stages", "one CTA each", "all are specialised", "other warps"],
)
def test_a_part_of_the_design_that_is_taken_wrongly_shows(wrong: Callable[[Plan], Plan]) -> None:
    assert not all(fit(timings, wrong).within(*SHIPPED) for timings in shipped().values())


@pytest.mark.parametrize("constant", ["HERTZ", "ISSUED", "VECTOR_LATENCY"])
@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_a_wrong_constant_shows(monkeypatch: pytest.MonkeyPatch, constant: str, factor: float) -> None:
    monkeypatch.setattr(prediction, constant, factor * getattr(prediction, constant))
    assert not all(fit(timings).within(*SHIPPED) for timings in shipped().values())
