"""The small problems on which a variant is emulated: each has properties that some broken kernel got wrong.

Extents follow the plan's tile, ring and raster and are the smallest that have the property: what costs most is FFMAs,
thousands of them for each warp, tile and stage, and so a case has few stages, or few tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from warpwright.device.problem import Case
from warpwright.families.products.problems import multiplication
from warpwright.families.products.tiles import tile_of
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.types import Plan

__all__ = ["compared", "small"]

#: Tiles along the longest walk and across it, and batches: more than counters of 7, 5 and 4 bits count.
_ALONG, _ACROSS, _BATCHES = 150, 41, 19
#: Stages of the longest K: more than a counter of 5 bits counts, and many rounds of the ring.
_DEPTH = 35
#: Steps of K that the emulator's budget of instructions is enough for: of deep stages there are fewer then.
_STEPS = 1600
_VECTOR = 4  # elements of 16 bytes


def small(plan: Plan) -> list[Case]:
    """Return the cases of a plan; the grid limit is below the number of tiles where a CTA is to compute several."""
    d: SgemmDesign = plan.design
    m, n, k = d.tile_m, d.tile_n, d.tile_k

    def case(name: str, m: int, n: int, depth: int, *seeds: int, **given: Any) -> Case:
        return Case(multiplication(name, m, n, depth, **given), 1, 1, seeds)

    return [
        # No whole 16 bytes in all of D; strides of rows that mean nothing.
        case("tiny", 1, 3, 8, 1, odd_strides=True),
        case("k_zero", m + 5, n, 0, 2, fill="integer"),
        # K a stage shorter than the ring, and several tiles per CTA, in batches.
        case("batch", m - 5, n - 3, max(1, d.stages - 2) * k + 1, 1, l=2, fill="integer", padding=2),
        # Ragged in every extent; CTAs in flight of which some compute one tile more than others.
        replace(case("ragged", m + m // 2 + 3, n + n // 2 + 1, k + k // 2 + 3, 3), clusters=3, resident=0),
        # Aligned, each tile a stage more than the ring: its ends fall inside tiles, and a stage too few at a tile's end
        # never comes out right again.
        case("tiles", m, 3 * n, (d.stages + 1) * k, 1, fill="integer"),
        # Each tile goes round the ring exactly once: the next one begins at the same stage, a phase on.
        case("ring", m, 2 * n, d.stages * k, 2, fill="integer"),
        case("k_long", m - 1, n - 2, min(_DEPTH, _STEPS // k) * k - 5, 3, fill="integer"),
        # NaN, infinities, overflow, subnormals, -0 in every operand.
        case("extreme", m - 1, n - 3, k + 5, 2, fill="extreme"),
        *(case(f"edge_{at}", *extents, 0, 1, fill="integer") for at, extents in enumerate(_edges(plan))),
        *(case(f"depth_{depth}", m - 1, n - 2, depth, 1, fill="integer") for depth in _depths(d)),
        _walk(d),
        *_bands(d),
    ]


def _depths(d: SgemmDesign) -> list[int]:
    """Where threads load: K that ends within each of the vectors that one of them copies for a stage.

    In the first stage, in the last one that is asked for ahead, and in one that is asked for while others are computed.
    """
    if d.specialised:
        return []
    threads = 32 * d.warps_m * d.warps_n
    number = max(d.tile_m, d.tile_n) * d.tile_k // _VECTOR // threads
    ends = [at * d.tile_k // number + 1 for at in range(number)]
    return sorted({stage * d.tile_k + end for stage in (0, d.stages - 2, d.stages) for end in ends})


def _edges(plan: Plan) -> list[tuple[int, int]]:
    """M and N at which each row of a thread, and each of its columns, is the first that lies beyond D.

    A thread, the second lane here, asks for each of them by itself whether it is stored, and for each column in every
    row. Nothing is multiplied, so that this costs little.
    """
    d: SgemmDesign = plan.design

    def ends(operand: str, number: int, lanes: int) -> list[int]:
        """Side by side lie four of a thread's rows, or, where the operand is K-major, none of them."""
        width = 1 if plan.kernel[operand]["major"] == "k" else _VECTOR
        return [width + at // width * width * lanes + at % width for at in range(number)]

    rows, columns = ends("a", d.thread_m, d.lanes_m), ends("b", d.thread_n, d.lanes_n)
    return [*((m, d.tile_n) for m in rows), *((d.tile_m, n) for n in columns)]


def _walk(d: SgemmDesign) -> Case:
    """A long walk over the raster, of which one CTA goes its own way, up to the very last tile.

    So many tiles that no counter of 16 bits holds their number, in many batches; many bands, the last one ragged; many
    columns, of the last of which only a few elements exist; more tiles of one stage each than the ring has stages.
    """
    size = {"M": d.tile_m, "N": d.tile_n}
    walk, other = ("M", "N") if d.raster == "m" else ("N", "M")
    rest = min(3, d.group - 1)  # tiles of the last band
    bands = (_ALONG - rest) // d.group
    along = bands * d.group + rest if bands else _ALONG
    extents = {walk: (along - 1) * size[walk] + 7, other: (_ACROSS - 1) * size[other] + 5}
    counts, column_at = ((along, _ACROSS, _BATCHES), 1) if walk == "M" else ((_ACROSS, along, _BATCHES), 0)
    last = along * _ACROSS * _BATCHES - 1

    def columns(step: int) -> list[int]:
        return [tile_of(d, counts, number)[column_at] for number in range(last % step, last, step)]

    steps = range(last // max(6, d.stages + 1), 0, -1)
    # Few columns and many, in tiles that are whole.
    ctas = next(step for step in steps if min(columns(step)) < 4 and max(columns(step)) in range(32, _ACROSS - 1))
    problem = multiplication("walk", extents["M"], extents["N"], d.tile_k, _BATCHES, fill="integer")
    return Case(problem, ctas, 0, (2,), (last % ctas,))


def _bands(d: SgemmDesign) -> list[Case]:
    """Bands of the raster of which the last one is whole, or lacks a single tile; the walk has one of a few.

    Every CTA has one tile, and those at both ends of the last band are computed, and one across from its first.
    """
    size = {"M": d.tile_m, "N": d.tile_n}
    walk, other = ("M", "N") if d.raster == "m" else ("N", "M")
    found = []
    for name, along in (("bands_whole", 2 * d.group), ("bands", 3 * d.group - 1)):
        extents = {walk: along * size[walk], other: 3 * size[other]}
        begin, count = 3 * ((along - 1) // d.group) * d.group, 3 * along
        problem = multiplication(name, extents["M"], extents["N"], d.tile_k, fill="integer")
        only = tuple(sorted({begin, min(begin + d.group, count - 1), count - 1}))
        found.append(Case(problem, count, 0, (1,), only))
    return found


def compared(cases: Sequence[Case]) -> list[Case]:
    """Return those on which a device is compared with the emulator.

    FFMAs come in one order, so that random operands give the same bits as well.
    """
    chosen = ("tiles", "ragged", "k_long", "extreme")
    return [replace(case, seeds=case.seeds[:1]) for case in cases if case.problem.name in chosen]
