"""Bugs that show after exactly a round of the ring, at one end of a band of the raster, far along the walk, or after
many tiles, planted in kernels: each needs a case of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.emulate.plans import gemm_plan
from tests.emulate.planting import Planter, cases
from tests.families.copy.points import point as copy_point
from warpwright.plan import plan as plan_point

SMALL: dict[str, Any] = {
    "design.tile": {"m": 64, "n": 64, "k": 64}, "design.consumer_warps": 4, "design.stages": 5
}  # fmt: skip
PINGPONG: dict[str, Any] = {
    "design.tile": {"m": 64, "n": 32, "k": 64}, "design.schedule": "pingpong", "design.stages": 5
}  # fmt: skip
BIAS: dict[str, Any] = {**SMALL, "kernel.epilogue": ["bias_m"]}
WIDTH = "width = cutlass.min(group, m_tiles - band * group)"
A_BOX = "a_src[None, m_tile, k_tile, batch]"
SKIP = "            consumer_state.advance(k_tiles)\n            release_state.advance(k_tiles)\n            tile += 2"


def test_a_round_of_the_ring_that_flips_no_phase(plant: Planter) -> None:
    """Stages of the other warpgroup's tile are skipped by their index alone: the same one after a whole round."""
    step, state, rest = "            ", "{}_state.advance(k_tiles)\n", "tile += 2"
    skipped = "".join(f"{step}    {state.format(name)}" for name in ("consumer", "release"))
    edit = (SKIP, f"{step}if k_tiles % STAGES != 0:\n{skipped}{step}{rest}")
    assert cases(plant, gemm_plan(PINGPONG), edit) == {"ring"}


def test_stages_skipped_where_they_are_one_less_than_the_ring(plant: Planter) -> None:
    edit = (SKIP, SKIP.replace("advance(k_tiles)", "advance(k_tiles - cutlass.Int32(k_tiles == STAGES - 1))", 1))
    assert cases(plant, gemm_plan(PINGPONG), edit) == {"batch"}


@pytest.mark.parametrize(
    ("rounds", "shown"), [("STAGES", {"ring", "k_long"}), ("(2 * STAGES)", {"k_long"})], ids=["odd", "even"]
)
def test_the_last_tile_of_k_after_whole_rounds(plant: Planter, rounds: str, shown: set[str]) -> None:
    last = f"cutlass.min(k_tile, k_tiles - 1 - Int32(k_tiles % {rounds} == 0))"
    assert cases(plant, gemm_plan(SMALL), (A_BOX, A_BOX.replace("k_tile", last))) == shown


@pytest.mark.parametrize(
    ("new", "case"),
    [
        ("rest = m_tiles - band * group\n    width = cutlass.select_(rest > group // 2, group, rest)", "bands"),
        (
            "rest = cutlass.max(m_tiles % group, 1)\n"
            "    width = cutlass.select_((band + 1) * group >= m_tiles and m_tiles > group, rest, group)",
            "bands_whole",
        ),
    ],
    ids=["more than half is whole", "the remainder, of none"],
)
def test_the_last_band_s_width(plant: Planter, new: str, case: str) -> None:
    assert cases(plant, gemm_plan(SMALL), (WIDTH, new)) == {case}


def test_rows_beyond_those_of_the_walk(plant: Planter) -> None:
    found = cases(plant, gemm_plan(SMALL), ("return m_tile, n_tile, batch", "return m_tile % 4096, n_tile, batch"))
    assert found == {"most_along"}
    first = "broadcast(bias_m_vector, 0, m_tile * MMA_M,"
    assert cases(plant, gemm_plan(BIAS), (first, first.replace("MMA_M", "MMA_M % 65536"))) == {"most_along"}


def test_more_than_32_tiles_of_one_cta(plant: Planter) -> None:
    """Where tiles are small; of large ones a GPU computes as many."""
    loop = "cutlass.range(first_tile, tile_count, tile_step, unroll=1)"
    few = loop.replace("tile_count", "Int32(cutlass.min(Int64(tile_count), first_tile + Int64(32) * tile_step))")
    assert cases(plant, gemm_plan(SMALL), (loop, few)) == {"walk"}


def test_a_copy_s_whole_rounds_and_long_walks(plant: Planter) -> None:
    plan = plan_point(copy_point())
    elements = "elements = Int32(cutlass.max(cutlass.min(whole - first, SLICE_ELEMENTS), 0))"
    fewer = "elements -= GRAIN * Int32(chunk == chunks - 1 and chunks % STAGES == 0 and elements > 0)"
    assert cases(plant, plan, (elements, f"{elements}\n            {fewer}")) == {"whole_ring"}
    loop = "in cutlass.range(cta, chunks, ctas, unroll=1):"
    few = loop.replace("chunks", "Int32(cutlass.min(Int64(chunks), cta + Int64(32) * ctas))")
    assert cases(plant, plan, (loop, few)) == {"long"}
