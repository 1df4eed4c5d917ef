"""Bugs in tile order, edges, and at the ends of the number range, planted in kernels: each needs a case of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulate.plans import gemm_plan
from tests.emulate.planting import Planter, cases
from tests.families.copy.points import point as copy_point
from warpwright.plan import plan as plan_point

SMALL: dict[str, Any] = {"design.tile": {"m": 64, "n": 64, "k": 64}, "design.consumer_warps": 4}
PINGPONG: dict[str, Any] = {"design.tile": {"m": 64, "n": 32, "k": 64}, "design.schedule": "pingpong"}
M_MAJOR: dict[str, Any] = {
    **SMALL,
    "design.tile": {"m": 128, "n": 32, "k": 64},
    "kernel.d": {"dtype": "f32", "major": "m"},
}
READS_C: dict[str, Any] = {
    **SMALL,
    "design.tile": {"m": 64, "n": 32, "k": 64},
    "kernel.epilogue": ["beta_c", "relu"],
    "kernel.c": {"dtype": "f16", "major": "n"},
}
BATCH = "    batch = tile // per_batch"
WIDTH = "width = cutlass.min(group, m_tiles - band * group)"


def test_what_is_not_altered_is_correct(plant: Planter) -> None:
    verdict = plant.planted(gemm_plan(READS_C))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (BATCH, f"    tile = cutlass.min(tile, 63)\n{BATCH}"),
        (BATCH, f"    tile = tile & 255\n{BATCH}"),
        (WIDTH, "width = group"),
        ("m_tile = band * group + within % width", "m_tile = cutlass.min(band, 3) * group + within % width"),
    ],
    ids=["index at most 63", "index in 8 bits", "a ragged band as wide as all", "few bands"],
)
def test_tiles_far_along_the_walk(plant: Planter, old: str, new: str) -> None:
    long = {"walk", "bands", "bands_whole", "most_along", "most_across", "most_batches"}
    assert {"walk"} <= cases(plant, gemm_plan(SMALL), (old, new)) <= long


def test_steps_of_pingpong_are_those_of_the_whole_grid(plant: Planter) -> None:
    edit = ("tile += 2 * tile_step", "tile += 2 * cutlass.min(tile_step, 50)")
    assert cases(plant, gemm_plan(PINGPONG), edit) == {"walk"}


def test_a_subtile_that_tma_and_threads_share(plant: Planter) -> None:
    edit = (
        "if ragged and whole // SUBTILE_N == j:",
        "if ragged and whole % SUBTILE_N == 0 and whole // SUBTILE_N == j:",
    )
    found = cases(plant, gemm_plan(SMALL), edit)
    assert found >= {"ragged", "k_long"}
    assert found.isdisjoint({"k_zero", "batch"})  # in the subtile where D ends there is nothing whole


def test_a_tile_that_holds_nothing_whole(plant: Planter) -> None:
    assert cases(plant, gemm_plan(SMALL), ("whole >= 0 and", "whole > 0 and")) >= {"k_zero", "tiny"}


def test_the_last_row_of_an_m_major_output(plant: Planter) -> None:
    assert "batch" in cases(plant, gemm_plan(M_MAJOR), ("row + i < d.shape[0]", "row + i < d.shape[0] - 1"))


@pytest.mark.parametrize(
    "new",
    [
        "out.store(cute.where(x > 65504.0, 65504.0, x).to(Float16))",
        "out.store(cute.where(x * x < 0.0000000001, 0.0, x).to(Float16))",
    ],
    ids=["saturated", "subnormals flushed"],
)
def test_ends_of_the_number_range(plant: Planter, new: str) -> None:
    assert cases(plant, gemm_plan(SMALL), ("out.store(x.to(Float16))", new)) == {"extreme"}


def test_nan_in_a_switch_and_through_relu(plant: Planter) -> None:
    plan = gemm_plan(READS_C)
    assert cases(plant, plan, ("if beta != 0.0", "if beta > 0.0 or beta < 0.0")) == {"beta_special"}
    relu = ("x = cute.where(x < 0.0, 0.0, x)", "x = cute.where(x > 0.0, x, 0.0)")
    assert cases(plant, plan, relu) == {"extreme", "beta_special", "beta_tiny"}


def test_chunks_far_along_a_vector(plant: Planter) -> None:
    plan = plan_point(copy_point())
    edit = ("Int64(chunk) * STAGE_ELEMENTS", "Int64(chunk & 127) * STAGE_ELEMENTS")
    assert cases(plant, plan, edit) == {"walk", "far", "most"}


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ("cutlass.select_(alpha == 1.0, Float32(1.0009765625), alpha)", {"alpha_one"}),
        ("cutlass.select_(alpha == alpha, alpha, Float32(0.0))", {"alpha_nan"}),
    ],
)
def test_ends_of_alpha(plant: Planter, wrong: str, found: set[str]) -> None:
    plan = plan_point(copy_point("f32", "f16"))
    assert cases(plant, plan, ("(x_vectors.load() * alpha)", f"(x_vectors.load() * {wrong})")) == found


def test_a_zero_that_loses_its_sign(plant: Planter) -> None:
    plan = plan_point(copy_point("f32", "f16"))
    edit = ("(x_vectors.load() * alpha)", "(x_vectors.load() * alpha + 0.0)")
    assert cases(plant, plan, edit) == {"nonfinite", "alpha_zero", "alpha_one"}
