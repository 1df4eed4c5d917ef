"""Bugs that show at scale only (far tiles, long K, huge lengths, host arithmetic at residues), planted in kernels; and
kernels that are right another way than planned, which must not be called wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulate.plans import gemm_plan
from tests.emulate.planting import Planter
from tests.families.copy.points import point as copy_point
from warpwright.emulate.variant.verdict import Verdict
from warpwright.plan import plan as plan_point

SMALL: dict[str, Any] = {"design.tile": {"m": 64, "n": 64, "k": 64}, "design.consumer_warps": 4}
READS_C: dict[str, Any] = {
    **SMALL,
    "design.tile": {"m": 64, "n": 32, "k": 64},
    "kernel.epilogue": ["alpha", "beta_c"],
    "kernel.c": {"dtype": "f16", "major": "n"},
}
BATCH = "batch = tile // per_batch"
COLUMN = "n_tile = within // width"


def cases(verdict: Verdict) -> set[str]:
    """The cases that show a planted bug."""
    assert verdict.status in ("incorrect", "crash", "hang", "launch_failed"), verdict.status
    return {defect.case for defect in verdict.defects}


@pytest.mark.parametrize(
    ("old", "new", "case"),
    [
        (BATCH, f"{BATCH} % 16", "walk"),
        (COLUMN, f"{COLUMN} % 32", "walk"),
        (COLUMN, "n_tile = cutlass.min(within // width, 7)", "walk"),
        ("a_src[None, m_tile, k_tile, batch]", "a_src[None, m_tile, k_tile % 64, batch]", "k_long"),
    ],
    ids=["batches in 4 bits", "columns in 5 bits", "columns up to 7", "K tiles in 6 bits"],
)
def test_indices_that_few_tiles_do_not_reach(plant: Planter, old: str, new: str, case: str) -> None:
    found = cases(plant.planted(gemm_plan(SMALL), (old, new)))
    assert {case} <= found <= {case, "most_across", "most_batches"}


def test_c_with_the_strides_of_d(plant: Planter) -> None:
    own = "c_mnl = tma_view(c, (m, n, batches), (1, 2, 0))"
    of_d = "c_mnl = cute.make_tensor(c.iterator, tma_view(d, (m, n, batches), (1, 2, 0)).layout)"
    assert "batch" in cases(plant.planted(gemm_plan(READS_C), (own, of_d)))


def test_a_scalar_rounded_to_16_bits_and_one_that_is_zero(plant: Planter) -> None:
    plan = gemm_plan(READS_C)
    rounded = plant.planted(plan, ("x = x * alpha", "x = x * alpha.to(Float16).to(Float32)"))
    assert "ragged" in cases(rounded)
    skipped = plant.planted(plan, ("C_LOADER_WARP and beta != 0.0", "C_LOADER_WARP and alpha != 0.0 and beta != 0.0"))
    assert cases(skipped) == {"alpha_zero"}


def test_host_arithmetic_at_residues_and_of_nothing(plant: Planter) -> None:
    plan = gemm_plan({**SMALL, "design.cluster": {"m": 1, "n": 4}})
    short = ("cute.ceil_div(n, TILE_N * CLUSTER_N)", "cutlass.max(cute.ceil_div(n - 1, TILE_N * CLUSTER_N), 1)")
    assert {case.split("_")[0] for case in cases(plant.planted(plan, short))} >= {"residues"}
    empty = plant.planted(plan, ("if tiles > 0:", "if m > 0:"))
    assert "empty_n" in cases(empty)


def test_another_walk_and_a_grid_without_limit_are_degraded(plant: Planter) -> None:
    plan = gemm_plan(SMALL)
    walk = plant.planted(
        plan,
        (f"    {BATCH}\n", f"    {BATCH}\n    rest = tile % per_batch\n"),
        ("return m_tile, n_tile, batch", "return rest // n_tiles, rest % n_tiles, batch"),
    )
    assert (walk.status, {each.rule for each in walk.differences}) == ("degraded", {"the walk over the tiles"})
    grid = plant.planted(plan, ("grid=(cutlass.min(tile_count, max_clusters), 1, 1)", "grid=(tile_count, 1, 1)"))
    assert (grid.status, grid.diagnosis) == ("degraded", "")


def test_bytes_of_a_bulk_copy_in_32_bits(plant: Planter) -> None:
    edit = (
        "Int32(cutlass.min(whole - first, STAGE_ELEMENTS)) *",
        "cutlass.min(Int32(whole - first), STAGE_ELEMENTS) *",
    )
    assert cases(plant.planted(plan_point(copy_point()), edit)) == {"far"}


def test_a_box_stored_where_nothing_is_whole(plant: Planter) -> None:
    edit = ("if j * SUBTILE_N < whole:", "if j * SUBTILE_N <= whole:")
    assert "tiny" in cases(plant.planted(gemm_plan(SMALL), edit))


def test_a_problem_that_the_host_function_refuses_is_a_finding(plant: Planter) -> None:
    verdict = plant.planted(gemm_plan(SMALL), ("fits = tiles <= MAX_TILES", "fits = tiles <= 1"))
    assert verdict.status == "incorrect"
    assert "launch: the host function refuses the problem" in verdict.diagnosis
