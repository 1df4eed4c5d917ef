"""Every shipped variant's cases have the properties that the emulated evidence stands for."""

from __future__ import annotations

import pytest

from warpwright.device.problems import tiling
from warpwright.device.reference import Chain
from warpwright.emulate.problems import Case, cases
from warpwright.epilogue import registry
from warpwright.plan.types import Plan


def cluster_tiles(plan: Plan, case: Case) -> int:
    t, p = tiling(plan), case.problem
    return -(-p.m // (t.m * t.cluster_m)) * -(-p.n // (t.n * t.cluster_n)) * p.l


def test_properties_of_every_shipped_variant(shipped: list[Plan]) -> None:
    assert len(shipped) > 50
    for plan in shipped:
        t = tiling(plan)
        chain = Chain(plan, registry.get)
        found = {case.problem.name: case for case in cases(plan, chain.skips)}
        aligned, ragged, short = found["tiles"], found["ragged"], found["batch"]
        consumers = 2 if "ping" in plan.label else 1
        assert cluster_tiles(plan, aligned) >= 2 * consumers * aligned.clusters
        assert (aligned.problem.m % t.m, aligned.problem.n % t.n, aligned.problem.k % t.k) == (0, 0, 0)
        assert aligned.problem.k > t.stages * t.k
        assert all(extent % size for extent, size in ((ragged.problem.m, t.m), (ragged.problem.k, t.k)))
        assert ragged.problem.n % t.n
        assert cluster_tiles(plan, ragged) >= ragged.clusters > 1
        assert ragged.resident == 0
        assert short.problem.l >= 2
        assert short.problem.k < t.k * max(t.stages, 3)
        assert found["k_long"].problem.k > 2 * t.stages * t.k
        assert found["k_zero"].problem.k == 0
        assert (found["tiny"].problem.m, found["tiny"].problem.n, found["tiny"].problem.k) == (1, 8, 8)
        assert {seed for case in found.values() for seed in case.seeds} == {1, 2, 3}
        assert {case.problem.fill for case in found.values()} == {"normal", "integer"}


@pytest.mark.parametrize("operation", ["beta_c"])
def test_each_switch_of_a_tile_operand_is_turned_off_once(shipped: list[Plan], operation: str) -> None:
    plan = next(p for p in shipped if operation in p.label)
    assert [case.problem.zero for case in cases(plan, {"c": "beta"}) if case.problem.zero] == [("beta",)]
