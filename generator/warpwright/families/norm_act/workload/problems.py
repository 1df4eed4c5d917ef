"""The standard problems that every variant is validated on: each exists because some kernel got it wrong once.

Extents follow the variant's own capacity, groups and ring.
"""

from __future__ import annotations

from warpwright.device.problem import Fill, Problem
from warpwright.families.norm_act.workload.design import NormDesign, grain, rows_at_once, rows_of_ring
from warpwright.plan.types import Plan

__all__ = ["LARGE_MEAN", "MAGNITUDES", "of_rows", "standard"]

#: SMs of the largest device that is validated on.
_SMS = 132
#: A problem of this name has rows whose mean is large beside their deviations.
LARGE_MEAN = "large_mean"
#: One whose name begins so has rows of zeros, rows whose variance is that of eps, and large and small ones.
MAGNITUDES = "magnitudes"


def of_rows(name: str, m: int, n: int, fill: Fill = "normal", padding: int = 0, repeats: int = 0) -> Problem:
    """Return the problem of M rows of N columns."""
    return Problem(name, (("M", m), ("N", n)), fill, padding=padding, repeats=repeats)


def standard(plan: Plan) -> list[Problem]:
    """Return the standard problems, cheap ones first."""
    d: NormDesign = plan.design
    g, n, problem = grain(plan), d.columns, of_rows
    resident = _SMS * d.ctas_per_sm * rows_at_once(plan)
    far = max(2 * rows_of_ring(plan), 2) + 1
    ragged = [
        problem("below_grain", 5, max(1, g - 1)),
        problem("grain", 5, g, fill="integer"),
        problem("above_grain", 5, min(g + 1, n)),
        problem("tail", 3 * d.groups + 1, n - 1),
        problem("half", 3 * d.groups + 1, max(1, n // 2 + g), padding=3),
    ]
    return [
        problem("no_rows", 0, n),
        problem("no_columns", 3, 0),
        problem("one", 1, 1),
        problem("one_row", 1, n),
        problem("one_column", 3 * d.groups + 2, 1),
        *ragged,
        problem("integer", 2 * d.groups + 1, n, fill="integer"),
        problem("nonfinite", 3 * d.groups + 7, n, fill="nonfinite"),
        problem(LARGE_MEAN, 2 * d.groups + 1, n),
        problem(MAGNITUDES, 2 * d.groups + 13, n),
        # Weight and bias with what is not finite, and with what takes activations to their ends.
        problem("extreme", 2 * d.groups + 1, max(1, n - 1), fill="extreme"),
        problem("extreme_full", 2 * d.groups + 1, n, fill="extreme"),
        problem("strided", 3 * d.groups + 1, n, padding=5),
        problem("one_row_each", resident, n),
        problem("one_row_each_more", resident + 1, n, fill="integer"),
        problem("ring", far * resident // 2 + 1, n),
        problem("timed", max(resident, (1 << 27) // n), n, repeats=2),
        # Offsets no longer fit into 32 bits.
        problem("beyond_2_31", (1 << 31) // n + 3, n, repeats=1),
    ]
