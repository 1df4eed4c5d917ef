"""What an SGEMM's kernel must be launched with, and the problems at which only that is checked."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.device.problem import Case, Problem
from warpwright.families.running import Launched, View
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.families.sgemm.workload.problems import multiplication
from warpwright.families.sgemm.workload.tiles import ceil, count, grid
from warpwright.plan.types import Limit, Plan

__all__ = ["huge", "launched"]

_LIMIT = 264  # CTAs in flight, two on each SM of an H200


def launched(plan: Plan, problem: Problem, ctas: int) -> Launched:
    """Return grid, extents and by-value parameters, in whole numbers of any size."""
    d: SgemmDesign = plan.design
    extents = problem.extents
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    depth = max(k, 1)  # nothing is loaded of an empty K, but a map has no empty extents
    maps: Mapping[str, tuple[int, ...]] = {}
    given: tuple[tuple[str, View], ...] = ()
    if d.specialised:
        maps = {"a": (m, depth, batches), "b": (n, depth, batches)}
    else:
        given = (("a_mkl", View("a", ("M", "K", "L"))), ("b_nkl", View("b", ("N", "K", "L"))))
    return Launched(
        grid=(min(count(d, extents), ctas), 1, 1),
        maps=maps,
        values=(
            *given,
            ("d_mnl", View("d", ("M", "N", "L"))),
            *((a.name, View(a.name, a.shape)) for a in plan.arguments if a.kind == "vector"),
            *(("clusters", extent) for extent in grid(d, extents)),
            ("cluster_tiles", count(d, extents)),
            ("k_tiles", ceil(k, d.tile_k)),
        ),
    )


def huge(plan: Plan) -> list[Case]:
    """Return the problems; padding counts 16 bytes, added to each row and to each batch."""
    d: SgemmDesign = plan.design
    k, problem = d.tile_k, multiplication
    found = [
        problem("huge_d", 46411, 46419, 2 * k + 1),  # M N > 2^31
        problem("huge_k", 2 * d.tile_m + 1, 2 * d.tile_n + 1, 5000 * k + 1),
        # Batches apart by more than 2^31 bytes and 2^32 bytes, and by more than as many elements.
        *(problem(f"far_batches_{bits}", 33, 41, k + 1, 3, padding=(1 << bits - 4) // 30) for bits in (32, 33, 35, 36)),
        # Rows apart by more: of 2^36 bytes, with 2^40 as what a tensor map holds.
        *(problem(f"far_rows_{bits}", 5, 7, 6, 2, padding=1 << bits - 4) for bits in (32, 33, 36)),
        problem("many_batches", 3, 5, 7, 70001),
        problem("long_k", 8, 8, 2**31 - 1),
    ]
    for limit in plan.limits:  # as much as can be counted, and one more
        for more in (0, 1):
            extents = _extents(limit, limit.most + more)
            name = f"most_{''.join(mode for mode, _ in limit.modes).lower()}" + "_and_one" * more
            if max(extents) < 2**31:
                found.append(problem(name, *extents))
    return [*(Case(each, _LIMIT, 0, ()) for each in found), *_residues(d), *_empty(d), *_grids(d)]


def _extents(limit: Limit, number: int) -> tuple[int, int, int, int]:
    """M, N, K and L that make so many of what a limit counts: along the last of its modes."""
    extents = {"M": 8, "N": 8, "K": 8, "L": 1} | {limit.modes[-1][0]: number}
    return extents["M"], extents["N"], extents["K"], extents["L"]


def _residues(d: SgemmDesign) -> list[Case]:
    """Extents below, at and above multiples of what they are divided by: 1, alignment, tile, ring."""

    def around(*units: int) -> list[int]:
        return [at for unit in units for at in (unit - 1, unit, unit + 1) if at > 0]

    ms, ns = (around(1, 4, tile, 2 * tile, 3 * tile, 9 * tile) for tile in (d.tile_m, d.tile_n))
    ks, ls = around(1, 4, d.tile_k, 2 * d.tile_k, d.stages * d.tile_k, (d.stages + 1) * d.tile_k), (1, 2, 3, 5)
    cases = []
    for at in range(2 * len(ms)):  # twice through each mode, beside other extents of the other modes
        turn = at // len(ms)
        m, n = ms[at % len(ms)], ns[(at + 4 + turn) % len(ns)]
        k, batches = ks[(at + 7) % len(ks)], ls[(at + turn) % len(ls)]
        cases.append(Case(multiplication(f"residues_{at}", m, n, k, batches, padding=at % 3), _LIMIT, 0, ()))
    return cases


def _empty(d: SgemmDesign) -> list[Case]:
    """Without rows, columns, batches: nothing is launched. Without K: the kernel is."""
    whole = (d.tile_m + 1, d.tile_n + 1, d.tile_k + 1, 2)
    chosen = [(axis,) for axis in range(4)] + [(0, 1), (0, 2), (1, 2), (2, 3), (0, 1, 2, 3)]
    cases = []
    for zeros in chosen:
        m, n, k, batches = (0 if axis in zeros else extent for axis, extent in enumerate(whole))
        name = "empty_" + "".join("mnkl"[axis] for axis in zeros)
        cases.append(Case(multiplication(name, m, n, k, batches), _LIMIT, 0, ()))
    return cases


def _grids(d: SgemmDesign) -> list[Case]:
    """As many tiles as the grid may have CTAs, one fewer and one more; grids of one CTA, and of many."""
    limits = (1, 2, 14, 15, 16, 29, 30, 31, 1 << 20)
    return [Case(multiplication(f"grid_{limit}", 3 * d.tile_m, 5 * d.tile_n, 9, 2), limit, 0, ()) for limit in limits]
