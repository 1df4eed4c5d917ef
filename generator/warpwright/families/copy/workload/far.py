"""A copy so long that offsets fit into 32 bits neither in elements nor in bytes, of which a few chunks are copied."""

from __future__ import annotations

from warpwright.device.problem import Case
from warpwright.families.copy.workload.design import chunks, grain
from warpwright.families.copy.workload.problems import of_length
from warpwright.plan.types import Plan

__all__ = ["far"]


def far(plan: Plan) -> Case:
    """Return the case: a CTA for each chunk, of which those run that begin at 0, beyond 2^31, beyond 2^32, and last.

    And one from which as many elements are left as 32 bits hold without a sign only, in bytes of 2 and 4 as well.
    """
    size = plan.design.stage_elements
    n = 2**32 + 2 * size + size // 2 + grain(plan) + 1
    count = chunks(plan, n)
    only = (0, 3 * 2**29 // size, 2**31 // size + 1, 2**32 // size, count - 1)
    return Case(of_length("far", n, fill="integer"), count, 0, (1,), only)
