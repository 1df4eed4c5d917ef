"""The small problems on which a variant is emulated: each has a property that some broken kernel got wrong.

Extents follow the variant's chunk and ring and are the smallest that have the property.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warpwright.device.problem import Case
from warpwright.dtypes import dtype
from warpwright.families.copy.workload.design import CopyDesign, grain
from warpwright.families.copy.workload.problems import of_length
from warpwright.plan.types import Plan

__all__ = ["compared", "small"]

#: Chunks of the longest walk, if x stays below so many bytes: more than a counter of 8 bits counts.
_CHUNKS, _BYTES = 262, 1 << 22
#: Chunks of one CTA: more than a mask of 32 bits holds.
_LONG = 34


def small(plan: Plan) -> list[Case]:
    """Return the cases of a plan; the grid limit is below the number of chunks where a CTA is to go round."""
    d, g = plan.design, grain(plan)
    e = d.stage_elements
    # Through the ring twice and a bit, and through the slots of the way out.
    far = 2 * max(d.stages, d.slots) + 1
    in_place = of_length("in_place", far * e + e // 2 + 5 * g + 1, fill="integer", in_place=True)
    return [
        Case(of_length("empty", 0), 2, 0, (1,)),
        Case(of_length("one", 1), 2, 0, (1,)),
        Case(of_length("below_grain", g - 1), 1, 0, (2,)),
        Case(of_length("chunk", e), 2, 0, (1, 2)),
        # Some of the last chunk's warps have nothing to do.
        Case(of_length("slice_more", e + d.slice_elements + g + 3, fill="integer"), 2, 0, (1, 2)),
        Case(of_length("nonfinite", 2 * e + g + 1, fill="nonfinite"), 3, 0, (3,)),
        Case(of_length("alpha_zero", e - 1, fill="nonfinite", zero=("alpha",)), 1, 1, (1,)),
        Case(of_length("alpha_special", e + 1, fill="nonfinite", special=("alpha",)), 1, 1, (2,)),
        Case(of_length("alpha_nan", g + 1, special=("alpha",)), 1, 1, (1,)),
        Case(of_length("alpha_one", e + g + 1, fill="extreme"), 1, 1, (1,)),
        # Several CTAs in flight, some with a chunk more than others; the last one ends within a warp's slice.
        Case(of_length("ragged", 4 * e + e // 2 + 5 * g + 1), 3, 0, (1, 2)),
        Case(of_length("ring", far * e + 5, fill="integer"), 1, 1, (1, 2)),
        # Two CTAs that go exactly once round the ring, all chunks whole; and one that goes on for long.
        Case(of_length("whole_ring", 2 * d.stages * e, fill="integer"), 2, 0, (1,)),
        Case(of_length("long", _LONG * e - g, fill="integer"), 1, 1, (2,)),
        # y is x: two CTAs load ahead of what they store.
        *([Case(in_place, 2, 0, (1, 2))] if any(argument.in_place for argument in plan.arguments) else ()),
        _walk(plan),
    ]


def _walk(plan: Plan) -> Case:
    """Many chunks, of which the first CTA and the last one go every third of the way; the last chunk is a short one.

    More than 16, 64 and, if x does not grow too large, 256.
    """
    d: CopyDesign = plan.design
    size = d.stage_elements * dtype(plan.kernel["x"]["dtype"]).bytes
    third = max(24, min(_CHUNKS, _BYTES // size) // 3)
    n = 3 * third * d.stage_elements + d.slice_elements + grain(plan) + 1
    return Case(of_length("walk", n, fill="integer"), third, 0, (3,), (0, third - 1))


def compared(cases: Sequence[Case]) -> list[Case]:
    """Return those on which a device is compared with the emulator: whole and ragged ones, NaN and infinities."""
    chosen = ("ring", "ragged", "nonfinite", "alpha_zero", "alpha_one", "in_place")
    return [replace(case, seeds=case.seeds[:1]) for case in cases if case.problem.name in chosen]
