"""Predicted times: near what was measured, in the same order, and never faster than what bounds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.families.copy.points import legal
from warpwright.archs import H200
from warpwright.families import target
from warpwright.families.copy.sm_90a import prediction
from warpwright.plan.explanation import explain

TARGET = target("copy", "sm_90a")

#: Microseconds of 2^28 elements on NVIDIA H200 (driver 580.159.04, torch 2.11, L2 flushed before each of 50 launches,
#: medians): x, y, KiB of a stage, stages, CTAs per SM, way out; four consumer warps.
MEASURED = [
    ("f16", "f16", 2, 2, 1, "tma", 763.1),
    ("f16", "f16", 4, 2, 1, "direct", 477.7),
    ("f16", "f16", 4, 3, 1, "direct", 375.0),
    ("f16", "f16", 4, 4, 1, "tma", 342.6),
    ("f16", "f16", 8, 2, 1, "direct", 343.1),
    ("f16", "f16", 4, 2, 2, "direct", 328.5),
    ("f16", "f16", 8, 3, 1, "direct", 303.3),
    ("f16", "f16", 4, 2, 8, "tma", 276.0),
    ("f16", "f16", 8, 4, 4, "tma", 282.6),
    ("f16", "f16", 16, 3, 2, "direct", 273.5),
    ("f16", "f16", 32, 3, 1, "direct", 271.7),
    ("f16", "f16", 4, 4, 4, "tma", 270.2),
    ("f16", "f16", 4, 4, 4, "direct", 266.5),
    ("f16", "bf16", 16, 5, 2, "tma", 274.6),
    ("f16", "f32", 16, 10, 2, "tma", 424.6),
    ("f16", "f32", 16, 14, 2, "direct", 417.4),
    ("f32", "f16", 4, 4, 2, "direct", 405.0),
    ("f32", "f16", 4, 4, 4, "direct", 383.7),
    ("f32", "f32", 16, 5, 2, "tma", 547.5),
    ("f32", "f32", 4, 4, 4, "direct", 533.2),
]
#: Of a time. The largest error of all 129 that the model was fitted to is 8 %.
TOLERANCE = 0.1


def seconds(n: int, *dtypes: str, **design: Any) -> float:
    return TARGET.predict(legal(*dtypes, **design), {"N": n}).seconds


def ratios() -> list[float]:
    """Predicted over measured."""
    return [
        1e6 * seconds(2**28, x, y, stage_bytes=1024 * k, stages=stages, ctas_per_sm=ctas, store=store) / us
        for x, y, k, stages, ctas, store, us in MEASURED
    ]


def test_predictions_are_near_what_was_measured_and_rank_alike() -> None:
    found = np.array(ratios())
    assert abs(found - 1).max() < TOLERANCE, dict(zip(MEASURED, found.round(3), strict=True))
    measured = np.array([row[-1] for row in MEASURED])
    ranks = [np.argsort(np.argsort(times)) for times in (measured, measured * found)]
    assert np.corrcoef(*ranks)[0, 1] > 0.8


@pytest.mark.parametrize(
    ("constant", "wrong"),
    [("LOAD_LATENCY", 0.4e-6), ("LOAD_LATENCY", 0.7e-6), ("LOADED_RATE", 32e9), ("LOADED_RATE", 60e9), ("_LOST", 0.2),
     ("_LOST", -0.05), ("_LOST_TO_TMA", 0.04)],
)  # fmt: skip
def test_a_wrong_constant_shows(monkeypatch: pytest.MonkeyPatch, constant: str, wrong: float) -> None:
    monkeypatch.setattr(prediction, constant, wrong)
    assert max(abs(ratio - 1) for ratio in ratios()) > TOLERANCE


def test_the_default_is_predicted_to_be_as_fast_as_any() -> None:
    default = seconds(2**28)
    others = [
        seconds(2**28, stage_bytes=1024 * k, ctas_per_sm=ctas, store=store)
        for k in (2, 4, 8, 16) for ctas in (1, 2, 3) for store in ("tma", "direct")
    ]  # fmt: skip
    assert default <= min(others)


def test_more_in_flight_is_never_predicted_slower() -> None:
    """Of stages, and of CTAs that store directly; and no design is predicted to be faster than DRAM."""
    for n in (2**20, 2**28):
        by_stages = [seconds(n, stage_bytes=2048, stages=s, ctas_per_sm=1) for s in (2, 3, 4, 8, 16)]
        by_ctas = [seconds(n, stage_bytes=2048, stages=2, ctas_per_sm=c) for c in (1, 2, 4, 8)]
        assert by_stages == sorted(by_stages, reverse=True)
        assert by_ctas == sorted(by_ctas, reverse=True)
        assert min(by_stages[-1], by_ctas[-1]) >= 4 * n / 4.27e12
    by_size = [seconds(n, stage_bytes=2048) for n in (0, 1, 2**12, 2**20, 2**24, 2**28)]
    assert by_size == sorted(by_size)


def test_the_prediction_names_what_bounds() -> None:
    few = TARGET.predict(legal(stage_bytes=2048, stages=2, ctas_per_sm=1), {"N": 2**28})
    assert few.bound == "load latency"
    assert few.notes == ("keeping DRAM busy takes 16 stages per CTA; 2 are too few",)
    enough = TARGET.predict(legal(stage_bytes=2048, stages=16, ctas_per_sm=1), {"N": 2**28})
    short = TARGET.predict(legal(stage_bytes=2048, stages=15, ctas_per_sm=1), {"N": 2**28})
    assert (short.bound, enough.bound) == ("load latency", "DRAM")
    full = TARGET.predict(legal(), {"N": 2**28})
    assert (full.bound, full.rate) == ("DRAM", "TB/s")
    assert 3.9 < full.speed < 4.27
    assert full.counts == {"chunk": 2**17, "CTA": 528, "round": 249}
    assert "nothing to compute" in explain(legal(), {"N": 0})


@pytest.mark.parametrize(("ctas", "needed"), [(1, 16), (2, 8), (4, 4), (8, 2)])
def test_the_ctas_of_an_sm_keep_dram_busy_together(ctas: int, needed: int) -> None:
    """16 stages of 4 KiB, read and written, on each SM."""
    found = TARGET.predict(legal(stage_bytes=2048, stages=needed, ctas_per_sm=ctas, store="direct"), {"N": 2**28})
    assert found.notes == (f"keeping DRAM busy takes {needed} stages per CTA; {needed} are enough",)


def test_what_an_sm_does_with_a_chunk() -> None:
    """2048 elements of f16 by four warps: L2, shared memory, 2.5 instructions an element, 80 clocks around a slice."""
    for store, through_shared in (("direct", 2 * 2), ("tma", 4 * 2)):
        clocks = TARGET.predict(legal(stage_bytes=4096, store=store), {"N": 2**28}).clocks
        assert clocks["L2"] == pytest.approx(2048 * 4 / 46.6)
        assert clocks["shared memory"] == pytest.approx(2048 * through_shared / 128)
        assert clocks["instructions"] == pytest.approx(2048 * (2.5 + 2 * 2 / 16) / 128 + 80)
    eight = TARGET.predict(legal(stage_bytes=4096, consumer_warps=8), {"N": 2**28}).clocks
    assert eight["instructions"] == pytest.approx(2048 * (2.5 + 2 * 2 / 16) / 128 + 160)


def test_of_few_chunks_no_more_are_in_flight_than_there_are() -> None:
    """A load takes 0.56 us, and as long as all that is in flight on its SM takes at 42 GB/s."""
    plan = legal(stage_bytes=4096, stages=8, ctas_per_sm=1)
    for rounds, in_flight in ((1, 1), (3, 3), (20, 8)):
        found = TARGET.predict(plan, {"N": 132 * rounds * 2048})
        load = 1.5e9 * (0.56e-6 + in_flight * 4096 * 2 / 42e9)
        assert found.counts["round"] == rounds
        assert found.clocks["load latency"] == pytest.approx(load / in_flight)


@pytest.mark.parametrize("store", ["direct", "tma"])
def test_ctas_for_which_there_are_no_chunks_share_nothing(store: str) -> None:
    """132 chunks are one on each SM, however many CTAs an SM has room for: one load of 8 KiB, read and written."""
    for ctas in (1, 2, 4):
        found = TARGET.predict(legal(stage_bytes=4096, stages=4, ctas_per_sm=ctas, store=store), {"N": 132 * 2048})
        assert found.counts == {"chunk": 132, "CTA": 132, "round": 1}
        assert found.seconds == pytest.approx(0.56e-6 + 4096 * 2 / 42e9 + H200.launch_seconds), ctas
    # Twice as many are two on each, at once or one after the other.
    two = TARGET.predict(legal(stage_bytes=4096, stages=4, ctas_per_sm=4, store=store), {"N": 2 * 132 * 2048})
    assert two.seconds == pytest.approx(0.56e-6 + 2 * 4096 * 2 / 42e9 + H200.launch_seconds)
