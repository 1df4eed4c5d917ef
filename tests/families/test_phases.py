"""What a family tells of its phases, held against its own prediction: two accounts of one kernel that must agree."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from tests.plan.space import legal_plans
from warpwright import resources
from warpwright.archs import H200, Device, device
from warpwright.device.problem import Problem
from warpwright.dtypes import dtype
from warpwright.families import target, workload
from warpwright.plan import plan
from warpwright.plan.advice import advise
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


@functools.cache
def told() -> tuple[tuple[Plan, Phases, float], ...]:
    """Of each plan and problem its phases and the predicted seconds: asked for once."""

    def each() -> Iterator[tuple[Plan, Phases, float]]:
        for planned in plans():
            chosen = target(planned.family, planned.arch)
            for sizes in extents(planned) if chosen.phases is not None else ():
                found = chosen.phases(planned, sizes)
                if found is not None:
                    yield planned, found, chosen.predict(planned, sizes, device(planned.arch)).seconds

    return tuple(each())


def difference(planned: Plan, sizes: Mapping[str, int], phases: Phases, device: Device = H200) -> float:
    """How far the phases' time is from the predicted one, as a part."""
    seconds = phases.overlapped(device, phases.stages, phases.resident)
    return abs(seconds / target(planned.family, planned.arch).predict(planned, sizes, device).seconds - 1)


def differences(wrong: Mapping[str, float] | None = None) -> dict[str, list[float]]:
    """The same of all, by family; `wrong` multiplies fields first."""
    found: dict[str, list[float]] = {}
    for planned, phases, predicted in told():
        factors = {name: factor * getattr(phases, name) for name, factor in (wrong or {}).items()}
        seconds = replace(phases, **factors).overlapped(device(planned.arch), phases.stages, phases.resident)
        found.setdefault(planned.family, []).append(abs(seconds / predicted - 1))
    return found


def test_the_phases_of_every_family_come_to_its_prediction() -> None:
    found = differences()
    for name, each in found.items():
        assert max(each) < 1e-9, name
    assert min(len(found[name]) for name in ("gemm", "copy", "sgemm", "norm_act")) > 300


#: Devices that are slow in one way, and what a kernel is then bound by.
SLOW = {
    "DRAM": replace(H200, dram_bytes_per_second=H200.dram_bytes_per_second / 1000),
    "L2": replace(H200, l2_bytes_per_clock=H200.l2_bytes_per_clock / 100),
    "load latency": H200,
}


@pytest.mark.parametrize("slow", SLOW)
def test_they_agree_whatever_is_slow(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by what bounds few kernels on an H200, or none."""
    bounds: dict[str, list[str]] = {}
    for name in ("gemm", "copy", "sgemm", "norm_act"):
        module = importlib.import_module(f"warpwright.families.{name}.sm_90a.prediction")
        if slow == "load latency":
            monkeypatch.setattr(module, "LOAD_LATENCY", 100 * module.LOAD_LATENCY)
    device = SLOW[slow]
    for number, planned in enumerate(plans()):
        chosen = target(planned.family, planned.arch)
        more = [] if number % 15 else extents(planned)  # of every fifteenth
        for sizes in (large(planned), *more) if chosen.phases else ():
            phases, predicted = chosen.phases(planned, sizes, device), chosen.predict(planned, sizes, device)
            if phases is None or planned.family == "ladder":  # whose model has no limit but one
                continue
            assert difference(planned, sizes, phases, device) < 1e-9, (planned.label, sizes)
            bounds.setdefault(planned.family, []).append(predicted.bound)
    assert {family: slow in found for family, found in bounds.items()} == dict.fromkeys(bounds, True)
    assert len(bounds) == 4


def large(planned: Plan) -> Mapping[str, int]:
    """A problem of whole tiles, beside which weights and the like are little."""
    own = {"copy": {"N": 2**28}, "norm_act": {"M": 32768, "N": getattr(planned.design, "columns", 0)}}
    return own.get(planned.family, dict.fromkeys("MNK", 4096) | {"L": 1})


def test_slow_dram_takes_what_the_work_moves() -> None:
    """And little more, for what it loses while reads and writes alternate."""
    device = SLOW["DRAM"]
    for planned in plans():
        predicted = target(planned.family, planned.arch).predict(planned, large(planned), device)
        moved = workload(planned.family).work(planned, dict(large(planned))).bytes
        assert predicted.bound == "DRAM" or planned.family == "ladder", planned.label
        if predicted.bound == "DRAM":
            seconds = predicted.seconds - device.launch_seconds
            assert 0.99 < seconds * device.dram_bytes_per_second / moved < 1.2, planned.label


def test_what_sms_ask_for_is_what_their_plan_copies() -> None:
    """The bytes of the copies that the emulator counts, or those of the operands where warps load; and those of D."""
    for planned in plans():
        sizes, chosen = large(planned), target(planned.family, planned.arch)
        phases = chosen.phases(planned, sizes) if chosen.phases else None
        if phases is None:
            continue
        copied = workload(planned.family).copied(planned, Problem("large", tuple(sizes.items())))
        size = {c.tensor: dtype(c.dtype).bits / 8 for c in planned.main.copies if c.direction == "load"}
        read = sum(count * size[name] for name, count in copied.items() if name in size) or phases.read_bytes
        assert 1 <= phases.asked_bytes / (read + phases.written_bytes) < 1.01, planned.label


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
            assert phases.needed(device(planned.arch), phases.resident) == int(remark[1]), planned.label
            compared += 1
    assert compared > 100


def test_phases_name_what_the_plan_has() -> None:
    for planned, phases, _ in told():
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
        # That of a pair's leader counts the bytes of both CTAs.
        pair = phases.stage_bytes * (kernel.tensor_memory.ctas if kernel.tensor_memory else 1)
        rings += [b for b in kernel.barriers if b.name == "loaded" and b.transaction_bytes == pair]
        assert any(ring.stages == phases.stages for ring in rings), planned.label
        # A ring holds what is loaded, or rows that were made of it; c is no part of a stage, whatever it takes.
        held = {a.name for a in planned.arguments if a.role == "input" and a.kind != "scalar"} - {"c"} | {"rows"}
        stages = [b for b in kernel.buffers if b.name in held and b.shape[-1] == phases.stages]
        assert sum(b.bytes for b in stages) == phases.stages * phases.stage_bytes, planned.label


def test_the_stages_that_fit_are_those_that_rules_allow() -> None:
    """Shared memory holds as many, barriers and all, and not one more."""
    for file in sorted(resources.configs().glob("*.yaml")):
        for point in load(file).points():
            planned = plan(point)
            chosen = target(planned.family, planned.arch)
            if not planned.legal or chosen.phases is None or planned.family == "ladder":
                continue
            found = advise(planned, large(planned)).fitting_stages
            for stages in (found, found + 1) if found else ():
                deeper = plan(replace(point, design=point.design.model_copy(update={"stages": stages})))
                over = any(violation.rule == "shared_memory" for violation in deeper.violations)
                assert over == (stages > found), (planned.label, stages)
