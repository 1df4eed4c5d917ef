"""As many tiles and chunks as 32 bits count: right up to there, refused beyond, and who counts otherwise is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.emulate.plans import gemm_plan
from tests.emulate.planting import Planter
from warpwright.emulate.variant.verdict import Verdict
from warpwright.families import workload
from warpwright.families.copy.models import Design, Kernel, Vector
from warpwright.plan import plan as plan_point
from warpwright.plan.types import Limit, Plan
from warpwright.point import Point

#: Tiles so small, and bands so wide, that a band across the longest N has more than 2^31 of them.
WIDE: dict[str, Any] = {
    "design.tile": {"m": 64, "n": 8, "k": 16},
    "design.consumer_warps": 4,
    "design.stages": 2,
    "design.scheduler": {"kind": "persistent", "raster": "m", "group": 1024},
}
PINGPONG: dict[str, Any] = {
    "design.tile": {"m": 64, "n": 8, "k": 16}, "design.schedule": "pingpong", "design.stages": 2
}  # fmt: skip


def copy_plan(**design: Any) -> Plan:
    found = plan_point(Point("copy", "sm_90a", Kernel(x=Vector(dtype="f16"), y=Vector(dtype="f16")), Design(**design)))
    assert found.legal
    return found


def where(verdict: Verdict) -> set[str]:
    """The cases that show defects."""
    return {defect.case for defect in verdict.defects}


@pytest.mark.parametrize(
    ("changes", "tiles"),
    [
        ({}, 2**30 - 1),
        ({"design.cluster": {"m": 4, "n": 1}}, 2**29 - 1),
        ({"design.cluster": {"m": 1, "n": 4}}, 2**30 - 1),
        ({"design.schedule": "pingpong"}, 715_827_882),
        ({"design.schedule": "pingpong", "design.cluster": {"m": 4, "n": 1}}, 2**29 - 1),
        ({"design.scheduler": {"kind": "one_tile"}}, 2**31 - 1),
        ({"design.scheduler": {"kind": "one_tile"}, "design.cluster": {"m": 2, "n": 1}}, 2**30 - 1),
    ],
)
def test_tiles_steps_and_ctas_stay_within_31_bits(changes: dict[str, Any], tiles: int) -> None:
    plan = gemm_plan(changes)
    design = plan.design
    m, n = design.tile_m * design.cluster_m, design.tile_n * design.cluster_n
    assert plan.limits[-1] == Limit(f"tiles of {m} x {n}", (("M", m), ("N", n), ("L", 1)), tiles)
    units = {"M": m, "N": n}
    assert {limit.what: limit.most for limit in plan.limits[:-1]} == {
        f"along {mode}": (2**31 - 1) // unit * unit for mode, unit in units.items()
    }


def test_what_exceeds_a_limit() -> None:
    plan = gemm_plan()
    assert plan.exceeded({"M": 2**31 - 128, "N": 1, "K": 0, "L": 1}) is None
    for extents, what in [
        ({"M": 2**31 - 127, "N": 1, "K": 0, "L": 1}, "along M"),
        ({"M": 1, "N": 1, "K": 0, "L": 2**31}, "along L"),
        ({"M": 129, "N": 129, "K": 0, "L": 2**28}, "tiles of 128 x 128"),
    ]:
        beyond = plan.exceeded(extents)
        assert beyond is not None
        assert beyond.what == what
    assert plan.exceeded({"M": 129, "N": 129, "K": 0, "L": 2**28 - 1}) is None
    copy = copy_plan(producer_warps=3)
    most = (2**31 - 1) // 4 * copy.design.stage_elements
    assert copy.exceeded({"N": most}) is None
    assert copy.exceeded({"N": most + 1}) == Limit("along N", (("N", 1),), most)


@pytest.mark.parametrize("changes", [WIDE, PINGPONG])
def test_cases_have_as_many_tiles_as_can_be_counted(changes: dict[str, Any]) -> None:
    plan = gemm_plan(changes)
    cases = {case.problem.name: case for case in workload("gemm").cases(plan)}
    batches, across = cases["most_batches"], cases["most_across"]
    most = plan.limits[-1].most
    assert (workload("gemm").units(plan, batches.problem), batches.clusters) == (most, most)
    assert across.problem.extents["N"] == 2**31 - 8
    assert max(across.only) == across.clusters - 1 == 2**27 - 1
    huge = {case.problem.name: case.problem.extents for case in workload("gemm").huge(plan)}
    for name in ("most_m", "most_n", "most_mnl"):
        assert plan.exceeded(huge[name]) is None
        assert plan.exceeded(huge[f"{name}_and_one"]) is not None


GROUP = "group = cutlass.min(GROUP, m_tiles)"
TILES = "tiles = cutlass.min(Int64(tiles_mnl[0]) * tiles_mnl[1], MAX_TILES + 1) * batches"
COUNTED = "tile_count = Int32(cutlass.select_(fits, tiles, Int64(0)))"


def test_right_kernels_are_right_at_the_limit(plant: Planter) -> None:
    for changes in (WIDE, PINGPONG):
        verdict = plant.planted(gemm_plan(changes), (GROUP, GROUP))
        assert (verdict.status, verdict.diagnosis) == ("correct", "")


def test_a_band_wider_than_there_are_clusters_wraps(plant: Planter) -> None:
    found = where(plant.planted(gemm_plan(WIDE), (GROUP, "group = Int32(GROUP)")))
    assert found == {"most_across"}


@pytest.mark.parametrize(
    ("edits", "cases"),
    [
        ([(TILES, "tiles = cute.size(tiles_mnl)"), (COUNTED, "tile_count = tiles")],
         {f"most_{modes}_and_one" for modes in ("m", "n", "mnl")}),
        ([("n <= MAX_N", "n > 0")], {"most_n_and_one"}),
        ([("tiles <= MAX_TILES", "tiles > 0")], {"most_mnl_and_one"}),
    ],
)  # fmt: skip
def test_a_host_function_that_takes_more_than_it_counts(
    plant: Planter, edits: list[tuple[str, str]], cases: set[str]
) -> None:
    verdict = plant.planted(gemm_plan(WIDE), *edits)
    assert verdict.status == "incorrect"
    assert where(verdict) == cases
    assert "of which it counts at most" in verdict.diagnosis


def test_a_walk_that_steps_twice_needs_room_for_two_steps(plant: Planter) -> None:
    """Were as many tiles allowed as in a walk that steps once, the counter of a consumer would wrap."""
    plan = gemm_plan(PINGPONG)
    *others, tiles = plan.limits
    bolder = replace(plan, limits=(*others, replace(tiles, most=2**30 - 1)))
    verdict = plant.planted(bolder, ("MAX_TILES = (2**31 - 1) // 3", "MAX_TILES = (2**31 - 1) // 2"))
    assert where(verdict) == {"most_batches"}


def test_a_copy_s_chunks(plant: Planter) -> None:
    plan = copy_plan()
    assert plan.arguments[0].largest_extent == (2**30 - 1) * plan.design.stage_elements
    chosen = "ctas = Int32(cutlass.select_(chunks <= MAX_CHUNKS, cutlass.max(chunks, Int64(1)), Int64(0)))"
    assert plant.planted(plan, (chosen, chosen)).status == "correct"
    verdict = plant.planted(plan, (chosen, "ctas = Int32(cutlass.max(chunks, Int64(1)))"))
    longest = plan.arguments[0].largest_extent + plan.design.stage_elements
    assert where(verdict) == {f"huge_{longest}"}
