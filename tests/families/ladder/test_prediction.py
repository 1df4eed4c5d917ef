"""Predicted times and timelines: each rung is as fast as the one before or faster, and the two agree."""

from __future__ import annotations

import pytest

from tests.families.ladder.points import RUNGS, legal
from warpwright.archs import H200
from warpwright.families import target
from warpwright.families.ladder.sm_90a import prediction
from warpwright.families.ladder.sm_90a.timeline import timeline
from warpwright.plan.prediction import Prediction
from warpwright.plan.step import Span

#: Microseconds of the nine rungs at 4096^3 on NVIDIA H200 (driver 580.159.04, L2 flushed before each of 50 launches,
#: interleaved, medians).
MEASURED = (84115, 683.8, 584.1, 227.8, 230.2, 209.3, 206.8, 205.1, 195.3)
#: Of a time. The largest error is 2.5 %.
TOLERANCE = 0.04
SIZE = {"M": 4096, "N": 4096, "K": 4096, "L": 1}


def predicted(rung: int, **extents: int) -> Prediction:
    return target("ladder", "sm_90a").predict(legal(rung), {**SIZE, **extents})


def ratios() -> list[float]:
    """Predicted over measured."""
    return [1e6 * predicted(rung).seconds / time for rung, time in zip(RUNGS, MEASURED, strict=True)]


def test_predictions_are_near_what_was_measured() -> None:
    assert max(abs(ratio - 1) for ratio in ratios()) < TOLERANCE, ratios()


@pytest.mark.parametrize(
    ("constant", "wrong"),
    [("REACHED", 0.86), ("REACHED", 0.99), ("LOAD_LATENCY", 0.2e-6), ("LOAD_LATENCY", 0.4e-6), ("LOAD_RATE", 48),
     ("LOAD_RATE", 90), ("DRAIN", 0), ("DRAIN", 180), ("SYNCHRONISE", 90), ("EPILOGUE", 600), ("EPILOGUE", 4600),
     ("BEGIN", 600), ("BEGIN", 4500)],
)  # fmt: skip
def test_a_wrong_constant_shows(monkeypatch: pytest.MonkeyPatch, constant: str, wrong: float) -> None:
    monkeypatch.setattr(prediction, constant, wrong)
    assert max(abs(ratio - 1) for ratio in ratios()) > TOLERANCE, ratios()


def test_every_rung_is_predicted_to_be_faster_than_the_one_before_but_the_one_that_adds_roles_alone() -> None:
    for k in (1024, 4096, 16384):
        times = [predicted(rung, K=k).seconds for rung in RUNGS]
        assert times == sorted(times, reverse=True)
        assert [rung for rung in RUNGS[1:] if times[rung - 1] == times[rung - 2]] == [5]


def test_one_cta_takes_as_long_as_all_of_its_tiles() -> None:
    """1024 tiles one after the other, or 8 waves of 132."""
    one, many = predicted(1), predicted(2)
    assert (one.counts, many.counts) == ({"tile": 1024, "CTA": 1, "wave": 1024}, {"tile": 1024, "CTA": 132, "wave": 8})
    assert 100 < one.seconds / many.seconds < 132


@pytest.mark.parametrize("rung", RUNGS)
def test_the_timeline_takes_as_long_as_is_predicted(rung: int) -> None:
    """A further tile of 64 steps, within 5 %: a producer that runs ahead of an epilogue gains some of it."""
    plan, found = legal(rung), predicted(rung)
    ends = [max(s.end for s in timeline(plan, tiles, 64) if s.kind == "compute") for tiles in (4, 6)]
    of_a_tile = 64 * found.clocks["a step along K"] + found.clocks["a tile beside its steps"]
    assert (ends[1] - ends[0]) / 2 == pytest.approx(of_a_tile, rel=0.05)


@pytest.mark.parametrize("rung", RUNGS)
def test_roles_have_phases_and_one_role_has_none(rung: int) -> None:
    phases = target("ladder", "sm_90a").phases
    assert phases is not None
    found = phases(legal(rung), SIZE)
    assert (found is not None) == (rung >= 5)
    if found:
        assert found.overlapped(H200, found.stages, 1) == pytest.approx(predicted(rung).seconds)
        assert found.load["L2"] / 512 == (0.75 if rung >= 7 else 1)


def spans(rung: int, kind: str) -> list[Span]:
    return [span for span in timeline(legal(rung)) if span.kind == kind]


def overlap(one: list[Span], other: list[Span]) -> bool:
    return any(a.start < b.end and b.start < a.end for a in one for b in other)


def test_what_each_idea_overlaps() -> None:
    for rung in RUNGS:
        computing, loading, storing = (spans(rung, kind) for kind in ("compute", "load", "store"))
        assert not overlap(computing[:1], computing[1:])
        assert overlap(computing, loading) == (rung >= 4), rung
        assert overlap(storing, loading) == (rung >= 6), rung  # the next tile's loads
        assert overlap(storing, computing) == (rung == 9), rung
        begun = spans(rung, "begin")
        assert len(begun) == (3 if 2 <= rung <= 5 else 1), rung
        first = [load.track for load in loading[::8]]  # of each tile of eight steps
        assert first == (["stage 0"] * 3 if rung < 6 else ["stage 0", "stage 2", "stage 4"])
        # No stage is loaded before it has been read, and none is read before it has been loaded.
        stages = legal(rung).design.stages
        for number, (load, compute) in enumerate(zip(loading, computing, strict=True)):
            assert load.end <= compute.start
            assert number < stages or load.start >= computing[number - stages].end


def test_who_stores_a_tile_does_not_compute_the_next_but_one_before() -> None:
    """Of one step along K, pingpong's way out is longer than the other warpgroup's tile."""
    found = timeline(legal(9), 6, 1)
    computing, storing = ([span for span in found if span.kind == kind] for kind in ("compute", "store"))
    assert all(compute.start >= store.end for store, compute in zip(storing, computing[2:], strict=False))
    of_a_tile = sum(predicted(9, K=64).clocks[part] for part in ("a step along K", "a tile beside its steps"))
    assert (computing[5].end - computing[3].end) / 2 == pytest.approx(of_a_tile, rel=0.05)


def test_the_prediction_names_what_bounds() -> None:
    assert predicted(3).bound == "tensor cores"  # the longest of three that follow each other
    assert predicted(4).bound == "tensor cores"
    assert predicted(9).bound == "tensor cores"
    assert predicted(9, K=0).seconds > H200.launch_seconds
    assert predicted(1, M=0).seconds == pytest.approx(H200.launch_seconds + SIZE["N"] * 4096 * 2 / 4.27e12)
