"""What every family must hold to, whatever its kernels do."""

from __future__ import annotations

import pytest

from warpwright import families, resources
from warpwright.canonical import plain
from warpwright.plan import plan
from warpwright.plan.stored import plan_from_json
from warpwright.plan.types import Plan
from warpwright.spec import load
from warpwright.spec.fields import Fields


@pytest.fixture(scope="module")
def plans() -> list[Plan]:
    """Of every shipped configuration."""
    files = sorted(resources.configs().glob("*.yaml"))
    found = [planned for file in files for p in load(file).points() if (planned := plan(p)).legal]
    assert len(found) > 80
    return found


@pytest.mark.parametrize("name", families.NAMES)
def test_a_family_is_what_the_registry_says(name: str) -> None:
    family, workload = families.family(name), families.workload(name)
    assert family.name == name
    assert tuple(family.problem.model_fields) == tuple(mode.lower() for mode in workload.modes)
    for arch, target in family.targets.items():
        assert target.arch.name == arch
        fields = Fields(name).paths
        assert {rule.field for rule in target.rules} <= set(fields)
        assert len({rule.id for rule in target.rules}) == len(target.rules)
        assert all(rule.statement for rule in target.rules)


def test_every_family_ships(plans: list[Plan]) -> None:
    assert {planned.family for planned in plans} == set(families.NAMES)


def test_every_warp_has_one_role_and_every_mbarrier_a_buffer(plans: list[Plan]) -> None:
    for planned in plans:
        assert planned.kernels, planned.label
        for kernel in planned.kernels:
            loads = any(copy.direction == "load" for copy in kernel.copies)
            if loads:  # asynchronous ones, which mbarriers count; roles may hand over by mbarriers without them
                assert any(barrier.kind == "mbarrier" for barrier in kernel.barriers), planned.label
            warps = [w for role in kernel.roles for w in range(role.first_warp, role.first_warp + role.warps)]
            assert sorted(warps) == list(range(kernel.threads // 32)), planned.label
            buffers = {buffer.name: buffer for buffer in kernel.buffers}
            assert all(b.buffer in buffers for b in kernel.barriers if b.kind == "mbarrier"), planned.label
            assert {copy.buffer for copy in kernel.copies} <= set(buffers), planned.label
            assert {copy.tensor for copy in kernel.copies} <= {a.name for a in planned.arguments} | {"c"}


def test_a_plan_is_read_back_as_it_was(plans: list[Plan]) -> None:
    for planned in plans:
        assert plan_from_json(plain(planned)) == planned


def test_problems_cases_and_work_of_every_plan(plans: list[Plan]) -> None:
    for planned in plans:
        workload = families.workload(planned.family)
        standard, cases = workload.problems(planned), workload.cases(planned)
        assert len({problem.name for problem in standard}) == len(standard) > 5
        assert cases
        assert {case.problem.name for case in workload.compared(planned)}
        for problem in (*standard, *(case.problem for case in cases)):
            assert tuple(mode for mode, _ in problem.sizes) == workload.modes or set(problem.extents) == set(
                workload.modes
            )
            work = workload.work(planned, problem.extents)
            assert work.rate in ("TFLOP/s", "TB/s")
            assert work.flop >= 0 <= work.bytes
