"""What the verdict of a validation says of a hang: where the warps of the kernel's twin stand, on the same problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpwright import scratch
from warpwright.device.coverage import Asked, asked_problems
from warpwright.device.problem import Problem
from warpwright.device.supervise import Supervisor
from warpwright.diagnosis.measured import diagnose_measured
from warpwright.diagnosis.merge import merged
from warpwright.diagnosis.report import Report
from warpwright.diagnosis.twin import build_twin, twin_source
from warpwright.errors import DeviceUnavailableError, UserError
from warpwright.families import target
from warpwright.plan.types import Plan
from warpwright.render import render

__all__ = ["explained"]


def explained(
    result: Mapping[str, Any], plan: Plan, edited: str, asked: Asked, supervisor: Supervisor
) -> Mapping[str, Any]:
    """Return a validation's result with a diagnosis of its hang; as it is where it is none, or nothing can be added.

    Builds the twin and runs it on the GPU. edited: the kernel's source where a person has changed it; asked: what the
    validation was asked for, in whose order its problems come.
    """
    if result["status"] != "hang" or not target(plan.family, plan.arch).instrumented(plan):
        return result
    problems, done = asked_problems(plan, asked), len(result["problems"])
    if done >= len(problems):
        return result
    try:
        text = _measured(plan, result["variant"], edited, problems[done], supervisor)
    except (UserError, DeviceUnavailableError, OSError) as error:
        text = f"its twin could not be run: {error}"
    return {**result, "diagnosis": f"{result['diagnosis']}; {text}"}


def _measured(plan: Plan, name: str, edited: str, problem: Problem, supervisor: Supervisor) -> str:
    source = merged(render(plan), edited, twin_source(plan)) if edited else ""
    with scratch.folder("twin") as folder:
        twin = build_twin(plan, Path(folder) / name, source)
        report, _ = diagnose_measured(plan, name, twin.folder, problem.sizes, supervisor)
    return _told(report)


def _told(report: Report) -> str:
    if report.hang:
        return f"in its instrumented twin, {report.hang.head}"
    ends = {"ended": "ends", "wrong": "ends with wrong numbers", "hang": "hangs before its first mark"}
    return f"its instrumented twin {ends.get(report.status, f'ends as {report.status}')} on that problem"
