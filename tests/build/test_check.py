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


def _barrier(plan: Plan, name: str, **changes: Any) -> Plan:
    barriers = tuple(dataclasses.replace(b, **changes) if b.name == name else b for b in plan.barriers)
    return dataclasses.replace(plan, barriers=barriers)


def _tma(plan: Plan, tensor: str, **changes: Any) -> Plan:
    return dataclasses.replace(
        plan, tma=tuple(dataclasses.replace(t, **changes) if t.tensor == tensor else t for t in plan.tma)
    )


@pytest.mark.parametrize(
    ("change", "expected", "status"),
    [
        (lambda p: dataclasses.replace(p, threads=384), ["launch.block", "launch.reqntid"], "incorrect"),
        (lambda p: dataclasses.replace(p, cluster=(1, 2)), ["launch.cluster"], "incorrect"),
        (lambda p: dataclasses.replace(p, shared_bytes=40_991), ["launch.shared_bytes"], "degraded"),
        (lambda p: _barrier(p, "empty", arrivals=1), ["mbarrier.arrivals[empty]"], "incorrect"),
        (lambda p: _barrier(p, "full", stages=1), ["mbarrier.count", "mbarrier.offset"], "incorrect"),
        (lambda p: _barrier(p, "full", transaction_bytes=16_386), ["expect_tx.bytes[full]"], "incorrect"),
        (lambda p: _barrier(p, "empty", transaction_bytes=64), ["expect_tx.bytes[empty]"], "incorrect"),
        (lambda p: _barrier(p, "staged", arrivals=256), ["named_barrier[1]"], "incorrect"),
        (lambda p: _barrier(p, "staged", ids=(2,)), ["named_barrier[1]"], "incorrect"),
        (lambda p: _tma(p, "b", multicast=1), ["tma.kind", "tma.instructions[b]"], "incorrect"),
        (lambda p: _tma(p, "a", box=(64, 64, 1)), ["tma.kind", "tma.instructions[a]"], "incorrect"),
        (lambda p: _tma(p, "d", instructions=2), ["tma.instructions[d]"], "degraded"),
        (
            lambda p: dataclasses.replace(p, mma=dataclasses.replace(p.mma, instruction="wgmma.x", n=128)),
            ["mma.ptx", "mma.sass"],
            "degraded",
        ),
        (
            lambda p: dataclasses.replace(p, mma=dataclasses.replace(p.mma, per_k_tile=3)),
            ["mma.per_k_tile"],
            "degraded",
        ),
        (lambda p: dataclasses.replace(p, entry_registers=224), ["registers.entry"], "degraded"),
        (lambda p: dataclasses.replace(p, roles=p.roles[:1]), ["setmaxnreg.ptx", "setmaxnreg.sass"], "degraded"),
    ],
)
def test_one_contradiction_one_rule(
    plan: Plan, facts: dict[str, Any], change: Any, expected: list[str], status: str
) -> None:
    findings = check(change(plan), facts)
    assert [f.rule for f in findings] == expected
    assert verdict(findings) == status


def test_boundary_of_entry_registers(plan: Plan, facts: dict[str, Any]) -> None:
    assert rules(dataclasses.replace(plan, entry_registers=232), facts) == []
    assert rules(dataclasses.replace(plan, entry_registers=231), facts) == ["registers.entry"]


def test_stack(plan: Plan, facts: dict[str, Any]) -> None:
    facts["stack_bytes"] = 16
    assert rules(plan, facts) == ["stack"]


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [("local_bytes", 4, "spills"), ("wgmma_waits", 2, "mma.wgmma_waits"), ("wgmma_arrives", 2, "mma.wgmma_fences")],
)
def test_what_ptxas_did(plan: Plan, facts: dict[str, Any], key: str, value: int, rule: str) -> None:
    facts["sass"][key] = value
    assert rules(plan, facts) == [rule]
    assert verdict(check(plan, facts)) == "degraded"


def test_host_code_that_refuses_a_small_problem(plan: Plan, facts: dict[str, Any]) -> None:
    facts["launch"] = {"error": "ValueError: no"}
    (finding,) = check(plan, facts)
    assert (finding.rule, finding.found, finding.wrong) == ("launch.captured", "ValueError: no", True)


def test_barriers_in_one_buffer_follow_the_table(plan: Plan, facts: dict[str, Any]) -> None:
    """Planners may keep all mbarriers in one buffer."""
    merged = tuple(dataclasses.replace(b, bytes=32) for b in plan.buffers if b.name != "empty")
    whole = dataclasses.replace(_barrier(plan, "empty", buffer="full"), buffers=merged)
    assert rules(whole, facts) == []
    full, empty, *rest = whole.barriers
    swapped = dataclasses.replace(whole, barriers=(empty, full, *rest))
    assert "mbarrier.arrivals[empty]" in rules(swapped, facts)


def test_counts_are_compared_where_addresses_cannot_be_followed(plan: Plan, facts: dict[str, Any]) -> None:
    for init in facts["ptx"]["mbarriers"]:
        init["offset"] = None
    for expect in facts["ptx"]["expect_tx"]:
        expect["offset"] = None
    assert rules(plan, facts) == []
    facts["ptx"]["mbarriers"][0]["arrivals"] = 2
    assert rules(plan, facts) == ["mbarrier.arrivals"]


def test_unplanned_barrier(plan: Plan, facts: dict[str, Any]) -> None:
    extra = Barrier("extra", "mbarrier", 1, 1, 0, "", "", buffer="")
    found = rules(dataclasses.replace(plan, barriers=(*plan.barriers, extra)), facts)
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
    assert "mma.wgmma_waits" in [f.rule for f in second.findings]
    assert first.status == second.status == "degraded"
