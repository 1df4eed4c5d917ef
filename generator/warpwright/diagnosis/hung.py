"""What is added to the verdict of a validation that hangs: where the warps of the kernel's twin stand, built elsewhere.

Travels in bundles: imports nothing that a GPU host lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpwright.device.coverage import Asked, asked_problems
from warpwright.device.problem import Problem
from warpwright.device.supervise import Supervisor
from warpwright.diagnosis.measured import diagnose_measured
from warpwright.diagnosis.report import Report
from warpwright.errors import DeviceUnavailableError
from warpwright.plan.types import Plan

__all__ = ["TWIN", "hung", "problem_of", "with_twin"]

#: The folder of a built twin in that of its variant.
TWIN = "twin"


def problem_of(result: Mapping[str, Any], plan: Plan, asked: Asked) -> Problem | None:
    """Return the problem on which a validation hung, of those that it was asked for; None where it does not say."""
    if result["status"] != "hang":
        return None
    said = result["diagnosis"]
    return next((problem for problem in asked_problems(plan, asked) if f"problem {problem.name}, " in said), None)


def hung(plan: Plan, name: str, twin: Path, problem: Problem, supervisor: Supervisor) -> str:
    """Run the twin in a folder on a problem, and say what that shows. DeviceUnavailableError without a device."""
    report, _ = diagnose_measured(plan, name, twin, problem.sizes, supervisor)
    return _told(report)


def with_twin(result: dict[str, Any], folder: Path, plan: Plan, asked: Asked, supervisor: Supervisor) -> dict[str, Any]:
    """Return a validation's result with a diagnosis of its hang, where `folder`, the variant's, has a built twin; else
    as it is."""
    problem = problem_of(result, plan, asked) if (folder / TWIN).is_dir() else None
    if problem is None:
        return result
    try:
        text = hung(plan, result["variant"], folder / TWIN, problem, supervisor)
    except (DeviceUnavailableError, OSError) as error:
        text = f"its twin could not be run: {error}"
    return {**result, "diagnosis": f"{result['diagnosis']}; {text}"}


def _told(report: Report) -> str:
    if report.hang:
        return f"in its instrumented twin, {report.hang.head}"
    ends = {"ended": "ends", "wrong": "ends with wrong numbers", "hang": "hangs before its first mark"}
    return f"its instrumented twin {ends.get(report.status, f'ends as {report.status}')} on that problem"
