"""The small problems on which a variant is emulated: each has a property that some broken kernel got wrong.

Extents follow the variant's tile, cluster and ring and are the smallest that have the property: an emulated CTA
tile costs milliseconds, and every variant must be through in two seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from warpwright.device.problem import Case
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.families.gemm.workload.problems import multiplication

__all__ = ["compared", "small"]

_LONG_K = 4091  # prime: no tile divides it


def small(design: GemmDesign, switches: Iterable[str]) -> list[Case]:
    """Return the cases of a design; `switches` are the scalars that turn a tile operand off."""
    t, problem = design, multiplication
    m, n, k = t.tile_m, t.tile_n, t.tile_k
    cluster_m, cluster_n = m * t.cluster_m, n * t.cluster_n
    # Each consumer must go round its tile loop at least twice; pingpong consumers take every other tile.
    tiles, batches = (4, 4) if t.schedule == "pingpong" else (3, 2)
    return [
        Case(problem("tiny", 1, 8, 8, odd_strides=True), 1, 1, (1,)),
        Case(problem("k_zero", m // 2 + 1, cluster_n + 3, 0, fill="integer"), 1, 1, (2,)),
        *(
            Case(problem(f"{scalar}_zero", m // 2 + 1, n // 2 + 3, k, zero=(scalar,)), 1, 1, (3,))
            for scalar in sorted({*switches})
        ),
        # K shorter than the ring, several tiles per CTA.
        Case(problem("batch", m - 5, n // 2 + 3, k + 1, batches, fill="integer", padding=2), 1, 1, (1, 2)),
        # Ragged in every extent, several clusters in flight.
        Case(problem("ragged", cluster_m + m // 2 + 1, cluster_n - n // 2 + 3, 2 * k + k // 2 + 3), 2, 0, (1, 2, 3)),
        # Aligned, several tiles per CTA, each of one stage more than the ring: the ring's ends fall inside tiles.
        Case(problem("tiles", cluster_m, tiles * cluster_n, (t.stages + 1) * k, fill="integer"), 1, 1, (1, 2, 3)),
        # K much longer than the ring.
        Case(problem("k_long", m // 2 + 1, n // 2 + 3, (2 * t.stages + 2) * k - 5, fill="integer"), 1, 1, (3,)),
    ]


def compared(cases: Sequence[Case]) -> list[Case]:
    """Return those on which a device is compared with the emulator, for what they show.

    Integers are exact whatever the order of the sum: any difference is a fault. Random operands with a long K show
    how the tensor core sums, ragged ones that everything else is alike; a tile operand that is switched off is never
    read.
    """
    chosen = []
    for case in cases:
        given = case.problem
        if given.name == "k_long":
            sizes = tuple((mode, _LONG_K if mode == "K" else extent) for mode, extent in given.sizes)
            given = replace(given, name="k_long_normal", sizes=sizes, fill="normal")
        if given.name in ("tiles", "ragged", "k_long_normal") or given.zero:
            chosen.append(replace(case, problem=given, seeds=case.seeds[:1]))
    return chosen
