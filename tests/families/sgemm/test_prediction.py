"""Predicted times: near what was measured, in the same order, and never faster than what bounds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.families.sgemm.points import legal
from warpwright.families import target
from warpwright.families.sgemm.sm_90a import prediction
from warpwright.plan.explanation import explain
from warpwright.plan.types import Plan

TARGET = target("sgemm", "sm_90a")
WIDE: dict[str, Any] = {"group": 4}
TALL: dict[str, Any] = {"thread": {"m": 8, "n": 16}, "warps": {"m": 2, "n": 4}, "group": 4}
SMALL: dict[str, Any] = {"thread": {"m": 8, "n": 8}, "warps": {"m": 2, "n": 2}, "group": 4}
ALL: dict[str, Any] = {"specialise": "none", "tile_k": 16, "stages": 3, "group": 4}
PROBLEMS = ((4096, 4096, 4096), (1024, 1024, 1024), (2048, 2048, 2048), (4000, 5000, 3000))
#: Microseconds at those problems on NVIDIA H200 (driver 580.159.04, torch 2.11, L2 flushed before each of 50 launches,
#: medians).
MEASURED: list[tuple[Plan, tuple[float, ...]]] = [
    (legal(**WIDE), (2503.1, 164.3, 323.1, 2300.6)),
    (legal(unroll=4, **WIDE), (2542.1, 167.0, 327.7, 2337.2)),
    (legal(tile_k=16, stages=6, **WIDE), (2563.2, 167.6, 330.1, 2356.5)),
    (legal(**TALL), (2499.3, 164.2, 323.3, 2300.0)),
    (legal(**SMALL), (2917.5, 53.3, 376.1, 2684.2)),
    (legal(**ALL), (2742.2, 178.4, 351.8, 2540.5)),
    (legal("k", **WIDE), (3559.2, 231.2, 454.8, 3272.4)),
    (legal("k", "k", **WIDE), (3626.8, 235.7, 464.7, 3334.3)),
    (legal("m", "k", **WIDE), (2692.0, 177.1, 347.7, 2476.3)),
]
#: Of a time. The largest error is 2.4 %, of two K-major operands.
TOLERANCE = 0.03


def seconds(plan: Plan, m: int, n: int, k: int, batches: int = 1) -> float:
    return TARGET.predict(plan, {"M": m, "N": n, "K": k, "L": batches}).seconds


def ratios() -> np.ndarray:
    """Predicted over measured, a row for each plan."""
    return np.array([[1e6 * seconds(plan, *problem) / us for problem, us in zip(PROBLEMS, times, strict=True)]
                     for plan, times in MEASURED])  # fmt: skip


def test_predictions_are_near_what_was_measured_and_rank_alike() -> None:
    found = ratios()
    assert abs(found - 1).max() < TOLERANCE, found.round(3)
    measured = np.array([times for _, times in MEASURED])
    for at in range(len(PROBLEMS)):
        ranks = [np.argsort(np.argsort(times[:, at])) for times in (measured, measured * found)]
        assert np.corrcoef(*ranks)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("constant", "factor"),
    [("HERTZ", 0.96), ("ISSUED", 1.04), ("PER_STAGE", 3), ("PER_STAGE_OF_ALL", 0.4), ("PER_COPY", 2.0),
     ("STAGE_LATENCY", 5), ("BLOCK_LATENCY", 4), ("TILE_LATENCY", 3), ("A_ALONG_K", 1.05), ("B_ALONG_K", 0.95),
     ("PER_BLOCK", 4)],
)  # fmt: skip
def test_a_wrong_constant_shows(monkeypatch: pytest.MonkeyPatch, constant: str, factor: float) -> None:
    monkeypatch.setattr(prediction, constant, factor * getattr(prediction, constant))
    assert abs(ratios() - 1).max() > TOLERANCE


def test_nothing_is_predicted_faster_than_all_ffma_units() -> None:
    peak = 132 * 128 * 2 * 1.98e9
    for plan, _ in MEASURED:
        for m, n, k in (*PROBLEMS, (16384, 16384, 16384), (1, 1, 100_000), (100_000, 1, 1)):
            assert seconds(plan, m, n, k) > 2 * m * n * k / peak
            moved = 4 * (m * k + k * n + m * n)
            assert seconds(plan, m, n, k) >= moved / 4.27e12


def test_more_work_takes_longer_and_a_batch_is_so_many_tiles() -> None:
    plan = legal()
    by_depth = [seconds(plan, 4096, 4096, k) for k in (0, 1, 64, 1024, 4096)]
    assert by_depth == sorted(by_depth)
    assert seconds(plan, 256, 128, 4096, 132) == pytest.approx(seconds(plan, 256 * 132, 128, 4096))
    assert seconds(plan, 256, 128, 4096, 132) == pytest.approx(seconds(plan, 256, 128, 4096))
    assert seconds(plan, 256, 128, 4096, 133) > 1.9 * seconds(plan, 256, 128, 4096, 132)


def test_the_prediction_names_what_bounds() -> None:
    found = TARGET.predict(legal(), {"M": 4096, "N": 4096, "K": 4096, "L": 1})
    assert (found.bound, found.rate) == ("FFMA issue", "TFLOP/s")
    assert found.counts == {"tile": 512, "CTA": 132, "wave": 4}
    assert found.notes == ("512 tiles keep 132 SMs busy for 97% of the time",)
    few = TARGET.predict(legal(**SMALL), {"M": 1024, "N": 1024, "K": 1024, "L": 1})
    assert (few.bound, few.counts["tile"]) == ("latency of a warp", 128)
    plain = TARGET.predict(legal(lane_order="plain"), {"M": 4096, "N": 4096, "K": 4096, "L": 1})
    assert plain.clocks["shared memory"] > 1.4 * found.clocks["shared memory"]
    assert "nothing to compute" in explain(legal(), {"M": 0, "N": 1, "K": 1, "L": 1})
