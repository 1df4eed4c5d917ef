"""Predicted times of GEMMs for sm_100a: what a plan says of itself reaches the clock model, and the reader is told that
it is a model's."""

from __future__ import annotations

from typing import Any

import pytest

from warpwright import archs
from warpwright.archs import B200
from warpwright.families import target
from warpwright.families.gemm import models
from warpwright.families.gemm.sm_100a.clocks import Shape
from warpwright.families.gemm.sm_100a.prediction import shape_of
from warpwright.plan import plan
from warpwright.plan.advice import advise
from warpwright.plan.advice_text import advice_text
from warpwright.plan.explanation import explain
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan
from warpwright.point import Point

SQUARE = {"M": 8192, "N": 8192, "K": 8192, "L": 1}


def gemm(dtype: str = "f16", kernel: dict[str, Any] | None = None, **design: Any) -> Plan:
    """A plan of these choices; one CTA of 128 x 256 where none is given."""
    operands = {name: {"dtype": dtype, "major": "k"} for name in "ab"}
    what = {"arch": "sm_100a", **operands, "d": {"dtype": "f16", "major": "n"}, **(kernel or {})}
    how = {"tile": {"m": 128, "n": 256, "k": 64}, **design}
    point = Point("gemm", "sm_100a", models.Kernel.model_validate(what, strict=False),
                  models.Design.model_validate(how, strict=False))  # fmt: skip
    return plan(point)


PAIR = {"cta_group": 2, "cluster": {"m": 2}}


def predicted(found: Plan, **extents: int) -> Prediction:
    return target("gemm", "sm_100a").predict(found, {**SQUARE, **extents})


def test_what_the_plan_says_is_what_the_model_reads() -> None:
    alone = shape_of(gemm())
    assert alone == Shape(128, 256, 64, stages=4, accumulator_stages=2, persistent=True)
    two = gemm(tile={"m": 256, "n": 256, "k": 64}, **PAIR, scheduler={"kind": "dynamic"})
    assert shape_of(two) == Shape(
        256, 256, 64, cta_group=2, cluster_m=2, stages=4, consumers=2, epilogue_warps=8, persistent=True
    )
    assert not shape_of(gemm(scheduler={"kind": "one_tile"})).persistent
    beta = {"c": {"dtype": "f16", "major": "n"}, "epilogue": [{"op": "beta_c"}]}
    assert shape_of(gemm(kernel=beta, tile={"m": 128, "n": 128, "k": 64})).written == 4  # C is read beside
    assert shape_of(gemm("e4m3", tile={"m": 128, "n": 128, "k": 128})).bits == 8


def test_scales_come_with_what_they_scale() -> None:
    """A byte for 16 elements of 4 bits: an eighth more to load, in the ring and from DRAM."""
    tile = {"m": 128, "n": 128, "k": 256}
    scaled = shape_of(gemm("nvf4", tile=tile))
    assert (scaled.bits, scaled.block, scaled.scale_bytes) == (4, 16, 256 // 16 * (128 + 128))
    assert scaled.stage_bytes == 1.125 * 256 // 2 * (128 + 128)
    assert scaled.element_bytes == 0.5 * 1.125
    assert shape_of(gemm()).scale_bytes == 0
    assert predicted(gemm("nvf4", tile=tile)).seconds > 1.05 * predicted(gemm("mxf4", tile=tile)).seconds


def test_each_of_what_blackwell_adds_is_worth_something() -> None:
    """A pair, which loads half of B; a second accumulator, which hides the epilogue; a wider cluster; 8 bits."""
    times = {
        "one accumulator": predicted(gemm(accumulator_stages=1)).seconds,
        "two accumulators": predicted(gemm()).seconds,
        "pair": predicted(gemm(**PAIR)).seconds,
        "two consumers": predicted(gemm(tile={"m": 256, "n": 256, "k": 64}, **PAIR)).seconds,
        "cluster": predicted(gemm(cta_group=2, cluster={"m": 4})).seconds,
        "8 bits": predicted(gemm("e4m3", tile={"m": 128, "n": 256, "k": 128}, cta_group=2, cluster={"m": 4})).seconds,
    }
    assert list(times.values()) == sorted(times.values(), reverse=True), times
    assert times["8 bits"] > 2 * 8192**3 / (B200.sms * B200.hertz * B200.flop_of(8))


def test_no_prediction_beats_the_data_sheet() -> None:
    for found in (gemm(**PAIR), gemm(cta_group=2, cluster={"m": 4, "n": 2}), gemm("bf16")):
        for size in (512, 4096, 65536):
            assert 0 < predicted(found, M=size, N=size).speed < 2250


@pytest.mark.parametrize("empty", ["M", "N", "L", "K"])
def test_nothing_to_multiply_costs_what_is_read_or_written(empty: str) -> None:
    """Without K, D is still written."""
    found = predicted(gemm(), **{empty: 0})
    assert found.seconds < (80e-6 if empty == "K" else 40e-6)
    assert (found.counts["tile"] == 0) == (empty != "K")


def test_an_illegal_plan_has_no_time() -> None:
    with pytest.raises(ValueError, match="illegal"):
        predicted(gemm(stages=99))


def test_the_reader_is_told_that_it_is_a_model_s() -> None:
    found = gemm(**PAIR)
    text = explain(found, SQUARE)
    assert "Predicted time of 8192x8192x8192 on NVIDIA B200" in text
    assert "no Blackwell device has run this kernel" in text
    told = advise(found, SQUARE)
    assert told.phases is not None
    assert told.phases.overlapped(B200, told.phases.stages, 1) == pytest.approx(told.predicted.seconds)
    assert "NVIDIA B200" in advice_text(found, told)


def test_no_more_ctas_are_advised_than_have_columns_of_tensor_memory() -> None:
    """256 columns of 512: two share an SM at most, however little shared memory each has."""
    found = advise(gemm(**PAIR, accumulator_stages=1), SQUARE)
    assert max(way.resident for way in found.alternatives) == 2
    assert max(way.resident for way in advise(gemm(**PAIR), SQUARE).alternatives) == 1


def test_archs_without_a_device_of_their_own_are_told_for_the_nearest() -> None:
    assert {archs.device(name).name for name in ("sm_100a", "sm_103a", "sm_110a")} == {"NVIDIA B200"}
