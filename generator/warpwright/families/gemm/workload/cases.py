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
from warpwright.families.gemm.workload.design import GemmDesign, TensorDesign
from warpwright.families.gemm.workload.edges import Edge, edge_of
from warpwright.families.products.problems import multiplication
from warpwright.families.products.tiles import tile_of
from warpwright.plan.types import Plan

__all__ = ["compared", "small"]

_LONG_K = 4091  # prime: no tile divides it
#: Tiles of K, at least: more than a counter of 6 bits counts, and many rounds of the ring.
_DEPTH = 67
#: Tiles of one cluster on the longest walk, more than a mask of 32 bits holds, where tiles are small: of so many
#: elements of D in all (a tile's way out is most of what it costs).
_TILES, _WALKED = 34, 34 * 128 * 64
#: Clusters along the longest walk and across it, and batches: more than counters of 7, 5 and 4 bits count.
_ALONG, _ACROSS, _BATCHES = 150, 41, 19


def small(plan: Plan, scalars: Iterable[str], switches: Iterable[str]) -> list[Case]:
    """Return the cases of a plan; `switches` are those of its `scalars` that turn a tile operand off."""
    t: GemmDesign | TensorDesign = plan.design
    edge, problem = edge_of(plan), multiplication
    m, n, k = t.tile_m, t.tile_n, t.tile_k
    cluster = (m * t.cluster_m, n * t.cluster_n)
    along, across = cluster if edge.mode == "M" else cluster[::-1]  # of a cluster: D's contiguous mode, and the other
    half = (n if edge.mode == "M" else m) // 2
    # Each consumer must go round its tile loop at least twice; pingpong consumers take every other tile.
    tiles, batches = (4, 4) if t.schedule == "pingpong" else (3, 2)
    short, rounds = max(1, t.stages - 2), -(-_DEPTH // (2 * t.stages))  # whole stages; times twice round the ring
    ends = itertools.count(1)  # subtiles in which D ends, the next one in each case
    if edge.by_tma:
        batched = edge.tail(next(ends))  # a subtile that begins where the last whole 16 bytes end
        ragged, long_, extreme = (edge.mixed(next(ends)) for _ in range(3))
        batch_short, extreme_short = 5, 3
    else:  # one extent whole, the other one an element short: where a tile is just not one that needs no guard
        ragged, long_ = edge.mixed(next(ends)), edge.mixed(next(ends))
        batched, extreme, batch_short, extreme_short = along, along - 1, 1, 0

    def case(name: str, extents: tuple[int, int], depth: int, *seeds: int, **given: Any) -> Case:
        return Case(problem(name, *extents, depth, **given), 1, 1, seeds)

    cases = [
        # No whole 16 bytes in all of D: its map has some all the same, and a store through it would write beside D.
        case("tiny", (1, 3), 8, 1, odd_strides=True),
        # The last tile holds nothing but what threads store; before it a whole one shows every accumulator.
        case("k_zero", edge.extents(along + edge.tail(0), across), 0, 2, fill="integer"),
        # K a stage shorter than the ring, several tiles per CTA.
        case(
            "batch", edge.extents(batched, across - batch_short), short * k + 1, 1, l=batches, fill="integer", padding=2
        ),
        # Ragged in every extent; several clusters in flight, of which some compute one tile more than others.
        replace(
            case("ragged", edge.extents(along + ragged, 2 * across + half + 1), 2 * k + k // 2 + 3, 3),
            clusters=4,
            resident=0,
        ),
        # Aligned, several tiles per CTA, each of a few stages more than the ring: the ring's ends fall inside tiles,
        # and a step too few at each tile's end never comes out right again.
        case("tiles", (cluster[0], tiles * cluster[1]), (t.stages + 1 + (t.stages > 2)) * k, 1, fill="integer"),
        # Each tile goes round the ring exactly once: whoever begins the next one is at the same stage, a phase on.
        case("ring", (cluster[0], tiles * cluster[1]), t.stages * k, 2, fill="integer"),
        # K much longer than the ring, and than 6 bits count; an even number of rounds.
        case("k_long", edge.extents(long_, half + 3), rounds * 2 * t.stages * k - 5, 3, fill="integer"),
        # NaN, infinities, overflow, subnormals, -0 in every operand.
        case("extreme", edge.extents(extreme, across - extreme_short), k + 5, 2, fill="extreme"),
        _walk(t, edge),
        *_bands(t),
    ]
    if any(argument.in_place for argument in plan.arguments):
        # C is D: two clusters load and store side by side, ahead of each other.
        extents = edge.extents(along + edge.mixed(0), 2 * across + half + 1)
        cases.append(replace(case("in_place", extents, k + 5, 1, 2, fill="integer", padding=1, in_place=True),
                             clusters=2, resident=2))  # fmt: skip
    for scalar in sorted({*switches}):
        cases.append(case(f"{scalar}_zero", edge.extents(edge.tail(next(ends)), half + 1), k, 3, zero=(scalar,)))
    for scalar in sorted({*scalars} - {*switches}):
        extents = edge.extents(edge.mixed(next(ends)), half + 3)
        cases.append(case(f"{scalar}_zero", extents, 8, 1, fill="nonfinite", zero=(scalar,)))
    for scalar in sorted({*switches}):  # among what is not finite, so that all of it shows
        cases.append(
            case(f"{scalar}_tiny", edge.extents(edge.tail(0), half + 1), 8, 2, fill="extreme", special=(scalar,))
        )
    for scalar in sorted({*scalars}):
        extents = edge.extents(edge.mixed(next(ends)), half + 3)
        cases.append(case(f"{scalar}_special", extents, 8, 1, fill="integer", special=(scalar,)))
    # The subtiles in which nothing ended yet.
    for subtile in sorted({*range(1, edge.subtiles)} - {at % edge.subtiles for at in range(1, next(ends))}):
        cases.append(case(f"edge_{subtile}", edge.extents(edge.mixed(subtile), half + 3), 8, 1, fill="integer"))
    return cases


def _walk(t: GemmDesign | TensorDesign, edge: Edge) -> Case:
    """A long walk over the raster, of which one cluster goes its own way, up to the very last tile.

    So many tiles that no counter of 16 bits holds their number, in many batches; many bands, the last one ragged; many
    columns, of the last of which only a few elements exist; more tiles of one stage each than the ring has stages.
    """
    sides = {"M": t.tile_m * t.cluster_m, "N": t.tile_n * t.cluster_n}
    walk, other = ("M", "N") if t.raster == "m" else ("N", "M")
    column = (_ACROSS - 1) * sides[other] + (edge.mixed(0) if other == edge.mode else 5)
    across = -(-column // sides[other])
    rest = min(3, t.group - 1)  # clusters of the last band
    bands = (_ALONG - rest) // t.group
    along = bands * t.group + rest if bands else _ALONG
    row = (along - 1) * sides[walk] + (edge.mixed(1) if walk == edge.mode else 7)
    m, n = (row, column) if walk == "M" else (column, row)
    counts, column_at = ((along, across, _BATCHES), 1) if walk == "M" else ((across, along, _BATCHES), 0)
    last = along * across * _BATCHES - 1
    problem = multiplication("walk", m, n, 16, _BATCHES, fill="integer")
    if not t.persistent and not t.takes_over:
        return Case(problem, 1, 0, (2,), (0, last // 3, last - 1, last))

    def columns(step: int) -> list[int]:
        return [tile_of(t, counts, number)[column_at] for number in range(last % step, last, step)]

    tiles = max(6, t.stages + 1, min(_TILES, _WALKED // (sides["M"] * sides["N"])))
    steps = range(last // tiles, 0, -1)
    # Few columns and many, in tiles that are whole.
    clusters = next(step for step in steps if min(columns(step)) < 4 and max(columns(step)) in range(32, across - 1))
    if t.takes_over:  # the same tiles, of which the first cluster is handed all others
        return Case(problem, 1, 1, (2,), tuple(range(last % clusters, last + 1, clusters)))
    return Case(problem, clusters, 0, (2,), (last % clusters,))


def _bands(t: GemmDesign | TensorDesign) -> list[Case]:
    """Bands of the raster of which the last one is whole, or lacks a single cluster; the walk has one of a few.

    Every cluster has one tile, and those at both ends of the last band are computed, and one across from its first.
    """
    sides = {"M": t.tile_m * t.cluster_m, "N": t.tile_n * t.cluster_n}
    walk, other = ("M", "N") if t.raster == "m" else ("N", "M")
    found = []
    for name, along in (("bands_whole", 2 * t.group), ("bands", 3 * t.group - 1)):
        extents = {walk: along * sides[walk], other: 3 * sides[other]}
        begin, count = 3 * ((along - 1) // t.group) * t.group, 3 * along
        problem = multiplication(name, extents["M"], extents["N"], 16, fill="integer")
        found.append(Case(problem, count, 0, (1,), tuple(sorted({begin, min(begin + t.group, count - 1), count - 1}))))
    return found


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
        if given.name in ("tiles", "ragged", "k_long_normal", "extreme", "in_place") or (
            given.zero and given.fill == "normal"
        ):
            chosen.append(replace(case, problem=given, seeds=case.seeds[:1]))
    return chosen
