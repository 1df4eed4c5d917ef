"""Predicted times: near what was measured, in the same order, and never faster than what bounds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.families.norm_act.points import legal, planned
from warpwright.archs import H200
from warpwright.families import target
from warpwright.families.norm_act.sm_90a import prediction
from warpwright.plan.explanation import explain
from warpwright.plan.prediction import Prediction

TARGET = target("norm_act", "sm_90a")
LARGE = {"M": 32768, "N": 4096}
ROWS = {1024: 65536, 4096: 32768, 8192: 16384, 16384: 8192, 65536: 2048}
NONE, PRE = {"specialise": "none"}, {"specialise": "preprocess"}
ONCE = {**NONE, "persistent": False}
AHEAD = {**ONCE, "groups": 1}
SHARED = {"scales": "shared"}
LONG = {"warps_per_row": 16, "groups": 1}

#: Columns, microseconds on NVIDIA H200 (driver 580.159.04, torch 2.11, L2 flushed before each of 50 launches, medians),
#: and the variant.
MEASURED: list[tuple[int, float, dict[str, Any]]] = [
    (4096, 145.3, {**NONE, "groups": 1, "ctas_per_sm": 4}),
    (4096, 160.8, {**ONCE, "groups": 1, "ctas_per_sm": 5}),
    (4096, 146.1, {**NONE, **SHARED, "groups": 1, "ctas_per_sm": 5}),
    (4096, 149.2, {"groups": 1, "ctas_per_sm": 3, "stages": 4}),
    (4096, 170.0, {"groups": 3, "stages": 6}),
    (4096, 158.1, {"groups": 4, "reallocate": True, "stages": 8}),
    (4096, 145.5, {**SHARED, "groups": 4, "reallocate": True, "stages": 8}),
    (4096, 145.6, {**SHARED, "groups": 6, "reallocate": True, "stages": 12}),
    (4096, 166.3, {**PRE, "groups": 2, "producer_warps": 8, "producer_groups": 2, "stages": 4}),
    (4096, 233.0, {**PRE, "groups": 3, "stages": 3}),
    (1024, 74.4, {**NONE, "warps_per_row": 1, "groups": 4, "ctas_per_sm": 4}),
    (1024, 79.0, {**ONCE, "warps_per_row": 1, "groups": 4, "ctas_per_sm": 5}),
    (1024, 111.0, {**PRE, "warps_per_row": 1, "groups": 12, "producer_groups": 4, "stages": 12}),
    (1024, 178.2, {**PRE, "warps_per_row": 1, "groups": 14, "producer_warps": 2, "producer_groups": 2, "stages": 28}),
    (1024, 84.4, {**PRE, "warps_per_row": 1, "groups": 8, "producer_warps": 8, "producer_groups": 8, "stages": 16}),
    (1024, 99.6, {"warps_per_row": 1, "groups": 12, "stages": 36}),
    (1024, 98.8, {"warps_per_row": 1, "groups": 16, "reallocate": True, "stages": 32}),
    (1024, 73.2, {**SHARED, "warps_per_row": 1, "groups": 20, "producer_groups": 4, "reallocate": True, "stages": 40}),
    (1024, 75.7, {"warps_per_row": 1, "groups": 4, "ctas_per_sm": 3, "stages": 12}),
    (16384, 264.1, {**ONCE, "warps_per_row": 16, "groups": 1}),
    (16384, 286.1, {**ONCE, "warps_per_row": 32, "groups": 1}),
    (16384, 156.9, {"groups": 1, "reallocate": True, "warps_per_row": 16, "stages": 2}),
    (16384, 158.8, {**NONE, **SHARED, "warps_per_row": 16, "groups": 1}),
    (16384, 157.6, {**SHARED, "reallocate": True, "warps_per_row": 8, "groups": 2, "stages": 2}),
    (8192, 146.3, {**NONE, "warps_per_row": 8, "groups": 1, "ctas_per_sm": 2}),
    (8192, 169.4, {**PRE, "warps_per_row": 8, "groups": 1, "producer_warps": 8, "stages": 2}),
    (8192, 162.6, {"reallocate": True, "warps_per_row": 8, "groups": 2, "stages": 4}),
    (8192, 148.1, {**SHARED, "reallocate": True, "groups": 4, "stages": 8}),
    (4096, 134.2, {**AHEAD, "ctas_per_sm": 5, "rows_per_group": 2}),
    (4096, 135.6, {**AHEAD, "ctas_per_sm": 5, "rows_per_group": 3}),
    (1024, 70.1, {**AHEAD, "warps_per_row": 2, "ctas_per_sm": 16, "rows_per_group": 3}),
    (1024, 70.9, {**AHEAD, "warps_per_row": 1, "ctas_per_sm": 20, "rows_per_group": 2}),
    (8192, 137.4, {**AHEAD, "ctas_per_sm": 3, "rows_per_group": 3}),
    (8192, 135.1, {**AHEAD, "ctas_per_row": 2, "ctas_per_sm": 5, "rows_per_group": 3}),
    (8192, 137.0, {**AHEAD, "ctas_per_row": 2, "ctas_per_sm": 5, "rows_per_group": 4}),
    (16384, 142.5, {**AHEAD, "ctas_per_row": 4, "ctas_per_sm": 5, "rows_per_group": 4}),
    (16384, 142.3, {**AHEAD, "ctas_per_row": 4, "ctas_per_sm": 5, "rows_per_group": 5}),
    (65536, 158.2, {**AHEAD, "ctas_per_row": 8, "ctas_per_sm": 3, "rows_per_group": 3}),
    (65536, 404.8, {**AHEAD, "ctas_per_row": 8, "rows_per_group": 3, "x": "f32", "y": "f32", "residual": True}),
    (4096, 205.9, {**AHEAD, "x": "f32", "activation": "gelu_erf", "ctas_per_sm": 4, "rows_per_group": 3}),
    (4096, 133.5, {**AHEAD, "x": "f16", "y": "f16", "norm": "rms", "weight": "f16", "bias": None, "activation": "silu",
                   "warps_per_row": 8, "ctas_per_sm": 4, "rows_per_group": 2}),
    (65536, 192.9, {**LONG, "row": "shared", "reallocate": True, "stages": 12}),
    (65536, 197.8, {**LONG, "row": "shared", "stages": 12}),
    (65536, 237.8, {**LONG, "row": "streamed", "stages": 12}),
    (65536, 254.5, {**LONG, "row": "streamed", "stages": 4}),
    (65536, 269.3, {**LONG, **NONE, "row": "shared"}),
    (65536, 271.2, {**LONG, **NONE, "row": "shared", "warps_per_row": 32}),
    (65536, 284.2, {**LONG, **NONE, "row": "streamed", "warps_per_row": 32}),
    (65536, 899.0, {**LONG, "row": "streamed", "stages": 2, "x": "f32", "y": "f32", "residual": True}),
    (4096, 279.3, {"y": "f32", "residual": True, "weight": "f32", "bias": "f32", "activation": "relu",
                   "warps_per_row": 8, "groups": 1, "stages": 4}),
    (4096, 145.5, {"x": "f16", "y": "f16", "norm": "rms", "weight": "f16", "bias": None, "activation": "silu",
                   "groups": 3, "stages": 9}),
    (4096, 262.9, {**ONCE, "x": "f32", "y": "f32", "norm": "rms", "weight": None, "bias": None,
                   "activation": "identity", "warps_per_row": 8, "groups": 1, "ctas_per_sm": 3}),
    (4096, 271.4, {**PRE, "x": "f32", "activation": "gelu_erf", "warps_per_row": 8, "producer_warps": 8, "groups": 1}),
]  # fmt: skip
#: Of a time.
TOLERANCE = 0.13


def predicted(extents: dict[str, int] = LARGE, **choices: Any) -> Prediction:
    return TARGET.predict(legal(**choices), extents)


def ratios() -> list[float]:
    """Predicted over measured."""
    return [1e6 * predicted({"M": ROWS[n], "N": n}, columns=n, **choices).seconds / us for n, us, choices in MEASURED]


def test_predictions_are_near_what_was_measured_and_rank_alike() -> None:
    found = np.array(ratios())
    assert abs(found - 1).max() < TOLERANCE, list(zip(found.round(3), MEASURED, strict=True))
    measured = np.array([us for _, us, _ in MEASURED])
    ranks = [np.argsort(np.argsort(times)) for times in (measured, measured * found)]
    assert np.corrcoef(*ranks)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("constant", "wrong"),
    [("ROW", 0.5e-6), ("ROW_ELEMENT", 0.04e-6), ("ROW_WARP", 0.1e-6), ("PRODUCED", 0.6e-6), ("PRODUCED_ELEMENT", 2e-8),
     ("ONCE", 1.5e-6), ("ALONE", 0.0), ("ISSUED", 0.3e-6), ("LOST", 0.3), ("LOST_AHEAD", 0.3),
     ("EXCHANGED", 0.2e-6), ("STEP", 0.5e-6), ("STEP_OWN", 0.3e-6),
     ("_PER_ROW", 300), ("_SAVED", -2.0), ("CLOCK", 1.5e9)],
)  # fmt: skip
def test_a_wrong_constant_shows(monkeypatch: pytest.MonkeyPatch, constant: str, wrong: float) -> None:
    monkeypatch.setattr(prediction, constant, wrong)
    assert max(abs(ratio - 1) for ratio in ratios()) > TOLERANCE


def test_nothing_is_faster_than_dram() -> None:
    for specialise in ("none", "tma", "preprocess"):
        for groups in (1, 2, 3):
            found = predicted(specialise=specialise, groups=groups)
            assert found.seconds >= 4 * 32768 * 4096 / 4.27e12
    assert predicted().counts == {"row": 32768, "CTA": 132, "round": 249}
    assert predicted(activation="identity", weight=None, bias=None, norm="rms").bound == "DRAM"


@pytest.mark.parametrize(
    ("few", "more", "bound"),
    [
        ({"groups": 1}, {"groups": 3}, "groups"),
        ({**PRE, "producer_warps": 4}, {**PRE, "producer_warps": 8, "producer_groups": 2, "groups": 2}, "producers"),
        ({"columns": 1024, "warps_per_row": 1, "groups": 12}, {"columns": 1024, "warps_per_row": 1, "groups": 4,
                                                              "ctas_per_sm": 3}, "issue of loads"),
        ({"groups": 4, "reallocate": True, "activation": "gelu_erf"}, {"groups": 4, "reallocate": True}, "groups"),
    ],
)  # fmt: skip
def test_what_is_short_bounds(few: dict[str, Any], more: dict[str, Any], bound: str) -> None:
    n = few.get("columns", 4096)
    less = predicted({"M": 32768, "N": n}, **few)
    assert less.bound == bound
    assert less.seconds > predicted({"M": 32768, "N": n}, **more).seconds


def test_larger_problems_are_never_predicted_faster() -> None:
    by_size = [predicted({"M": m, "N": 4096}).seconds for m in (0, 1, 132, 133, 2**12, 2**15)]
    assert by_size == sorted(by_size)
    assert by_size[0] == H200.launch_seconds
    by_columns = [predicted({"M": 4096, "N": n}).seconds for n in (0, 1, 100, 2048, 4096)]
    assert by_columns == sorted(by_columns)
    by_stages = [predicted(groups=1, stages=s).seconds for s in (2, 3, 4, 8, 16)]
    assert by_stages == sorted(by_stages, reverse=True)


@pytest.mark.parametrize("stages", [2, 4, 9])
@pytest.mark.parametrize("ctas", [1, 2, 3])
def test_a_load_takes_its_time_whoever_else_waits(stages: int, ctas: int) -> None:
    """That an SM has so many rows on their way is told once: by stages and CTAs, not by what one load takes."""
    plan = legal(groups=1, stages=stages, ctas_per_sm=ctas)
    assert TARGET.phases is not None
    told = TARGET.phases(plan, LARGE)
    assert told is not None
    assert told.latency == pytest.approx(prediction.LOAD_LATENCY * prediction.CLOCK)
    clocks = TARGET.predict(plan, LARGE).clocks["load latency"]
    assert clocks == pytest.approx(told.latency / (stages * ctas) + told.queued)


@pytest.mark.parametrize(
    ("choices", "bytes_of_an_element"),
    [
        ({"columns": 16384, "reallocate": True}, 2 + 2),  # weight and bias are held
        ({"columns": 16384, "reallocate": True, "residual": True, "y": "f32", "stages": 2}, 2 + 2 + 4),
        ({"columns": 65536, "row": "shared"}, 2 + 2 + 2 + 2),  # x, weight, bias, y
        ({"columns": 65536, "row": "shared", "weight": "f32", "bias": None}, 2 + 4 + 2),
        ({"columns": 65536, "row": "streamed"}, 3 * 2 + 2 + 2 + 2),  # for its mean, its variance and y
        ({"columns": 65536, "row": "streamed", "norm": "rms", "x": "f32", "residual": True}, 2 * 8 + 2 + 2 + 2),
    ],
)
def test_what_l2_serves_of_a_row(choices: dict[str, Any], bytes_of_an_element: int) -> None:
    n = choices["columns"]
    found = predicted({"M": 2048, "N": n}, **LONG, **choices)
    assert found.clocks["L2"] == pytest.approx(n * bytes_of_an_element / H200.l2_bytes_per_clock)


def test_an_illegal_plan_has_no_time_and_nothing_takes_none() -> None:
    with pytest.raises(ValueError, match="illegal"):
        TARGET.predict(planned(stages=1), LARGE)
    assert "nothing to compute" in explain(legal(), {"M": 0, "N": 5})
