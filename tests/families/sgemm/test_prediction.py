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
TALL: dict[str, Any] = {"thread": {"m": 8, "n": 16}, "warps": {"m": 2, "n": 4}}
SMALL: dict[str, Any] = {"thread": {"m": 8, "n": 8}, "warps": {"m": 2, "n": 2}, "stages": 4}
SQUARE: dict[str, Any] = {"thread": {"m": 8, "n": 8}, "warps": {"m": 2, "n": 4}, "tile_k": 16, "stages": 4}
MANY: dict[str, Any] = {"thread": {"m": 8, "n": 8}, "warps": {"m": 4, "n": 4}, "tile_k": 16, "stages": 4}
ALL: dict[str, Any] = {"specialise": "none", "tile_k": 16, "stages": 3}
PROBLEMS = ((4096, 4096, 4096), (1024, 1024, 1024), (2048, 2048, 2048), (4000, 5000, 3000))
#: Microseconds at those problems on NVIDIA H200 (driver 580.159.04, torch 2.11, L2 flushed before each of 50 launches,
#: medians).
MEASURED: list[tuple[Plan, tuple[float, ...]]] = [
    (legal(**WIDE), (2358.9, 154.8, 303.3, 2168.3)),
    (legal(tile_k=64, **WIDE), (2332.6, 153.2, 300.1, 2143.7)),
    (legal(unroll=4, **WIDE), (2405.9, 157.6, 308.8, 2211.5)),
    (legal(lane_order="plain", **WIDE), (2426.3, 159.1, 311.5, 2228.9)),
    (legal(lane_order="interleaved", **WIDE), (2505.1, 163.7, 321.4, 2300.7)),
    (legal(tile_k=16, stages=6, **WIDE), (2431.1, 159.1, 312.1, 2233.3)),
    (legal(raster="n", **TALL), (2353.4, 154.8, 303.0, 2164.8)),
    (legal(**MANY, **WIDE), (2602.7, 168.0, 331.9, 2400.8)),
    (legal(**ALL, **WIDE), (2627.1, 170.5, 336.2, 2430.1)),
    (legal(**SMALL, **WIDE), (2759.8, 50.8, 353.9, 2540.3)),
    (legal(**SQUARE, **WIDE), (2641.2, 89.9, 338.4, 2430.0)),
    (legal(**SQUARE, ctas_per_sm=2, **WIDE), (2534.4, 91.5, 324.2, 2328.1)),
    (legal(warps={"m": 2, "n": 2}, tile_k=16, stages=4, ctas_per_sm=2, **WIDE), (2438.7, 91.4, 312.9, 2242.3)),
    (legal("k", **WIDE), (2677.8, 174.4, 342.4, 2461.3)),
    (legal("k", **TALL, **WIDE), (2505.9, 164.7, 322.4, 2305.4)),
    (legal("m", "k", producer_warps=2, **WIDE), (2501.7, 164.6, 323.3, 2301.4)),
    (legal("k", "k", **WIDE), (2861.3, 186.3, 367.2, 2629.2)),
]
#: Of a time. The largest error is 3.5 %, of two CTAs of eight warps on an SM.
TOLERANCE = 0.04


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
    [("HERTZ", 0.95), ("ISSUED", 1.05), ("PER_STAGE", 3), ("PER_STAGE_OF_ALL", 15), ("PER_COPY", 2.0),
     ("STAGE_LATENCY", 3), ("BLOCK_LATENCY", 40), ("TILE_LATENCY", 3), ("VECTOR_LATENCY", 0.5), ("VECTOR_LATENCY", 1.5),
     ("SHARED_READ", 0.2), ("SHARED_READ", 2), ("PER_BLOCK", 8)],
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
    sharing = TARGET.predict(legal(lane_order="interleaved"), {"M": 4096, "N": 4096, "K": 4096, "L": 1})
    assert found.clocks["shared memory"] > 1.6 * sharing.clocks["shared memory"]
    assert found.seconds < 0.97 * sharing.seconds
    assert "nothing to compute" in explain(legal(), {"M": 0, "N": 1, "K": 1, "L": 1})
