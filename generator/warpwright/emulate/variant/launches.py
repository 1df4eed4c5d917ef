"""The launches that a variant's host function makes for a call, each held against the plan.

Called for a case that is run, and at extents, strides and offsets beyond 32 bits, where nothing is run: the host code
only computes with addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from warpwright.build import launch_capture
from warpwright.build.launch_capture import HostError, TensorValue
from warpwright.device.problem import Case, shape_of
from warpwright.device.tensors import layout
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.machine.launch import Launch
from warpwright.emulate.units.tma.tensor_map import TensorMap
from warpwright.emulate.variant.check_plan import Difference
from warpwright.emulate.variant.host_lines import HostLines
from warpwright.emulate.variant.launch_check import check
from warpwright.emulate.variant.tensor_maps import Given
from warpwright.families import workload
from warpwright.plan.types import KernelPlan, Plan

__all__ = ["Call", "Entry", "Host", "Launches", "huge", "launches"]

#: What a host function is to a caller: the values of a call in ABI order, to the launches that it makes.
Host = Callable[[Sequence[TensorValue | int | float]], tuple[launch_capture.Launch, ...]]

_APART = 1 << 44  # bytes between tensors that are never read


@dataclass(frozen=True)
class Entry:
    """One kernel of a plan in the PTX: its entry's name, and which of its parameters are tensor maps."""

    kernel: KernelPlan
    name: str
    maps: tuple[int, ...]  # in the order of tensor_maps.mapped
    lines: HostLines


@dataclass(frozen=True)
class Call:
    """One launch of a case, with what its tensor maps mean."""

    entry: Entry
    launch: Launch
    maps: Mapping[int, TensorMap]


@dataclass(frozen=True)
class Launches:
    """The launches that a case makes, and what is wrong with them; `runnable`: all of them can be run."""

    calls: tuple[Call, ...]
    findings: tuple[Finding, ...]
    differences: tuple[Difference, ...]
    runnable: bool


def launches(
    plan: Plan,
    host: Host,
    entries: Sequence[Entry],
    case: Case,
    values: Sequence[TensorValue | int | float],
) -> Launches:
    """Call the host function with the values of a case and hold what it launches against the plan; that it refuses the
    problem is a finding. Raises CaptureError."""
    problem, family = case.problem, workload(plan.family)
    try:
        seen = host(values)
    except HostError as error:
        text = f"the host function refuses the problem {dict(problem.sizes)}: {error}"
        return Launches((), (Finding("launch", text, about="refused"),), (), False)
    due = entries if family.units(plan, problem) else ()
    planned, launched = [entry.name for entry in due], [launch.kernel for launch in seen]
    if planned != launched:
        text = (
            f"the host function launches {', '.join(launched) or 'nothing'}, the plan has "
            f"{', '.join(planned) or 'nothing to do'}"
        )
        return Launches((), (Finding("launch", text, about="kernels"),), (), False)
    given = {
        argument.name: Given(argument, value)
        for argument, value in zip(plan.arguments, values, strict=True)
        if isinstance(value, TensorValue)
    }
    calls, findings, differences, runnable = [], list[Finding](), list[Difference](), True
    wanted = family.launched(plan, problem, case.clusters) if due else ()
    for entry, launch, want in zip(due, seen, wanted, strict=True):
        checked = check(entry.kernel, entry.maps, launch, want, given, entry.lines)
        findings += checked.findings
        differences += checked.differences
        # Which cluster of a grid computes what is known of the planned one only.
        runnable = runnable and checked.runnable and (not case.only or launch.grid == want.grid)
        calls.append(Call(entry, Launch(**vars(launch)), checked.maps))
    return Launches(tuple(calls), tuple(findings), tuple(differences), runnable)


def huge(plan: Plan, host: Host, entries: Sequence[Entry]) -> list[tuple[Case, Launches]]:
    """Launch, and do not run, the family's huge problems; those beyond a limit of the plan must be refused. Raises
    CaptureError."""
    found = []
    for case in workload(plan.family).huge(plan):
        values, problem = _imagined(plan, case), dict(case.problem.sizes)
        beyond = plan.exceeded(problem)
        if beyond is None:
            found.append((case, launches(plan, host, entries, case, values)))
            continue
        try:
            host(values)
        except HostError:
            continue
        count = f"{beyond.count(problem)} {beyond.what}, of which it counts at most {beyond.most}"
        text = f"the host function takes the problem {problem}: {count}"
        found.append((case, Launches((), (Finding("launch", text, about=f"beyond {beyond.what}"),), (), False)))
    return found


def _imagined(plan: Plan, case: Case) -> list[TensorValue | int | float]:
    """The values of a call with tensors that nobody has: addresses, extents and strides alone."""
    problem, values = case.problem, list[TensorValue | int | float]()
    scalars = workload(plan.family).scalars(plan, problem)
    for number, argument in enumerate(plan.arguments, 1):
        if argument.kind == "scalar":
            values.append(case.clusters if argument.role == "grid_limit" else scalars[argument.name])
        else:
            strides = layout(argument, problem.extents, problem.padding, problem.odd_strides)
            address = number * _APART + argument.alignment
            values.append(TensorValue(address, shape_of(argument, problem.extents), strides, argument.dtype))
    return values
