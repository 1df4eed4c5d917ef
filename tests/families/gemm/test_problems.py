"""The standard problems of a gemm are what their names say, for every variant that ships and for random ones."""

from __future__ import annotations

from math import prod

import pytest

from tests.plan.space import legal_plans
from warpwright import resources
from warpwright.device.problem import Problem
from warpwright.families import workload
from warpwright.plan import plan
from warpwright.plan.types import Plan
from warpwright.spec import load

GEMM = workload("gemm")
SMS = 132  # of an H200


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    files = [load(file) for file in sorted(resources.configs().glob("*.yaml"))]
    shipped = [plan(point) for file in files for point in file.points() if point.family == "gemm"]
    found = [planned for planned in shipped if planned.legal] + list(legal_plans(seed=3, count=60))
    assert len(found) > 120
    return found


def problems_of(planned: Plan) -> dict[str, Problem]:
    listed = GEMM.problems(planned)
    found = {problem.name: problem for problem in listed}
    assert len(found) == len(listed)
    return found


def test_every_problem_is_there(plans: list[Plan]) -> None:
    expected = {
        "aligned", "aligned_integer", "ragged_m", "ragged_n", "ragged_k", "ragged", "ragged_integer_padded", "tiny",
        "unit", "single_row", "single_column", "k_one", "k_zero", "k_below_ring", "k_beyond_ring", "k_long",
        "k_longest", "waves_of_a_ring",
        "odd_tiles", "one_tile", "batch", "batch_normal", "l_zero", "m_zero", "n_zero", "nonfinite", "mixed_edge",
        "extreme", "bands", "waves", "large", "beyond_2_31",
    }  # fmt: skip
    switched = 0
    for planned in plans:
        found = problems_of(planned)
        switches = {"beta_zero"} if any(step["op"] == "beta_c" for step in planned.kernel["epilogue"]) else set()
        switched += bool(switches)
        assert expected | switches <= set(found)
        assert {problem.fill for problem in found.values()} == {"normal", "integer", "nonfinite", "extreme"}
        assert {found[name].zero for name in switches} <= {("beta",)}
    assert switched > 5


def test_each_mode_is_ragged_alone_and_with_the_others(plans: list[Plan]) -> None:
    """By tiles, by clusters of them, and by 16 bytes."""
    for planned in plans:
        found, d = problems_of(planned), planned.design
        tile = {"M": d.tile_m, "N": d.tile_n, "K": d.tile_k}
        for name, modes in (
            ("aligned", ""),
            ("aligned_integer", ""),
            ("ragged_m", "M"),
            ("ragged_n", "N"),
            ("ragged_k", "K"),
            ("ragged", "MNK"),
            ("large", "MNK"),
        ):
            extents = found[name].extents
            assert {mode for mode in "MNK" if extents[mode] % tile[mode]} == set(modes), (planned.label, name)
        assert all(found["large"].extents[mode] % 8 for mode in "MNK")


def test_what_is_large_keeps_every_sm_busy_for_long(plans: list[Plan]) -> None:
    """Random numbers, a long K, many tiles per SM of the largest tile there is: 2 * 4096^3 operations and more."""
    for planned in plans:
        large, d = problems_of(planned)["large"], planned.design
        extents = large.extents
        assert large.fill == "normal"
        assert prod(extents.values()) > 0.99 * 4096**3
        assert min(extents[mode] for mode in "MNK") > 4000
        assert extents["M"] // d.tile_m * (extents["N"] // d.tile_n) > SMS
        assert extents["K"] // d.tile_k > 2 * min(d.stages, 7)


def test_the_ring_is_shorter_than_k_and_longer(plans: list[Plan]) -> None:
    for planned in plans:
        found, d = problems_of(planned), planned.design
        depth = {name: -(-found[name].extents["K"] // d.tile_k) for name in found}
        assert depth["k_zero"] == 0
        assert depth["k_one"] == 1
        assert depth["k_below_ring"] < max(d.stages, 2)
        assert depth["k_beyond_ring"] > 3 * d.stages
        assert found["k_beyond_ring"].extents["K"] % d.tile_k
        assert found["k_long"].extents["K"] > 1 << 14
        assert found["k_long"].fill == "integer"  # exact: the bound of a random one would hide a lost product
        assert depth["k_longest"] > 1 << 12
        assert found["k_longest"].fill == "integer"
        assert 4 * found["k_longest"].extents["K"] < 1 << 24  # products are up to 4: float32 holds the sums
        assert found["waves_of_a_ring"].extents["K"] == d.stages * d.tile_k


def test_tiles_bands_and_waves_are_more_than_one(plans: list[Plan]) -> None:
    for planned in plans:
        found, d = problems_of(planned), planned.design
        m, n = d.tile_m * d.cluster_m, d.tile_n * d.cluster_n
        clusters = {
            name: (-(-problem.extents["M"] // m), -(-problem.extents["N"] // n)) for name, problem in found.items()
        }
        along = clusters["bands"][0 if d.raster == "m" else 1]
        assert along > min(2 * d.group, 299)
        assert along % d.group == (d.group - 1 if 3 * d.group <= 300 else along % d.group)
        assert clusters["bands"][1 if d.raster == "m" else 0] == 2
        for name in ("waves", "waves_of_a_ring"):
            tiles = -(-found[name].extents["M"] // d.tile_m) * -(-found[name].extents["N"] // d.tile_n)
            assert tiles > 2 * SMS
        odd = found["odd_tiles"].extents
        assert (odd["M"] % m > 0) == (d.cluster_m > 1)
        assert (odd["N"] % n > 0) == (d.cluster_n > 1)
        assert (odd["M"] % d.tile_m, odd["N"] % d.tile_n) == (0, 0)
        assert clusters["one_tile"] == (1, 1)
        assert prod(found["beyond_2_31"].extents[mode] for mode in "MN") > 2**31


def test_batches_and_nothing(plans: list[Plan]) -> None:
    for planned in plans:
        found = problems_of(planned)
        for mode in "LMN":
            extents = found[f"{mode.lower()}_zero"].extents
            assert [each for each in "LMNK" if extents[each] == 0] == [mode]
        assert found["batch"].extents["L"] > 2
        assert found["batch"].padding > 0
        assert found["batch_normal"].extents["L"] > 1
        assert {found["batch"].fill, found["batch_normal"].fill} == {"integer", "normal"}
        assert sum(problem.odd_strides for problem in found.values()) >= 3
