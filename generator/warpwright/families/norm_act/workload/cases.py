"""The small problems on which a variant is emulated: each has a property that some broken kernel got wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from warpwright.device.problem import Case
from warpwright.families.norm_act.workload.design import NormDesign, chunk, grain, rows_at_once, rows_of_ring
from warpwright.families.norm_act.workload.problems import LARGE_MEAN, MAGNITUDES, of_rows
from warpwright.plan.types import Plan

__all__ = ["compared", "small"]

#: Elements of the longest problem: an emulated one takes some 100 instructions for each 32.
_MOST = 1 << 17
#: Columns beyond which one schedule of each has to do.
_LONG = 1 << 14
#: Columns, a prime, of rows whose numbers matter and whose length does not.
_FEW = 1021
#: Rows of one group: more than a mask of 32 bits holds.
_TURNS = 34
#: Beyond 2^31 elements; the rows between are not touched.
_FAR = 2**31


def small(plan: Plan) -> list[Case]:
    """Return the cases of a plan; the grid limit is below the number of rows where a CTA is to go round."""
    d: NormDesign = plan.design
    g, n, step = grain(plan), d.columns, rows_at_once(plan)
    # Through the ring twice and a bit, every group's rows as well, as far as an emulator is quick.
    ring = rows_of_ring(plan)
    far = min(2 * max(ring, step) + 1, max(_MOST // n, ring + 2, step + 2))
    few = max(1, min(n - 1, _FEW))
    cases = [
        Case(of_rows("no_rows", 0, n), 2, 0, (1,)),
        Case(of_rows("no_columns", 3, 0), 2, 0, (1,)),
        Case(of_rows("one", 1, 1), 2, 0, (1,)),
        Case(of_rows("one_column", step + 1, 1), 1, 0, (2,)),
        Case(of_rows("grain", step + 1, g), 1, 0, (1,)),
        Case(of_rows("full", 2 * step + 1, n), 2, 0, (1, 2)),
        Case(of_rows("integer", step + 1, n, fill="integer"), 1, 0, (1,)),
        Case(of_rows("nonfinite", 2 * step + 4, n, fill="nonfinite"), 1, 0, (3,)),
        # And shorter than it may be: what a thread without a tail still holds of one is not the next one's.
        Case(of_rows("nonfinite_tail", 2 * step + 4, max(1, n - 1), fill="nonfinite", padding=1), 1, 0, (3,)),
        # One behind the other: none may leave anything of its size to the next.
        Case(of_rows(MAGNITUDES, step + 12, few), 1, 0, (1,)),
        Case(of_rows("extreme", step + 1, few, fill="extreme"), 1, 0, (2,)),
        # What a row has not would deviate most.
        Case(of_rows(LARGE_MEAN, 2, max(1, n - 1), padding=1), 1, 0, (1,)),
        Case(of_rows("tail", step + 2, n - 1, padding=1), 2, 0, (1, 2)),
        # The last vector lies elsewhere among a thread's.
        Case(of_rows("quarter", step + 1, max(1, n // 4 + g + g // 2)), 1, 0, (1,)),
        Case(of_rows("half", 2 * step + 1, max(1, n // 2 + g + g // 2), padding=3), 2, 0, (2,)),
        Case(of_rows("ring", far, n, padding=2), 1, 1, (1, 2)),
        _distant(plan),
    ]
    if d.rows_per_group > 1:
        # Full rows have a body of their own.
        cases.append(Case(of_rows(f"{MAGNITUDES}_full", step + 6, n), 1, 0, (1,)))
        cases.append(Case(of_rows("extreme_full", step + 1, n, fill="extreme"), 1, 0, (2,)))
    if d.long:
        # A part of a row that is not whole, and hardly so.
        cases.append(Case(of_rows("part", 2, chunk(plan) - 1), 1, 0, (1,)))
    if d.ctas_per_row > 1:
        # Of one CTA's part all and no more, and one more, which the next one has; and nothing else.
        cases.append(Case(of_rows("part", step + 1, chunk(plan)), 2, 0, (1,)))
        cases.append(Case(of_rows("part_and_one", 2, chunk(plan) + 1, padding=1), 1, 0, (1, 2)))
    if n > _LONG:
        cases = [replace(case, seeds=case.seeds[:1]) for case in cases]
    if d.persistent:
        cases.append(Case(of_rows("turns", _TURNS * step + 1, max(1, min(n, 4 * g))), 1, 1, (2,)))
    if d.stages:
        cases.append(Case(of_rows("whole_ring", 2 * d.stages, max(1, min(n, 4 * g)), fill="integer"), 2, 0, (1,)))
        cases.append(Case(of_rows("long", 5 * d.stages + 3, max(1, min(n, 4 * g))), 1, 1, (2, 3)))
    return cases


def _distant(plan: Plan) -> Case:
    """Rows so far apart that offsets exceed 2^31 elements, of which the first and the last CTA run."""
    d: NormDesign = plan.design
    n, step = d.columns, rows_at_once(plan)
    rows = _FAR // n + 2 * step + 1
    last = rows if d.persistent else -(-rows // step)
    return Case(of_rows("distant", rows, n), rows, 0, (1,), (0, last - 1))


def compared(cases: Sequence[Case]) -> list[Case]:
    """Return those on which a device is compared with the emulator: whole and ragged ones, NaN and infinities."""
    chosen = ("full", "tail", "half", "nonfinite", "ring")
    return [replace(case, seeds=case.seeds[:1]) for case in cases if case.problem.name in chosen]
