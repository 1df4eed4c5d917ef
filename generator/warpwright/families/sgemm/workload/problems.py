"""The standard problems that every variant is validated on: each exists because some kernel got it wrong once.

Extents follow the variant's own tile and ring, so that "ragged" or "longer than the ring" mean for every variant what
they say.
"""

from __future__ import annotations

from warpwright.device.problem import Fill, Problem
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.types import Plan

__all__ = ["multiplication", "standard"]

#: Tiles of the longest K.
_DEPTH = 4096 + 3


def multiplication(
    name: str,
    m: int,
    n: int,
    k: int,
    l: int = 1,  # noqa: E741 - the mode's own name
    fill: Fill = "normal",
    padding: int = 0,
    odd_strides: bool = False,
    repeats: int = 0,
) -> Problem:
    """Return the problem D (l, m, n) = activation(A (l, m, k) B (l, k, n) + bias (n))."""
    sizes = (("M", m), ("N", n), ("K", k), ("L", l))
    return Problem(name, sizes, fill, padding, odd_strides, (), repeats)


def standard(plan: Plan) -> list[Problem]:
    """Return the standard problems, cheap ones first."""
    d: SgemmDesign = plan.design
    problem, m, n, k = multiplication, d.tile_m, d.tile_n, d.tile_k
    ragged_m, ragged_n, ragged_k = m + m // 2 + 1, n + n // 2 + 3, 3 * k + k // 2 + 3
    bands = (2 * d.group + max(1, d.group - 1), 2) if d.group <= 100 else (d.group + 1, 2)
    along, across = bands if d.raster == "m" else bands[::-1]
    return [
        problem("aligned", 2 * m, 2 * n, 4 * k),
        problem("aligned_integer", 2 * m, 2 * n, 4 * k, fill="integer"),
        problem("ragged_m", ragged_m, 2 * n, 4 * k, fill="integer"),
        problem("ragged_n", 2 * m, ragged_n, 4 * k, fill="integer"),
        problem("ragged_k", 2 * m, 2 * n, ragged_k, fill="integer"),
        problem("ragged", ragged_m, ragged_n, ragged_k),
        problem("ragged_integer_padded", 2 * m + 1, 2 * n + 1, k + 1, fill="integer", padding=3),
        problem("tiny", 1, 8, 8),
        problem("unit", 1, 1, 1, padding=1, odd_strides=True),
        problem("single_row", 1, n + 8, 2 * k, fill="integer", odd_strides=True),
        problem("single_column", m + 8, 1, 2 * k, fill="integer", odd_strides=True),
        problem("k_one", m + 5, n + 5, 1, odd_strides=True),
        problem("k_zero", ragged_m, ragged_n, 0, fill="integer"),
        problem("k_below_ring", 2 * m, 2 * n, max(1, d.stages - 1) * k, fill="integer"),
        problem("k_beyond_ring", 2 * m, 2 * n, (3 * d.stages + 1) * k - 5, fill="integer"),
        problem("k_long", m + 1, n + 1, 16384 + 7, fill="integer"),
        # More tiles of K than 12 bits count; sums stay far below 2^24, and so exact.
        problem("k_longest", m + 1, n + 1, _DEPTH * k - 5, fill="integer", repeats=2),
        problem("one_tile", m, n, 2 * k),
        problem("batch", ragged_m, n + 1, 2 * k + 1, 3, fill="integer", padding=2),
        problem("batch_normal", m + 3, ragged_n, 2 * k, 2),
        problem("l_zero", m, n, k, 0),
        problem("m_zero", 0, n, k),
        problem("n_zero", m, 0, k),
        problem("extreme", m + 7, n + 9, k + 3, fill="extreme"),
        # Several bands of the raster, the last one ragged, two tiles across.
        problem("bands", along * m - 3, across * n - 5, k, fill="integer"),
        # More tiles than an H200 has room for, so that a CTA computes several.
        problem("waves", 19 * m - 3, 18 * n - 5, 3 * k + 1, fill="integer"),
        # Each of them exactly once round the ring: the next one begins at the same stage, a phase on.
        problem("waves_of_a_ring", 19 * m, 18 * n, d.stages * k, fill="integer"),
        problem("large", 4099, 4111, 4091),
        # What is timed, and so trusted, most: right everywhere else would not do.
        problem("timed", 4096, 4096, 4096),
        # 46411 * 46419 > 2^31: offsets of D no longer fit into 32 bits.
        problem("beyond_2_31", 46411, 46419, 2 * k, fill="integer", repeats=2),
    ]
