"""Every shipped variant's cases have the properties that the emulated evidence stands for."""

from __future__ import annotations

import pytest

from tests.emulate.plans import gemm_plan, tile_plan
from warpwright.device.problem import Case
from warpwright.families import workload
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
    assert GEMM.units(plan, found["ragged"].problem) >= found["ragged"].clusters > 1
    assert found["ragged"].resident == 0
    assert sizes["batch"]["L"] >= 2
    assert sizes["batch"]["K"] < d.tile_k * max(d.stages, 3)
    assert sizes["k_long"]["K"] > 2 * d.stages * d.tile_k
    assert sizes["k_zero"]["K"] == 0
    assert sizes["tiny"] == {"M": 1, "N": 8, "K": 8, "L": 1}
    assert {seed for case in found.values() for seed in case.seeds} == {1, 2, 3}
    assert {case.problem.fill for case in found.values()} == {"normal", "integer"}
    return found


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
    assert [case.problem.zero for case in check(plan).values() if case.problem.zero] == [("beta",)]
    assert {case.problem.name for case in GEMM.compared(plan)} == {"tiles", "ragged", "k_long_normal", "beta_zero"}
    assert all(len(case.seeds) == 1 for case in GEMM.compared(plan))
