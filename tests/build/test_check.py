"""Each rule of the comparison fires on exactly its own contradiction."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from warpwright.build import Artifact, BuildJob, build
from warpwright.build.cache import Cache
from warpwright.build.check import check, verdict
from warpwright.build.kernels import pair
from warpwright.plan.types import Barrier, Plan


@pytest.fixture
def facts(built: tuple[Artifact, Path], plan: Plan, source: str, shared_cache: Cache) -> dict[str, Any]:
    entry = shared_cache.get(built[0].key)
    assert entry
    return copy.deepcopy(dict(entry.facts))


def rules(plan: Plan, facts: dict[str, Any]) -> list[str]:
    return [f.rule for f in check(plan, facts)]


def test_nothing_to_object(plan: Plan, facts: dict[str, Any]) -> None:
    assert check(plan, facts) == ()
    assert verdict(()) is None


def _main(plan: Plan, **changes: Any) -> Plan:
    return dataclasses.replace(plan, kernels=(dataclasses.replace(plan.main, **changes),))


def _barrier(plan: Plan, name: str, **changes: Any) -> Plan:
    barriers = tuple(dataclasses.replace(b, **changes) if b.name == name else b for b in plan.main.barriers)
    return _main(plan, barriers=barriers)


def _copy(plan: Plan, tensor: str, **changes: Any) -> Plan:
    copies = (dataclasses.replace(c, **changes) if c.tensor == tensor else c for c in plan.main.copies)
    return _main(plan, copies=tuple(copies))


def _mma(plan: Plan, **changes: Any) -> Plan:
    return _main(plan, mmas=tuple(dataclasses.replace(m, **changes) for m in plan.main.mmas))


def _constant(plan: Plan, **changes: Any) -> Plan:
    first, *rest = plan.constants
    return dataclasses.replace(plan, constants=(dataclasses.replace(first, **changes), *rest))


@pytest.mark.parametrize(
    ("change", "expected", "status"),
    [
        (lambda p: _main(p, threads=384), ["launch.reqntid", "launch.block"], "incorrect"),
        (lambda p: _main(p, cluster=(1, 2, 1)), ["launch.cluster"], "incorrect"),
        (lambda p: _main(p, cluster=(2, 1, 2)), ["launch.cluster"], "incorrect"),
        (lambda p: _main(p, shared_bytes=40_991), ["launch.shared_bytes"], "degraded"),
        (lambda p: _main(p, ctas_per_sm=1), [], None),
        (lambda p: _main(p, ctas_per_sm=2), ["launch.min_blocks"], "degraded"),
        (lambda p: _barrier(p, "empty", arrivals=1), ["mbarrier.arrivals[empty]"], "incorrect"),
        (lambda p: _barrier(p, "full", stages=1), ["mbarrier.count", "mbarrier.offset"], "incorrect"),
        (lambda p: _barrier(p, "full", transaction_bytes=16_386), ["expect_tx.bytes[full]"], "incorrect"),
        (lambda p: _barrier(p, "full", transaction_bytes=16_386, partial=True), [], None),
        (lambda p: _barrier(p, "full", transaction_bytes=16_382, partial=True), ["expect_tx.bytes[full]"], "incorrect"),
        (lambda p: _barrier(p, "empty", transaction_bytes=64), ["expect_tx.bytes[empty]"], "incorrect"),
        (lambda p: _barrier(p, "staged", arrivals=256), ["named_barrier[1]"], "incorrect"),
        (lambda p: _barrier(p, "staged", ids=(2,)), ["named_barrier[1]"], "incorrect"),
        (lambda p: _copy(p, "b", multicast=1), ["copy.kind", "copy.instructions[b]"], "incorrect"),
        (lambda p: _copy(p, "a", box=(64, 64, 1)), ["copy.kind", "copy.instructions[a]"], "incorrect"),
        (lambda p: _copy(p, "a", kind="bulk"), ["copy.kind", "copy.instructions[a]"], "incorrect"),
        (lambda p: _copy(p, "d", instructions=2), ["copy.instructions[d]"], "degraded"),
        (lambda p: _mma(p, instruction="wgmma.x", sass="HGMMA.64x128x16"), ["mma.ptx", "mma.sass"], "degraded"),
        (lambda p: _mma(p, per_stage=3), ["mma.per_stage"], "degraded"),
        (lambda p: _main(p, mmas=()), ["mma.ptx", "mma.sass"], "degraded"),
        (
            lambda p: _main(p, mmas=(*p.main.mmas, dataclasses.replace(p.main.mmas[0], per_stage=6))),
            [],  # two kinds of work with one instruction: 4 is a multiple of gcd(4, 6)
            None,
        ),
        (lambda p: _main(p, entry_registers=224), ["registers.entry"], "degraded"),
        (lambda p: _main(p, roles=p.main.roles[:1]), ["setmaxnreg.ptx", "setmaxnreg.sass"], "degraded"),
        (lambda p: _constant(p, value=32), ["constants[TILE_K]"], "degraded"),
        (lambda p: _constant(p, name="TILE"), ["constants[TILE]"], "degraded"),
        (lambda p: _constant(p, value="0x40"), [], None),
    ],
)
def test_one_contradiction_one_rule(
    plan: Plan, facts: dict[str, Any], change: Any, expected: list[str], status: str | None
) -> None:
    findings = check(change(plan), facts)
    assert [f.rule for f in findings] == expected
    assert verdict(findings) == status


def test_mmas_without_a_plan_are_named(plan: Plan, facts: dict[str, Any]) -> None:
    assert [str(f) for f in check(_main(plan, mmas=()), facts)] == [
        "mma.ptx: expected no MMA, found wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
        "mma.sass: expected no MMA, found HGMMA.64x64x16",
    ]


def test_a_kernel_without_the_planned_mma_is_wrong(plan: Plan, facts: dict[str, Any]) -> None:
    for level in ("ptx", "sass"):
        facts["kernels"][0][level]["mmas"] = {}
    assert [(f.rule, f.found, f.wrong) for f in check(plan, facts)] == [("mma.sass", "none", True)]


def test_bytes_that_are_announced_in_parts_add_up(plan: Plan, facts: dict[str, Any]) -> None:
    ptx = facts["kernels"][0]["ptx"]
    (expect, *rest) = ptx["expect_tx"]
    ptx["expect_tx"] = [{**expect, "bytes": 12288}, {**expect, "bytes": 4096}, *rest]
    assert rules(plan, facts) == []
    ptx["expect_tx"][1]["bytes"] = 2048
    assert set(rules(plan, facts)) == {"expect_tx.bytes[full]"}


def test_bytes_that_are_no_constant_need_a_barrier_that_allows_them(plan: Plan, facts: dict[str, Any]) -> None:
    for expect in facts["kernels"][0]["ptx"]["expect_tx"]:
        expect["bytes"] = None
    (finding,) = check(plan, facts)
    assert str(finding) == "expect_tx.bytes[full]: expected 16384, found no constant"
    assert rules(_barrier(plan, "full", partial=True), facts) == []


def test_missing_and_surplus_kernels(plan: Plan, facts: dict[str, Any]) -> None:
    second = dataclasses.replace(plan.main, name="finish")
    found = check(dataclasses.replace(plan, kernels=(plan.main, second)), facts)
    assert [(f.rule, f.expected, f.wrong) for f in found] == [("kernels", "kernel, finish", True)]
    facts["kernels"].append({**facts["kernels"][0], "name": "kernel_cutlass_finish__1"})
    assert rules(plan, facts) == ["kernels"]
    both = dataclasses.replace(plan, kernels=(plan.main, second))
    assert rules(both, facts) == ["launch.kernels"]
    facts["launch"]["launches"].append({**facts["launch"]["launches"][0], "kernel": "kernel_cutlass_finish__1"})
    assert rules(both, facts) == []
    narrow = dataclasses.replace(plan, kernels=(plan.main, dataclasses.replace(second, threads=128)))
    assert rules(narrow, facts) == ["finish.launch.reqntid", "finish.launch.block"]


def test_compiled_names_are_told_apart() -> None:
    names = ["kernel_cutlass_sum_rows_tensorptr_0", "kernel_cutlass_sum_tensorptr_1", "kernel_cutlass_kernel__2"]
    assert pair(["sum", "sum_rows", "kernel"], names) == [names[1], names[0], names[2]]
    assert pair(["sum", "other"], names) == [names[0], None]
    assert pair(["su", "kern"], names) == [None, None]
    assert pair(["renamed"], names[:1]) == names[:1]
    twice = ["kernel_cutlass_sum_a_0", "kernel_cutlass_sum_b_1"]
    assert pair(["sum", "sum"], twice) == twice
    assert pair(["sum", "sum", "x"], twice[:1]) == [twice[0], twice[0], None]


def test_boundary_of_entry_registers(plan: Plan, facts: dict[str, Any]) -> None:
    assert rules(_main(plan, entry_registers=232), facts) == []
    assert rules(_main(plan, entry_registers=231), facts) == ["registers.entry"]


def test_barrier_0_is_that_of_the_whole_cta_unless_the_plan_has_it(plan: Plan, facts: dict[str, Any]) -> None:
    facts["kernels"][0]["ptx"]["named_barriers"].append({"id": 0, "threads": 0})
    assert rules(plan, facts) == []
    assert rules(_barrier(plan, "staged", ids=(0, 1)), facts) == ["named_barrier[0]"]


def test_static_shared_memory_counts(plan: Plan, facts: dict[str, Any]) -> None:
    facts["kernels"][0]["static_shared_bytes"] = 16
    assert rules(plan, facts) == ["launch.shared_bytes"]
    assert rules(_main(plan, shared_bytes=plan.shared_bytes + 16), facts) == []


def test_stack(plan: Plan, facts: dict[str, Any]) -> None:
    facts["kernels"][0]["stack_bytes"] = 16
    assert rules(plan, facts) == ["stack"]


@pytest.mark.parametrize(
    ("opcode", "rule"),
    [("WARPGROUP.DEPBAR.LE", "mma.pairs[wgmma.wait_group]"), ("WARPGROUP.ARRIVE", "mma.pairs[wgmma.fence]")],
)
def test_what_ptxas_adds(plan: Plan, facts: dict[str, Any], opcode: str, rule: str) -> None:
    facts["kernels"][0]["sass"]["opcodes"][opcode] += 1
    assert rules(plan, facts) == [rule]
    assert verdict(check(plan, facts)) == "degraded"


def test_spills(plan: Plan, facts: dict[str, Any]) -> None:
    facts["kernels"][0]["sass"]["local_bytes"] = 4
    assert rules(plan, facts) == ["spills"]


def test_host_code_that_refuses_a_small_problem(plan: Plan, facts: dict[str, Any]) -> None:
    facts["launch"] = {"error": "ValueError: no"}
    (finding,) = check(plan, facts)
    assert (finding.rule, finding.found, finding.wrong) == ("launch.captured", "ValueError: no", True)


def test_barriers_in_one_buffer_follow_the_table(plan: Plan, facts: dict[str, Any]) -> None:
    """Planners may keep all mbarriers in one buffer."""
    merged = tuple(dataclasses.replace(b, bytes=32) for b in plan.main.buffers if b.name != "empty")
    whole = _main(_barrier(plan, "empty", buffer="full"), buffers=merged)
    assert rules(whole, facts) == []
    full, empty, *rest = whole.main.barriers
    swapped = _main(whole, barriers=(empty, full, *rest))
    assert "mbarrier.arrivals[empty]" in rules(swapped, facts)


@pytest.mark.parametrize(
    ("threads", "found"), [(128, []), (None, []), (96, ["named_barrier[1]"]), (0, ["named_barrier[1]"])]
)
def test_a_named_barrier_counts_what_the_plan_says(
    plan: Plan, facts: dict[str, Any], threads: int | None, found: list[str]
) -> None:
    """No more threads and no fewer; a count that is no constant cannot be told."""
    (staged,) = (b for b in plan.main.barriers if b.name == "staged")
    assert (staged.ids, staged.arrivals) == ((1,), 128)
    facts["kernels"][0]["ptx"]["named_barriers"] = [{"id": 1, "threads": threads}]
    assert rules(plan, facts) == found


def test_parts_of_a_stage_that_announce_too_much_are_wrong(plan: Plan, facts: dict[str, Any]) -> None:
    ptx = facts["kernels"][0]["ptx"]
    expect, *rest = ptx["expect_tx"]
    for parts, fine in (((12288, 4096), True), ((12288, 4112), False), ((12288, 4080), False), ((8192,) * 3, False)):
        ptx["expect_tx"] = [*({**expect, "bytes": part} for part in parts), *rest]
        assert set(rules(plan, facts)) == (set() if fine else {"expect_tx.bytes[full]"}), parts


def test_each_stage_of_a_barrier_has_its_count_and_its_place(plan: Plan, facts: dict[str, Any]) -> None:
    """One stage of several that counts wrong, and one that is initialised in the place of another."""
    inits = facts["kernels"][0]["ptx"]["mbarriers"]
    starts = {b.name: b.offset for b in plan.main.buffers}
    several = [b for b in plan.main.barriers if b.kind == "mbarrier" and b.stages > 1]
    assert several
    for barrier in several:
        for stage in range(barrier.stages):
            place = starts[barrier.buffer] + 8 * stage
            (init,) = (each for each in inits if each["offset"] == place)
            init["arrivals"] += 1
            assert rules(plan, facts) == [f"mbarrier.arrivals[{barrier.name}]"]
            init["arrivals"] -= 1
            init["offset"] = starts[barrier.buffer] + 8 * ((stage + 1) % barrier.stages)
            assert rules(plan, facts) == [f"mbarrier.arrivals[{barrier.name}]"]
            init["offset"] = place


def test_counts_are_compared_where_addresses_cannot_be_followed(plan: Plan, facts: dict[str, Any]) -> None:
    ptx = facts["kernels"][0]["ptx"]
    for init in ptx["mbarriers"]:
        init["offset"] = None
    for expect in ptx["expect_tx"]:
        expect["offset"] = None
    assert rules(plan, facts) == []
    ptx["mbarriers"][0]["arrivals"] = 2
    assert rules(plan, facts) == ["mbarrier.arrivals"]


def test_groups_may_initialise_barriers_of_their_own(plan: Plan, facts: dict[str, Any]) -> None:
    """Two groups of warps run the same code, each for half of the barriers; a third of them is no whole share."""
    ptx = facts["kernels"][0]["ptx"]
    for expect in ptx["expect_tx"]:
        expect["offset"] = None
    inits = [{**init, "exact": False} for init in ptx["mbarriers"]]
    kinds = {init["arrivals"]: [each for each in inits if each["arrivals"] == init["arrivals"]] for init in inits}
    assert {len(each) % 2 for each in kinds.values()} == {0}
    half = [each for kind in kinds.values() for each in kind[::2]]
    ptx["mbarriers"] = half
    assert rules(plan, facts) == []
    ptx["mbarriers"] = half[1:] or inits[:3]
    assert "mbarrier.arrivals" in rules(plan, facts)
    ptx["mbarriers"] = [{**each, "exact": True} for each in half]
    assert "mbarrier.count" in rules(plan, facts)


def test_unplanned_barrier(plan: Plan, facts: dict[str, Any]) -> None:
    extra = Barrier("extra", "mbarrier", 1, 1, 0, "", "", buffer="")
    found = rules(_main(plan, barriers=(*plan.main.barriers, extra)), facts)
    assert found == ["mbarrier.count", "mbarrier.arrivals"]


def test_what_ptxas_undoes_is_found(plan: Plan, source: str, tmp_path: Path) -> None:
    """Without .minnctapersm ptxas ignores setmaxnreg; an accumulator touched in flight makes it wait after each MMA."""
    ignored = source.replace("min_blocks_per_mp=1", "min_blocks_per_mp=0")
    touched = source.replace("warpgroup.commit_group()", "acc[0] = acc[0] + 1.0", 1)
    texts = {"ignored": ignored, "touched": touched}
    assert source not in texts.values()
    jobs = [BuildJob(text, plan, tmp_path / name) for name, text in texts.items()]
    first, second = build(jobs, 2, cache=Cache(tmp_path / "cache"))
    assert [f.rule for f in first.findings] == ["setmaxnreg.sass"]
    assert "mma.pairs[wgmma.wait_group]" in [f.rule for f in second.findings]
    assert first.status == second.status == "degraded"
