"""The standard problems that every variant is validated on: each exists because some kernel got it wrong once.

Extents follow the variant's own chunk, slice and ring, so that "a slice more" means for every variant what it says.
"""

from __future__ import annotations

from warpwright.device.problem import Fill, Problem
from warpwright.families.copy.workload.design import grain
from warpwright.plan.types import Plan

__all__ = ["of_length", "standard"]

#: SMs of the largest device that is validated on: each should have CTAs that go round.
_SMS = 132


def of_length(
    name: str,
    n: int,
    fill: Fill = "normal",
    zero: tuple[str, ...] = (),
    repeats: int = 0,
    special: tuple[str, ...] = (),
    in_place: bool = False,
) -> Problem:
    """Return the problem y (n) = alpha x (n)."""
    return Problem(name, (("N", n),), fill, zero=zero, repeats=repeats, special=special, in_place=in_place)


def standard(plan: Plan) -> list[Problem]:
    """Return the standard problems, cheap ones first."""
    d, g, problem = plan.design, grain(plan), of_length
    e, resident = d.stage_elements, _SMS * d.ctas_per_sm
    in_place = [problem("in_place", 3 * resident * e - g + 1, fill="integer", in_place=True)]
    return [
        problem("empty", 0),
        problem("one", 1),
        problem("below_grain", g - 1),
        problem("grain", g, fill="integer"),
        problem("above_grain", g + 1),
        problem("slice_less", d.slice_elements - g),
        problem("slice_more", d.slice_elements + g + 3, fill="integer"),
        problem("chunk", e),
        problem("chunk_less", e - 1, fill="integer"),
        problem("chunk_more", e + 1),
        problem("ring", (d.stages + 1) * e + 5, fill="integer"),
        problem("nonfinite", 2 * e + 7, fill="nonfinite"),
        problem("alpha_zero", 2 * e + 7, fill="nonfinite", zero=("alpha",)),
        problem("alpha_special", 2 * e + 7, fill="nonfinite", special=("alpha",)),
        problem("alpha_nan", 2 * e + 7, special=("alpha",)),
        problem("alpha_one", 2 * e + 7, fill="extreme"),
        problem("one_chunk_each", resident * e),
        problem("one_chunk_each_more", resident * e + g, fill="integer"),
        # Exactly once round the ring, all chunks whole; then more chunks per CTA, so that every stage is used again.
        problem("whole_ring", d.stages * resident * e, fill="integer"),
        problem("rounds", (2 * d.stages + 1) * resident * e - g + 1),
        # y, which is x, is stored behind chunks that are on their way.
        *(in_place if any(argument.in_place for argument in plan.arguments) else ()),
        problem("large", 2**27 + 13, fill="integer"),
        problem("timed", 2**28, fill="integer"),  # right everywhere else would not do
        # Offsets no longer fit into 32 bits, neither in bytes nor in elements.
        problem("beyond_2_31", 2**31 + 4099, repeats=2),
    ]
