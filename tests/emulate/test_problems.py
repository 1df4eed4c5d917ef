"""Every shipped variant's cases have the properties that the emulated evidence stands for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.plans import gemm_plan, tile_plan
from warpwright.device.problem import Case
from warpwright.device.tensors import layout
from warpwright.epilogue.reference import Chain
from warpwright.families import workload
from warpwright.families.gemm.workload.edges import edge_of
from warpwright.families.products.tiles import grid, tile_of
from warpwright.plan.types import Plan

GEMM = workload("gemm")


def check(plan: Plan) -> dict[str, Case]:
    d = plan.design
    found = {case.problem.name: case for case in GEMM.cases(plan)}
    sizes = {name: case.problem.extents for name, case in found.items()}
    tile = {"M": d.tile_m, "N": d.tile_n, "K": d.tile_k}
    consumers = 2 if d.schedule == "pingpong" else 1
    assert GEMM.units(plan, found["tiles"].problem) >= 2 * consumers * found["tiles"].clusters
    assert all(sizes["tiles"][mode] % size == 0 for mode, size in tile.items())
    assert sizes["tiles"]["K"] > d.stages * d.tile_k
    assert all(sizes["ragged"][mode] % size for mode, size in tile.items())
    units = GEMM.units(plan, found["ragged"].problem)
    assert units > found["ragged"].clusters > 1
    assert units % found["ragged"].clusters
    assert found["ragged"].resident == 0
    assert sizes["batch"]["L"] >= 2 * consumers, "each consumer takes the next batch in its turn"
    assert sizes["batch"]["K"] < d.tile_k * max(d.stages, 3)
    assert sizes["k_long"]["K"] > max(2 * d.stages, 64) * d.tile_k
    if d.stages > 2:  # not one more than the ring has: then what a tile forgets at its end would be right again
        assert sizes["tiles"]["K"] // d.tile_k % d.stages > 1
    assert sizes["k_zero"]["K"] == 0
    assert sizes["tiny"] == {"M": 1, "N": 3, "K": 8, "L": 1}
    assert {seed for case in found.values() for seed in case.seeds} == {1, 2, 3}
    beside = {*GEMM.scalars_of(plan)} - {*Chain(plan).skips.values()}
    fills = {"normal", "integer", "extreme", *(["nonfinite"] if beside else [])}
    assert {case.problem.fill for case in found.values()} == fills
    _edges(plan, found)
    _walk(plan, found["walk"])
    return found


def _edges(plan: Plan, found: dict[str, Case]) -> None:
    """D ends in every subtile, and there with whole 16 bytes and a tail, both in one subtile where it holds both."""
    edge = edge_of(plan)
    ends = [case.problem.extents[edge.mode] % edge.tile for case in found.values()]
    assert {end // edge.subtile for end in ends if end % edge.subtile} == {*range(edge.subtiles)}
    if edge.subtile > edge.grain and edge.by_tma:
        assert any(edge.grain < end % edge.subtile and end % edge.grain == edge.grain - 1 for end in ends)
    assert any(0 < end < edge.grain for end in ends) or not edge.by_tma
    if edge.by_tma and edge.subtiles > 1:
        assert any(end > edge.subtile and 0 < end % edge.subtile < edge.grain for end in ends)


def _walk(plan: Plan, case: Case) -> None:
    """Bands and columns, ragged ones among them; late tiles; one cluster with more tiles than stages."""
    d = plan.design
    counts = grid(d, case.problem.extents)
    along, across = counts[:2] if d.raster == "m" else counts[1::-1]
    assert across > 40
    assert along > d.group
    assert along % d.group or d.group == 1
    total = along * across * counts[2]
    assert along > 128
    assert counts[2] > 16
    assert total > 1 << 16
    if d.persistent:
        assert len(GEMM.share(plan, case.problem, case.clusters, case.only)) > max(3, d.stages)
        tiles = [range(cluster, total, case.clusters) for cluster in case.only]
        places = [tile_of(d, counts, number) for numbers in tiles for number in numbers]
    else:
        places = [tile_of(d, counts, number) for number in case.only]
    walked = {(place[0 if d.raster == "m" else 1] // d.group, place[1 if d.raster == "m" else 0]) for place in places}
    columns = {column for _, column in walked}
    if d.takes_over:
        assert case.resident == 1, "the first cluster is handed all tiles"
        assert len(case.only) > max(5, d.stages)
    if d.persistent or d.takes_over:
        assert min(columns) < 4 <= 32 <= max(columns - {across - 1})
    assert ((along - 1) // d.group, across - 1) in walked
    assert len({band for band, _ in walked}) > 1 or d.group > along


def test_properties_of_every_shipped_variant(shipped: list[Plan]) -> None:
    assert len(shipped) > 50
    for plan in shipped:
        check(plan)


@pytest.mark.parametrize(
    "changes", [{}, {"design.schedule": "pingpong"}, {"design.cluster": {"m": 1, "n": 4}, "design.stages": 2}]
)
def test_properties_of_some(changes: dict[str, object]) -> None:
    check(gemm_plan(changes))


def test_each_switch_of_a_tile_operand_is_turned_off_once() -> None:
    plan = tile_plan()
    found = check(plan)
    assert [case.problem.zero for case in found.values() if case.problem.zero] == [("beta",), ("alpha",)]
    special = {name: case.problem.special for name, case in found.items() if case.problem.special}
    assert special == {"beta_tiny": ("beta",), "alpha_special": ("alpha",), "beta_special": ("beta",)}
    assert 0 < GEMM.scalars(plan, found["beta_tiny"].problem)["beta"] < 2.0**-75, "its square is zero in float32"
    assert found["alpha_zero"].problem.fill == "nonfinite", "zero times NaN is NaN"
    assert np.isinf(GEMM.scalars(plan, found["alpha_special"].problem)["alpha"])
    assert np.isnan(GEMM.scalars(plan, found["beta_special"].problem)["beta"])
    assert {case.problem.name for case in GEMM.compared(plan)} == {
        "tiles", "ragged", "k_long_normal", "extreme", "beta_zero"
    }  # fmt: skip
    assert all(len(case.seeds) == 1 for case in GEMM.compared(plan))


def test_the_walk_of_two_bands_as_drawn() -> None:
    """Five clusters along M in bands of three, two along N: bands of 3 and 2, column by column."""
    d = gemm_plan({"design.scheduler": {"kind": "persistent", "raster": "m", "group": 3}}).design
    walked = [tile_of(d, (5, 2, 2), number) for number in range(11)]
    first = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0), (4, 0), (3, 1), (4, 1)]
    assert walked == [*((m, n, 0) for m, n in first), (0, 0, 1)]
    turned = gemm_plan({"design.scheduler": {"kind": "persistent", "raster": "n", "group": 3}}).design
    assert [tile_of(turned, (2, 5, 1), number) for number in range(10)] == [(n, m, 0) for m, n in first]


@pytest.mark.parametrize("clusters", [1, 3, 100])
def test_all_clusters_of_a_grid_together_compute_everything_once(clusters: int) -> None:
    plan = gemm_plan({"design.cluster": {"m": 2, "n": 1}})
    problem = {case.problem.name: case.problem for case in GEMM.cases(plan)}["ragged"]
    extents = problem.extents
    counts = np.zeros((extents["L"], extents["M"], extents["N"]), int)
    for box in GEMM.share(plan, problem, clusters, range(min(clusters, GEMM.units(plan, problem)))):
        counts[tuple(box[mode] for mode in "LMN")] += 1
    assert (counts == 1).all()


def test_scalars_beside_a_zero_are_one_and_random_ones_are_no_16_bit_numbers() -> None:
    plan = tile_plan()
    cases = {case.problem.name: case.problem for case in GEMM.cases(plan)}
    assert GEMM.scalars(plan, cases["alpha_zero"]) == {"alpha": 0.0, "beta": 1.0}
    for value in GEMM.scalars(plan, cases["ragged"]).values():
        assert np.float16(value) != np.float32(value)
        assert np.float32(value).view(np.uint32) & 0xFFFF  # what bf16 leaves out


def test_each_operand_has_strides_of_its_own() -> None:
    plan = tile_plan()
    batch = next(case.problem for case in GEMM.cases(plan) if case.problem.name == "batch")
    tensors = [argument for argument in plan.arguments if argument.kind == "tensor"]
    strides = [layout(argument, batch.extents, batch.padding) for argument in tensors]
    for mode in range(3):
        others = [each[mode] for each in strides if each[mode] != 1]
        assert len(set(others)) == len(others), (mode, strides)


def test_a_direct_store_meets_tiles_an_element_short_in_one_mode_and_whole_in_the_other() -> None:
    plan = gemm_plan({"design.store": "direct"})
    d = plan.design
    ends = {(e["M"] % d.tile_m, e["N"] % d.tile_n) for e in (case.problem.extents for case in GEMM.cases(plan))}
    assert {(0, d.tile_n - 1), (d.tile_m - 1, 0)} <= ends


def test_launches_are_checked_at_residues_of_each_mode_and_where_nothing_is_due() -> None:
    plan = gemm_plan()
    d, extents = plan.design, [case.problem.extents for case in GEMM.huge(plan)]
    sides = {"M": d.tile_m * d.cluster_m, "N": d.tile_n * d.cluster_n, "K": d.tile_k}
    for mode, side in sides.items():
        assert {0, 1, side - 1, side, side + 1, 2 * side - 1, 2 * side, 2 * side + 1} <= {e[mode] for e in extents}
    assert any(e["L"] == 0 and e["M"] and e["N"] for e in extents)
    grids = {(GEMM.units(plan, case.problem), case.clusters) for case in GEMM.huge(plan)}
    assert {count - limit for count, limit in grids} >= {-1, 0, 1}
