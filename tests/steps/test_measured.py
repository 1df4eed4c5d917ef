"""Measured timelines as a page shows them: read from what `diagnose --trace` writes, and a stretch of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from warpwright.diagnosis.spans import Span as Stamped
from warpwright.diagnosis.spans import Trace
from warpwright.diagnosis.timeline import perfetto
from warpwright.plan.step import Span
from warpwright.steps.measured import TimelineError, measured, stretch


@pytest.fixture
def trace() -> dict[str, Any]:
    spans = (
        Stamped("load", "producer", 4, 1000, 1500, "ab stage 0", 0),
        Stamped("load", "producer", 4, 1010, 1600, "ab stage 1", 1),
        Stamped("wait", "consumer 0", 0, 1000, 1500, "ab_full[0]", 0),
        *(Stamped("compute", "consumer 0", warp, 1500 + warp, 1900, "ab stage 0", 0) for warp in range(4)),
        *(Stamped("store", "consumer 0", warp, 1900, 2300 + warp, "epilogue", 1) for warp in (1, 0)),
    )
    return perfetto(Trace(0, spans, ()), "it-0123", "measured")


def test_loads_are_told_by_stage_and_a_role_by_its_first_warp(trace: dict[str, Any]) -> None:
    found = measured(trace, "it-0123")
    assert found.source == "measured"
    assert found.spans == (
        Span("stage 0", "load", 0, 500),
        Span("stage 1", "load", 10, 600),
        Span("consumer 0", "compute", 500, 900),
        Span("consumer 0", "store", 900, 1300),
    )


def test_what_it_was_measured_with_is_told(trace: dict[str, Any]) -> None:
    trace["otherData"] |= {"unit": "1 us is one clock (measured on a GPU)", "problem": "64x64x64"}
    assert measured(trace, "it-0123").source == "measured on a GPU, 64x64x64"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t["otherData"].update(kernel="another"), "it is of another"),
        (lambda t: t["otherData"].update(unit="1 us is one clock (modelled)"), "modelled, not measured"),
        (lambda t: t["otherData"].pop("kernel"), "no trace"),
        (lambda t: t.update(traceEvents=7), "no trace"),
        (lambda t: t.update(traceEvents=[]), "nothing was loaded"),
        (lambda t: t["traceEvents"][-1].update(dur="long"), "no trace"),
        (lambda t: t["traceEvents"][-1].update(tid=77), "no trace"),
        *(
            (lambda t, name=name, value=value: t["traceEvents"][-1].update({name: value}), "is no number of clocks")
            for name, value in (("dur", -1), ("dur", 0.5), ("ts", "nan"), ("ts", "inf"), ("ts", True), ("ts", None))
        ),
        (lambda t: t["otherData"].update(unit="not measured, drawn"), "modelled, not measured"),
    ],
)
def test_what_is_no_measured_timeline_is_named(trace: dict[str, Any], change: Any, why: str) -> None:
    spoilt = deepcopy(trace)
    change(spoilt)
    with pytest.raises(TimelineError, match=why):
        measured(spoilt, "it-0123")
    with pytest.raises(TimelineError):
        measured([], "it-0123")


def test_a_stretch_has_the_first_store_in_its_middle() -> None:
    steps = tuple(Span("stage 0", "load", at, at + 100) for at in range(1000, 3000, 100))
    spans = (*steps, Span("consumer 0", "store", 2000, 2050))
    found = stretch(spans, 400)
    assert (found[0].start, max(span.end for span in found)) == (1800, 2200)
    assert sum(span.kind == "load" for span in found) == 4
    cut = stretch(spans, 350)
    assert (cut[0].start, cut[0].end) == (1825, 1900)  # one that is only partly in it
    assert stretch(steps, 250)[0].start == 1000  # without a store, the first
    assert stretch(spans, 10_000) == spans


@pytest.mark.parametrize("clocks", [150.0, 400.0, 2000.0])
@pytest.mark.parametrize("at", range(1000, 3000, 100))
def test_a_stretch_is_as_long_as_it_is_asked_to_be(at: int, clocks: float) -> None:
    """Wherever the first store is, also near an end."""
    steps = [Span("stage 0", "load", start, start + 100) for start in range(1000, 3000, 100)]
    found = stretch((*steps, Span("consumer 0", "store", at, at + 50)), clocks)
    begin, end = min(span.start for span in found), max(span.end for span in found)
    assert 1000 <= begin <= at < end <= 3000
    assert end - begin == clocks
    assert (at - begin == clocks / 2) or begin == 1000 or end == 3000
