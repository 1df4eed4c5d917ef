"""Grid, extents and what is copied of a gemm, counted by hand for a tile of 128 x 128 x 64 in clusters of 2 x 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.device.plans import problem
from tests.plan.space import point
from warpwright.families import workload
from warpwright.families.running import Launched
from warpwright.plan import plan
from warpwright.plan.types import Plan

GEMM = workload("gemm")
PAIR = {"design.cluster": {"m": 2, "n": 1}}
ACROSS = {"design.cluster": {"m": 1, "n": 2}}
ONE_TILE = {"design.scheduler.kind": "one_tile"}


def legal(*changes: dict[str, Any]) -> Plan:
    merged: dict[str, Any] = {}
    for each in changes:
        merged |= each
    found = plan(point(merged))
    assert found.legal, found.violations
    return found


def launched(planned: Plan, m: int, n: int, k: int, l: int, clusters: int) -> Launched:  # noqa: E741
    (found,) = GEMM.launched(planned, problem("p", m, n, k, l), clusters)
    return found


@pytest.mark.parametrize(
    ("changes", "clusters", "grid"),
    [
        # 300 x 257 x 2: 2 x 3 x 2 tiles of clusters, 12 in all.
        ([PAIR], 132, (24, 1, 1)),
        ([PAIR], 5, (10, 1, 1)),
        ([PAIR, ONE_TILE], 132, (24, 1, 1)),
        ([PAIR, ONE_TILE], 5, (24, 1, 1)),  # each tile a cluster, however many run at once
        ([ACROSS], 132, (12, 2, 1)),
        ([ACROSS], 5, (5, 2, 1)),
    ],
)
def test_the_grid(changes: list[dict[str, Any]], clusters: int, grid: tuple[int, int, int]) -> None:
    assert launched(legal(*changes), 300, 257, 70, 2, clusters).grid == grid


@pytest.mark.parametrize(
    ("dtype", "major", "m", "n", "stored"),
    [
        ("f16", "n", 300, 257, (300, 256, 2)),  # 16 bytes are 8 elements of f16
        ("f32", "n", 300, 257, (300, 256, 2)),
        ("f32", "n", 300, 263, (300, 260, 2)),
        ("f16", "m", 303, 257, (296 + 0, 257, 2)),
        ("f16", "n", 300, 5, (300, 8, 2)),  # a map has no empty extents
        ("f16", "m", 1, 5, (8, 5, 2)),
    ],
)
def test_d_is_stored_by_whole_16_bytes(dtype: str, major: str, m: int, n: int, stored: tuple[int, ...]) -> None:
    planned = legal(PAIR, {"kernel.d": {"dtype": dtype, "major": major}, "design.stages": 4})
    found = launched(planned, m, n, 70, 2, 132)
    assert dict(found.maps) | {"c": None} == {"a": (m, 70, 2), "b": (n, 70, 2), "c": None, "d": stored}


def test_what_is_passed_by_value() -> None:
    values = launched(legal(PAIR), 300, 257, 70, 2, 132).values
    assert [value for name, value in values if name == "clusters"] == [2, 3, 2]
    assert dict(values)["cluster_tiles"] == 12
    assert dict(values)["k_tiles"] == 2
    assert "cluster_tiles" not in dict(launched(legal(PAIR, ONE_TILE), 300, 257, 70, 2, 132).values)


def test_of_an_empty_k_nothing_is_loaded_and_the_map_has_an_extent() -> None:
    found = launched(legal(PAIR), 300, 257, 0, 2, 132)
    assert (found.maps["a"], found.maps["b"]) == ((300, 1, 2), (257, 1, 2))
    assert dict(found.values)["k_tiles"] == 0


def test_what_is_copied() -> None:
    """Whole stages, in whole clusters: 2 x 3 x 2 clusters of 2 CTAs, which load B once for both."""
    given = problem("p", 300, 257, 70, 2)
    assert GEMM.copied(legal(PAIR), given) == {
        "a": 24 * 128 * 128,
        "b": 12 * 128 * 128,
        # Of 257 columns 256 are whole 16 bytes, so 8 subtiles of 32; of rows, all of the clusters' 512.
        "d": 512 * 256 * 2,
    }
    assert GEMM.copied(legal(ACROSS), given) == {
        "a": 3 * 2 * 2 * 128 * 128,
        "b": 3 * 2 * 2 * 2 * 128 * 128,
        "d": 384 * 256 * 2,
    }
    given = problem("p", 300, 257, 200, 2)
    c = {"kernel.epilogue": ["beta_c"], "kernel.c": {"dtype": "f16", "major": "n"}, "design.store": "direct"}
    assert GEMM.copied(legal(PAIR, c, {"design.stages": 4}), given) == {
        "a": 24 * 128 * 256,
        "b": 12 * 128 * 256,
        "c": 24 * 128 * 128,
    }
    assert GEMM.units(legal(PAIR), given) == 12


def test_what_tma_touches_is_aligned_to_16_bytes_and_what_threads_store_to_an_element() -> None:
    """A and B come by TMA, always; D and C as they leave and come."""
    for changes, alignment in (({}, 16), ({"design.store": "direct", "kernel.d": {"dtype": "f32", "major": "n"}}, 4)):
        aligned = {argument.name: argument.alignment for argument in legal(changes).arguments if argument.shape}
        assert aligned == {"a": 16, "b": 16, "d": alignment}


def test_scalars_beside_random_numbers_are_rounded_and_of_both_signs() -> None:
    """Neither f16 nor bf16 holds them: a kernel that keeps a scalar in 16 bits is wrong."""
    c = {"kernel.epilogue": ["alpha", "beta_c"], "kernel.c": {"dtype": "f16", "major": "n"}, "design.stages": 4}
    scalars = GEMM.scalars(legal(c), problem("p", 8, 8, 8))
    assert scalars["beta"] < -1 < 0 < scalars["alpha"] < 1
    assert all(value == np.float32(value) != np.float16(value) for value in scalars.values())
    integers = GEMM.scalars(legal(c), problem("p", 8, 8, 8, fill="integer"))
    assert {abs(value) for value in integers.values()} == {2.0, 3.0}
    assert integers["beta"] < 0 < integers["alpha"]


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ([], 2),  # a CTA beyond the last tile has gone one grid, which has no more clusters than there are tiles
        ([{"design.schedule": "pingpong"}], 3),  # a consumer of two goes two grids at once
        ([ONE_TILE], 1),
        ([{"design.schedule": "pingpong"}, PAIR], 3),
        ([PAIR, ONE_TILE], 2),  # CTAs of the grid's first extent are counted, two to a tile of clusters
        ([{"design.cluster": {"m": 4, "n": 1}}], 4),
        ([{"design.schedule": "pingpong", "design.cluster": {"m": 4, "n": 1}}], 4),
        ([ACROSS, ONE_TILE], 1),
    ],
)
def test_as_many_tiles_as_the_walk_past_the_last_one_counts_in_32_bits(
    changes: list[dict[str, Any]], times: int
) -> None:
    planned = legal(*changes)
    (tiles,) = (limit for limit in planned.limits if len(limit.modes) == 3)
    assert tiles.most * times <= 2**31 - 1 < (tiles.most + 1) * times
    d = planned.design
    assert dict(tiles.modes) == {"M": 128 * d.cluster_m, "N": 128 * d.cluster_n, "L": 1}


@pytest.mark.parametrize(
    ("changes", "m", "n"),
    [
        ({}, 128, 128),
        ({"design.tile": {"m": 192, "n": 64, "k": 64}, "design.consumer_warps": 12}, 192, 64),
        ({"design.tile": {"m": 128, "n": 96, "k": 64}, **PAIR}, 256, 96),
        ({"design.tile": {"m": 128, "n": 96, "k": 64}, **ACROSS}, 128, 192),
    ],
)
def test_the_last_cluster_of_tiles_ends_within_32_bits(changes: dict[str, Any], m: int, n: int) -> None:
    """The largest extent is whole clusters of tiles, of which one more would end at 2^31 or beyond."""
    limits = {limit.what: limit.most for limit in legal(changes).limits}
    for mode, unit in (("M", m), ("N", n)):
        most = limits[f"along {mode}"]
        assert most % unit == 0
        assert most < 2**31 <= most + unit
