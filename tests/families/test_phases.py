"""What a family tells of its phases, held against its own prediction: two accounts of one kernel that must agree."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from tests.plan.space import legal_plans
from warpwright import resources
from warpwright.archs import H200
from warpwright.families import target, workload
from warpwright.plan import plan
from warpwright.plan.phases import Phases
from warpwright.plan.types import Plan
from warpwright.spec import load


@functools.cache
def plans() -> tuple[Plan, ...]:
    """Of every shipped configuration, and random ones."""
    files = sorted(resources.configs().glob("*.yaml"))
    shipped = [planned for file in files for point in load(file).points() if (planned := plan(point)).legal]
    return (*shipped, *legal_plans(seed=5, count=40))


def extents(planned: Plan) -> Iterator[Mapping[str, int]]:
    """Those that its family is timed on, and what its standard problems have."""
    modes = workload(planned.family).modes
    yield dict.fromkeys(modes, 1) | dict.fromkeys(modes[:1], 4096)
    for problem in workload(planned.family).problems(planned):
        yield problem.extents


def told() -> Iterator[tuple[Plan, Mapping[str, int], Phases]]:
    for planned in plans():
        phases = target(planned.family, planned.arch).phases
        for sizes in extents(planned) if phases is not None else ():
            found = phases(planned, sizes)
            if found is not None:
                yield planned, sizes, found


def differences(wrong: Mapping[str, float] | None = None) -> dict[str, list[float]]:
    """How far the phases' time is from the predicted one, as a part, by family; `wrong` multiplies fields first."""
    found: dict[str, list[float]] = {}
    for planned, sizes, phases in told():
        factors = {name: factor * getattr(phases, name) for name, factor in (wrong or {}).items()}
        changed = replace(phases, **factors)
        seconds = changed.overlapped(H200, changed.stages, changed.resident)
        predicted = target(planned.family, planned.arch).predict(planned, sizes).seconds
        found.setdefault(planned.family, []).append(abs(seconds / predicted - 1))
    return found


def test_the_phases_of_every_family_come_to_its_prediction() -> None:
    found = differences()
    for name, each in found.items():
        assert max(each) < 1e-9, name
    assert min(len(found[name]) for name in ("gemm", "copy", "sgemm", "norm_act")) > 300


@pytest.mark.parametrize("field", ["latency", "steps", "exposed", "read_bytes", "written_bytes"])
@pytest.mark.parametrize("factor", [0, 3])
def test_phases_that_are_wrong_do_not(field: str, factor: int) -> None:
    found = differences({field: factor})
    assert max(found["gemm"]) > 0.02
    assert field == "exposed" or max(found["copy"]) > 0.02
    assert field == "exposed" or max(found["norm_act"]) > 0.1
    assert field not in ("steps", "exposed") or max(found["sgemm"]) > 0.5


def test_the_stages_that_hide_a_load_are_those_that_the_prediction_tells() -> None:
    """Where DRAM does not take longer than all else, which a gemm's remark leaves out."""
    large = {"copy": {"N": 2**28}, "gemm": {"M": 4096, "N": 4096, "K": 4096, "L": 1}}
    compared = 0
    for planned in plans():
        if planned.family not in large:
            continue
        chosen = target(planned.family, planned.arch)
        predicted = chosen.predict(planned, large[planned.family])
        remark = re.search(r"takes (\d+) stages", " ".join(predicted.notes))
        if remark and chosen.phases is not None:
            phases = chosen.phases(planned, large[planned.family])
            assert phases is not None
            assert phases.needed(H200, phases.resident) == int(remark[1]), planned.label
            compared += 1
    assert compared > 100


def test_phases_name_what_the_plan_has() -> None:
    for planned, _, phases in told():
        kernel = planned.main
        warps = kernel.threads // 32
        assert phases.producer_warps + phases.consumer_warps <= warps
        assert phases.stages * phases.stage_bytes <= kernel.shared_bytes
        assert 1 <= phases.registers <= 255
        assert 0 <= phases.held < phases.stages
        assert 0 <= phases.from_l2 < 1
        assert 0 <= phases.idle < 1
        full = (phases.stage_bytes, 0)  # none where warps fill a stage, and named barriers may tell of it
        rings = [b for b in kernel.barriers if b.name.endswith("_full") and b.transaction_bytes in full]
        assert any(ring.stages == phases.stages for ring in rings), planned.label
        # A ring holds what is loaded, or rows that were made of it; c is no part of a stage, whatever it takes.
        held = {a.name for a in planned.arguments if a.role == "input" and a.kind != "scalar"} - {"c"} | {"rows"}
        stages = [b for b in kernel.buffers if b.name in held and b.shape[-1] == phases.stages]
        assert sum(b.bytes for b in stages) == phases.stages * phases.stage_bytes, planned.label
