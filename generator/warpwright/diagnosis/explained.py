"""What the verdict of a validation says of a hang on a machine that can build: the twin is built for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpwright import scratch
from warpwright.device.coverage import Asked
from warpwright.device.supervise import Supervisor
from warpwright.diagnosis.hung import hung, problem_of
from warpwright.diagnosis.merge import merged
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
    validation was asked for.
    """
    problem = problem_of(result, plan, asked) if target(plan.family, plan.arch).instrumented(plan) else None
    if problem is None:
        return result
    source = ""
    try:
        if edited:
            source = merged(render(plan), edited, twin_source(plan))
        with scratch.folder("twin") as folder:
            twin = build_twin(plan, Path(folder) / result["variant"], source)
            text = hung(plan, result["variant"], twin.folder, problem, supervisor)
    except (UserError, DeviceUnavailableError, OSError) as error:
        text = f"its twin could not be run: {error}"
    return {**result, "diagnosis": f"{result['diagnosis']}; {text}"}
