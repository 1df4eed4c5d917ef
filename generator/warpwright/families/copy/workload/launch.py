"""What a copy's kernel must be launched with, and the problems at which only that is checked."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.device.problem import Case, Problem
from warpwright.families.copy.workload.design import chunks, whole
from warpwright.families.copy.workload.problems import of_length
from warpwright.families.running import Launched, View
from warpwright.plan.types import Plan

__all__ = ["huge", "launched"]

_LIMIT = 132 * 8  # CTAs in flight


def launched(plan: Plan, problem: Problem, clusters: int, scalars: Mapping[str, float]) -> Launched:
    """Return grid and by-value parameters, in whole numbers of any size."""
    n = problem.extents["N"]
    return Launched(
        grid=(min(max(chunks(plan, n), 1), clusters), 1, 1),
        maps={},
        values=(
            ("x", View("x", ("N",))),
            ("y", View("y", ("N",))),
            *scalars.items(),
            ("whole", whole(plan, n)),
            ("chunks", chunks(plan, n)),
        ),
    )


def huge(plan: Plan) -> list[Case]:
    """Return the problems: lengths around 2^31 and 2^32, as long as 32 bits number the chunks, and a chunk longer."""
    stage, most = plan.design.stage_elements, plan.arguments[0].largest_extent
    lengths = [2**31 - 1, 2**31 + 4099, 2**32 - 1, 2**32 + 4099, 2**33 + 5, most - stage // 2 - 1, most, most + stage]
    return [Case(of_length(f"huge_{n}", n), _LIMIT, 0, ()) for n in lengths]
