"""Faults of Blackwell's kernels that few launches show: where tensor memory begins, sums beyond float32's integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.emulate.planting import Planter, cases, planter
from warpwright.families.gemm import models
from warpwright.plan import plan as plan_point
from warpwright.plan.types import Plan
from warpwright.point import Point

BASE = "tensor_accumulators(tensor_base)"
ZERO = "tensor_accumulators(cute.make_ptr(Float32, 0, cute.AddressSpace.tmem, assumed_align=16))"


@pytest.fixture(scope="module")
def tensor_plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planter]:
    with planter(tmp_path_factory.mktemp("planted"), "sm_100a") as made:
        yield made


def planned(dtype: str, d: str, depth: int, also: Mapping[str, Any] | None = None, **given: Any) -> Plan:
    kernel: dict[str, Any] = {"arch": "sm_100a", **{x: {"dtype": dtype, "major": "k"} for x in "ab"}, **(also or {})}
    kernel["d"] = {"dtype": d, "major": "n"}
    design = {"tile": {"m": 128, "n": 64, "k": depth}, "stages": 3, **given}
    made = models.Kernel.model_validate(kernel, strict=False), models.Design.model_validate(design, strict=False)
    return plan_point(Point("gemm", "sm_100a", *made))


@pytest.mark.slow
def test_tensor_memory_need_not_begin_at_column_0(tensor_plant: Planter) -> None:
    assert "ragged" in cases(tensor_plant, planned("f16", "f16", 64), (BASE, ZERO))


@pytest.mark.slow
def test_sums_of_integers_are_beyond_those_of_float32(tensor_plant: Planter) -> None:
    edit = ("x = sums.load()", "x = sums.load().to(cutlass.Float32).to(Int32)")
    assert cases(tensor_plant, planned("i8", "i32", 128), edit) == {"k_long"}


@pytest.mark.slow
def test_tiles_that_are_handed_out_go_round_their_ring_more_than_twice(tensor_plant: Planter) -> None:
    wait = "cute.arch.mbarrier_wait(tile_taken + ask_state.index, ask_state.phase)"
    edit = (wait, f"if ask_state.count < 2 * TILE_STAGES:\n                {wait}")
    plan = planned("f16", "f16", 64, scheduler={"kind": "dynamic"})
    assert cases(tensor_plant, plan, edit) == {"walk"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "case"),
    [
        ("x = x * alpha", "x = cute.where(cute.full_like(x, alpha) == 0.0, 0.0, x * alpha)", "alpha_zero"),
        ("beta != 0.0", "Int32(beta) != 0", "beta_tiny"),
        ("beta != 0.0", "beta * beta != 0.0", "beta_tiny"),
    ],
    ids=["0 times NaN is 0", "less than 1 is 0", "a square of 0 is that of 0"],
)
def test_scalars_that_are_zero_or_nearly(tensor_plant: Planter, old: str, new: str, case: str) -> None:
    chain: Any = {"epilogue": ["alpha", "beta_c"], "c": {"dtype": "f16", "major": "n"}}
    assert case in cases(tensor_plant, planned("f16", "f16", 64, chain), (old, new))
