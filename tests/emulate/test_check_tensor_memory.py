"""Tensor memory and MMAs of a run against the plan, on kernels for sm_100a that the emulator executes."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tests.build.test_tensor_memory import make_plan
from tests.emulate.blackwell import Kernel, Problem
from tests.emulate.test_blackwell import built
from tests.once import Once
from warpwright.emulate import parse
from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.variant.check_plan import Seen, SeenKernel, check_plan
from warpwright.plan.types import Plan, Role

Shown = dict[str, dict[Any, Any]]
ROLES = (Role("epilogue", 0, 4, None, ""), Role("consumer", 4, 1, None, ""), Role("producer", 5, 1, None, ""))
PROBLEMS = {1: Problem(384, 256, 320, 2), 2: Problem(300, 136, 72, 1)}
#: Boxes of A, and of B, that a problem loads: tiles, times k tiles, times CTAs.
BOXES = {1: 3 * 2 * 5, 2: 2 * 2 * 2 * 2}
AT = {1: 98_304, 2: 73_728}  # of the mbarriers


def plan_of(ctas: int, **changes: Any) -> Plan:
    plan = make_plan(ctas)
    memory = plan.main.tensor_memory
    assert memory
    memory = dataclasses.replace(memory, allocates="consumer", frees="consumer")
    kernel = dataclasses.replace(plan.main, **{"roles": ROLES, "tensor_memory": memory, **changes})
    return dataclasses.replace(plan, kernels=(kernel,))


@pytest.fixture(scope="session")
def shown_by(once: Once) -> dict[int, Shown]:
    """What a run of each kernel showed, by the CTAs of an MMA."""
    found = {}
    for ctas, name, rows in ((1, "gemm", 128), (2, "gemm_pair", 64)):
        kernel = Kernel(built(once, name), rows)
        result, right = kernel.run(parse(kernel.ptx), PROBLEMS[ctas], 1)
        assert right
        found[ctas] = result.observations
    return found


def differences(plan: Plan, shown: Shown, ctas: int) -> set[tuple[str, str, str]]:
    seen = SeenKernel(plan.main)
    elements = {"a": BOXES[ctas] * 64 * 128, "b": BOXES[ctas] * 64 * 128 // ctas}
    seen.add(elements, (0, 2), shown)
    return {(d.rule, d.expected, d.found) for d in check_plan(Seen(plan, (seen,)))}


@pytest.mark.parametrize("ctas", [1, 2])
def test_a_run_that_follows_the_plan(ctas: int, shown_by: dict[int, Shown]) -> None:
    assert differences(plan_of(ctas), shown_by[ctas], ctas) == set()


def test_what_a_pair_shows(shown_by: dict[int, Shown]) -> None:
    shown = shown_by[2]
    assert shown["tensor-memory"] == {"allocated": {(4, 256, 2)}, "freed": {(4, 256, 2)}, "permit": {4}}
    assert shown["tensor-mmas"] == {0x10200010: {4: 2 * 2 * 2 * 4}}
    loaded, consumed = (shown["mbarriers"][RESERVED + AT[2] + at] for at in (0, 24))
    assert (loaded["bytes"], loaded["arrivals"], loaded["ranks"]) == ({49_152}, {1}, {0})
    assert (consumed["bytes"], consumed["arrivals"], consumed["ranks"]) == ({0}, {1}, {0, 1})


def at(shown: Shown, ctas: int, offset: int) -> Any:
    return shown["mbarriers"][RESERVED + AT[ctas] + offset]


@pytest.mark.parametrize(
    ("ctas", "spoil", "told"),
    [
        (1, lambda s: s["tensor-memory"].update(allocated={(4, 512, 1)}),
         ("tensor memory: allocated", "256 columns by a CTA", "512 columns by a CTA")),
        (1, lambda s: s["tensor-memory"]["allocated"].add((0, 256, 1)),
         ("tensor memory: allocated by", "one warp (consumer)", "warp 0 (epilogue), warp 4 (consumer)")),
        (2, lambda s: s["tensor-memory"].update(freed={(4, 256, 1)}),
         ("tensor memory: freed", "256 columns by a pair", "256 columns by a CTA")),
        (2, lambda s: s["tensor-memory"].update(freed={(9, 256, 2)}),
         ("tensor memory: freed by", "one warp (consumer)", "warp 9 (no role)")),
        (1, lambda s: s["tensor-memory"].pop("freed"), ("tensor memory: freed", "256 columns by a CTA", "nothing")),
        (1, lambda s: s["tensor-memory"].pop("permit"),
         ("tensor memory: permit given up by", "one warp (consumer)", "nobody")),
        (1, lambda s: s["tensor-mmas"].update({0x8400010: s["tensor-mmas"].pop(0x8200010)}),
         ("MMAs: instruction descriptors", "0x8200010", "0x8400010")),
        (1, lambda s: s["tensor-mmas"][0x8200010].update({4: 119}),
         ("MMAs: of warp 4, for the stages that were loaded", "120", "119")),
        (1, lambda s: s["tensor-mmas"][0x8200010].update({5: 4}), ("MMAs: issued by warps", "4", "4, 5")),
        (2, lambda s: at(s, 2, 0)["ranks"].add(1),
         ("loaded[0]: used of a pair", "the leader's", "that of both CTAs")),
        (2, lambda s: at(s, 2, 72).update(ranks={1}), ("drained[1]: used of a pair", "the leader's", "its peer's")),
        (2, lambda s: at(s, 2, 8)["bytes"].add(24_576), ("loaded[1]: bytes per phase", "49152", "24576, 49152")),
        (2, lambda s: at(s, 2, 64).update(arrivals={4}), ("drained[0]: arrivals per phase", "8", "4")),
        (2, lambda s: s["tma"][2].update(copies=15), ("TMA load of b: boxes of (64, 64)", "16", "15")),
    ],
)  # fmt: skip
def test_every_difference_is_told(
    ctas: int, spoil: Callable[[Shown], Any], told: tuple[str, str, str], shown_by: dict[int, Shown]
) -> None:
    shown = copy.deepcopy(shown_by[ctas])
    spoil(shown)
    assert told in differences(plan_of(ctas), shown, ctas)


def test_ids_of_scale_factors_are_no_part_of_the_plan(shown_by: dict[int, Shown]) -> None:
    shown = copy.deepcopy(shown_by[1])
    shown["tensor-mmas"] = {0x08A00000: {4: 60}, 0x28A00010: {4: 60}}
    (mma,) = plan_of(1).main.mmas
    scaled = dataclasses.replace(mma, instruction="tcgen05.mma.kind::mxf8f6f4.block_scale", descriptor=0x08A00000)
    assert differences(plan_of(1, mmas=(scaled,)), shown, 1) == set()
    other = dataclasses.replace(scaled, descriptor=0x08200000)
    told = ("MMAs: instruction descriptors", "0x8200000", "0x8a00000")
    assert differences(plan_of(1, mmas=(other,)), shown, 1) == {told}


def test_a_plan_without_tensor_memory(shown_by: dict[int, Shown]) -> None:
    plan = plan_of(1, tensor_memory=None)
    assert differences(plan, shown_by[1], 1) == {("tensor memory", "none", "it is used")}


def test_a_plan_that_says_other_roles_than_ran(shown_by: dict[int, Shown]) -> None:
    roles = tuple(dataclasses.replace(role, name="drain" if role.name == "epilogue" else role.name) for role in ROLES)
    memory = plan_of(1).main.tensor_memory
    assert memory
    plan = plan_of(1, roles=roles, tensor_memory=dataclasses.replace(memory, allocates="drain"))
    assert differences(plan, shown_by[1], 1) == {
        ("tensor memory: allocated by", "one warp (drain)", "warp 4 (consumer)"),
        ("tensor memory: permit given up by", "one warp (drain)", "warp 4 (consumer)"),
    }
