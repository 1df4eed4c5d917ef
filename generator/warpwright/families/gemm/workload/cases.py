"""The small problems on which a variant is emulated: each has properties that some broken kernel got wrong.

Extents follow the plan's tile, cluster, ring, subtiles and raster and are the smallest that have the property: an
emulated tile costs milliseconds. Where one extent may be chosen freely, D ends in another subtile in each case, so that
all together take every branch of the way out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from warpwright.device.problem import Case
from warpwright.dtypes import dtype
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.families.gemm.workload.edges import Edge, edge_of
from warpwright.families.gemm.workload.problems import multiplication
from warpwright.families.gemm.workload.tiles import tile_of
from warpwright.plan.types import Plan

__all__ = ["compared", "small"]

_LONG_K = 4091  # prime: no tile divides it
#: Tiles of the longest walk, if D stays below so many bytes: more than a counter of 8 bits counts.
_TILES, _BYTES = 300, 1 << 24


def small(plan: Plan, scalars: Iterable[str], switches: Iterable[str]) -> list[Case]:
    """Return the cases of a plan; `switches` are those of its `scalars` that turn a tile operand off."""
    t: GemmDesign = plan.design
    edge, problem = edge_of(plan), multiplication
    m, n, k = t.tile_m, t.tile_n, t.tile_k
    cluster = (m * t.cluster_m, n * t.cluster_n)
    along, across = cluster if edge.mode == "M" else cluster[::-1]  # of a cluster: D's contiguous mode, and the other
    half = (n if edge.mode == "M" else m) // 2
    # Each consumer must go round its tile loop at least twice; pingpong consumers take every other tile.
    tiles, batches = (4, 4) if t.schedule == "pingpong" else (3, 2)
    ends = itertools.count(1)  # subtiles in which D ends, the next one in each case
    batched = edge.tail(next(ends))  # a subtile that begins where the last whole 16 bytes end
    ragged, long_, extreme = (edge.mixed(next(ends)) for _ in range(3))

    def case(name: str, extents: tuple[int, int], depth: int, *seeds: int, **given: Any) -> Case:
        return Case(problem(name, *extents, depth, **given), 1, 1, seeds)

    cases = [
        case("tiny", (1, 8), 8, 1, odd_strides=True),
        # The last tile holds nothing but what threads store; before it a whole one shows every accumulator.
        case("k_zero", edge.extents(along + edge.tail(0), across), 0, 2, fill="integer"),
        # K shorter than the ring, several tiles per CTA.
        case("batch", edge.extents(batched, across - 5), k + 1, 1, l=batches, fill="integer", padding=2),
        # Ragged in every extent; several clusters in flight, of which some compute one tile more than others.
        replace(
            case("ragged", edge.extents(along + ragged, 2 * across + half + 1), 2 * k + k // 2 + 3, 3),
            clusters=4,
            resident=0,
        ),
        # Aligned, several tiles per CTA, each of one stage more than the ring: the ring's ends fall inside tiles.
        case("tiles", (cluster[0], tiles * cluster[1]), (t.stages + 1) * k, 1, 2, fill="integer"),
        # K much longer than the ring.
        case("k_long", edge.extents(long_, half + 3), (2 * t.stages + 2) * k - 5, 3, fill="integer"),
        # NaN, infinities, overflow, subnormals, -0 in every operand.
        case("extreme", edge.extents(extreme, across - 3), k + 5, 2, fill="extreme"),
        _walk(t, edge, dtype(next(a.dtype for a in plan.arguments if a.output)).bytes),
    ]
    for scalar in sorted({*switches}):
        cases.append(case(f"{scalar}_zero", edge.extents(edge.tail(next(ends)), half + 1), k, 3, zero=(scalar,)))
    for scalar in sorted({*scalars}):
        extents = edge.extents(edge.mixed(next(ends)), half + 3)
        cases.append(case(f"{scalar}_special", extents, 8, 1, fill="integer", special=(scalar,)))
    # The subtiles in which nothing ended yet.
    for subtile in sorted({*range(1, edge.subtiles)} - {at % edge.subtiles for at in range(1, next(ends))}):
        cases.append(case(f"edge_{subtile}", edge.extents(edge.mixed(subtile), half + 3), 8, 1, fill="integer"))
    return cases


def _walk(t: GemmDesign, edge: Edge, element_bytes: int) -> Case:
    """A long walk over the raster, of which one cluster goes its own way, up to the very last tile.

    More tiles than 16, 64 and, if D does not grow too large, 256, more than 64 of them in each of two batches; many
    bands, the last one ragged; two columns of tiles, of the second of which only a few elements exist; more tiles of
    one stage each than the ring has stages.
    """
    sides = {"M": t.tile_m * t.cluster_m, "N": t.tile_n * t.cluster_n}
    walk, other = ("M", "N") if t.raster == "m" else ("N", "M")
    column = sides[other] + (edge.mixed(0) if other == edge.mode else 5)
    batches = 2
    longest = max(34, min(_TILES // 2, _BYTES // (sides[walk] * column * element_bytes)) // batches)
    rest = min(3, t.group - 1)  # clusters of the last band
    bands = (longest - rest) // t.group
    count = bands * t.group + rest if bands else longest
    row = (count - 1) * sides[walk] + (edge.mixed(1) if walk == edge.mode else 7)
    m, n = (row, column) if walk == "M" else (column, row)
    last = 2 * count * batches - 1
    counts, column_at = ((count, 2, batches), 1) if walk == "M" else ((2, count, batches), 0)
    clusters = next(
        step
        for step in range(last // max(3, t.stages + 1), 0, -1)
        if len({tile_of(t, counts, number)[column_at] for number in range(last % step, last + 1, step)}) == 2
    )
    only = (last % clusters,) if t.persistent else (0, last // 3, last - 1, last)
    return Case(multiplication("walk", m, n, 16, batches, fill="integer"), clusters, 0, (2,), only)


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
        if given.name in ("tiles", "ragged", "k_long_normal", "extreme") or given.zero:
            chosen.append(replace(case, problem=given, seeds=case.seeds[:1]))
    return chosen
