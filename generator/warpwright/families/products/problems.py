"""The standard problems of a product: each exists because some kernel got it wrong once.

Extents follow the variant's own tile, cluster and ring, so that "ragged" or "longer than the ring" mean for every
variant what they say.
"""

from __future__ import annotations

from collections.abc import Sequence

from warpwright.device.problem import Fill, Problem
from warpwright.families.products.tiles import Tiled

__all__ = ["bands", "multiplication", "ragged", "standard"]

#: Tiles of the longest K.
_DEPTH = 4096 + 3
#: Clusters along the walk beyond which no whole band is tried.
_LONGEST = 300


def multiplication(
    name: str,
    m: int,
    n: int,
    k: int,
    l: int = 1,  # noqa: E741 - the mode's own name
    fill: Fill = "normal",
    padding: int = 0,
    odd_strides: bool = False,
    zero: tuple[str, ...] = (),
    repeats: int = 0,
    special: tuple[str, ...] = (),
    in_place: bool = False,
) -> Problem:
    """Return the problem D (l, m, n) = A (l, m, k) B (l, k, n)."""
    sizes = (("M", m), ("N", n), ("K", k), ("L", l))
    return Problem(name, sizes, fill, padding, odd_strides, zero, repeats, special, in_place)


def bands(d: Tiled, whole: int, across: int) -> tuple[int, int]:
    """M and N of `whole` bands of the raster and one that lacks a cluster, `across` clusters wide."""
    along = min(whole * d.group + max(1, d.group - 1), _LONGEST)
    m, n = (along, across) if d.raster == "m" else (across, along)
    return m * d.tile_m * d.cluster_m - 3, n * d.tile_n * d.cluster_n - 5


def ragged(d: Tiled) -> tuple[int, int, int]:
    """M, N and K that end in the midst of a tile: of the second cluster, and of the fourth stage."""
    m, n, k = d.tile_m, d.tile_n, d.tile_k
    return m * d.cluster_m + m // 2 + 1, n * d.cluster_n + n // 2 + 3, 3 * k + k // 2 + 3


def standard(d: Tiled, special: Sequence[Problem]) -> list[Problem]:
    """Return the standard problems, cheap ones first; `special` are those of the family's own operands."""
    problem, m, n, k = multiplication, d.tile_m, d.tile_n, d.tile_k
    cluster_m, cluster_n = m * d.cluster_m, n * d.cluster_n
    ragged_m, ragged_n, ragged_k = ragged(d)
    return [
        problem("aligned", 2 * cluster_m, 2 * cluster_n, 4 * k),
        problem("aligned_integer", 2 * cluster_m, 2 * cluster_n, 4 * k, fill="integer"),
        problem("ragged_m", ragged_m, 2 * cluster_n, 4 * k, fill="integer"),
        problem("ragged_n", 2 * cluster_m, ragged_n, 4 * k, fill="integer"),
        problem("ragged_k", 2 * cluster_m, 2 * cluster_n, ragged_k, fill="integer"),
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
        *special,
        # Several bands of the raster, the last one ragged, two tiles across.
        problem("bands", *bands(d, 2, 2), k, fill="integer"),
        # More tiles than an H200 has room for at once, so that a persistent CTA computes several.
        problem("waves", 19 * m - 3, 18 * n - 5, 3 * k + 1, fill="integer"),
        # Each of them exactly once round the ring: the next one begins at the same stage, a phase on.
        problem("waves_of_a_ring", 19 * m, 18 * n, d.stages * k, fill="integer"),
        problem("large", 4099, 4111, 4091),
        # What is timed, and so trusted, most: right everywhere else would not do.
        problem("timed", 4096, 4096, 4096),
        # 46411 * 46419 > 2^31: offsets of D no longer fit into 32 bits.
        problem("beyond_2_31", 46411, 46419, 2 * k, fill="integer", repeats=2),
    ]
