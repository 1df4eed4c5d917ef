"""A copy so long that offsets fit into 32 bits neither in elements nor in bytes, of which a few chunks are copied."""

from __future__ import annotations

from warpwright.device.problem import Case
from warpwright.dtypes import dtype
from warpwright.families.copy.workload.design import chunks, grain
from warpwright.families.copy.workload.problems import of_length
from warpwright.plan.types import Plan

__all__ = ["far", "most"]

#: Bytes of x, and twice those of y, beyond which there may be no addresses for a longer one (47 bits, on Linux).
_ROOM = 1 << 46


def far(plan: Plan) -> Case:
    """Return the case: a CTA for each chunk, of which those run that begin at 0, beyond 2^31, beyond 2^32, and last.

    And one from which as many elements are left as 32 bits hold without a sign only, in bytes of 2 and 4 as well.
    """
    size = plan.design.stage_elements
    n = 2**32 + 2 * size + size // 2 + grain(plan) + 1
    count = chunks(plan, n)
    only = (0, 3 * 2**29 // size, 2**31 // size + 1, 2**32 // size, count - 1)
    return Case(of_length("far", n, fill="integer"), count, 0, (1,), only)


def most(plan: Plan) -> Case:
    """Return a copy of as many chunks as can be counted, of which the first and the last are copied by CTAs of their
    own: the step to the next chunk is as long as it can be."""
    x, y = (dtype(plan.kernel[name]["dtype"]).bytes for name in "xy")
    n = min(plan.arguments[0].largest_extent, _ROOM // (x + 2 * y)) - 1
    count = chunks(plan, n)
    return Case(of_length("most", n, fill="integer"), count, 0, (1,), (0, count // 2, count - 1))
