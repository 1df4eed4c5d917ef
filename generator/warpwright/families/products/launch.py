"""Problems that are never run, only launched: whether extents, strides and grids are right in whole numbers."""

from __future__ import annotations

from warpwright.device.problem import Case, Problem
from warpwright.families.products.problems import multiplication
from warpwright.families.products.tiles import Tiled
from warpwright.plan.types import Limit, Plan

__all__ = ["huge"]


def huge(plan: Plan, aligned: int, limit: int) -> list[Case]:
    """Return the problems of a plan, whose design is `Tiled`.

    aligned: elements of 16 bytes, around which extents are tried. limit: clusters in flight, as many as an H200 holds.
    Padding counts 16 bytes, added to each row and to each batch.
    """
    d: Tiled = plan.design
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
    for each in plan.limits:  # as much as can be counted, and one more
        for more in (0, 1):
            extents = _extents(each, each.most + more)
            name = f"most_{''.join(mode for mode, _ in each.modes).lower()}" + "_and_one" * more
            if max(extents) < 2**31:
                found.append(problem(name, *extents))
    found += [problem(f"residues_{at}", *extents, padding=at % 3) for at, extents in enumerate(_residues(d, aligned))]
    return [*(Case(each, limit, 0, ()) for each in [*found, *_empty(d)]), *_grids(d)]


def _extents(limit: Limit, number: int) -> tuple[int, int, int, int]:
    """M, N, K and L that make so many of what a limit counts: along the last of its modes."""
    extents = {"M": 8, "N": 8, "K": 8, "L": 1} | {limit.modes[-1][0]: number}
    return extents["M"], extents["N"], extents["K"], extents["L"]


def _residues(d: Tiled, aligned: int) -> list[tuple[int, int, int, int]]:
    """Extents below, at and above multiples of what they are divided by: 1, alignment, tile, cluster tile, ring."""

    def around(*units: int) -> list[int]:
        return [at for unit in dict.fromkeys(units) for at in (unit - 1, unit, unit + 1) if at > 0]

    def tiles(tile: int, cluster: int) -> list[int]:
        return around(1, aligned, tile, *(number * tile * cluster for number in (1, 2, 3, 9)))

    k = d.tile_k
    modes = (
        tiles(d.tile_m, d.cluster_m),
        tiles(d.tile_n, d.cluster_n),
        around(1, aligned, k, 2 * k, d.stages * k, (d.stages + 1) * k),
        [1, 2, 3, 5],
    )
    ms, ns, ks, ls = modes
    found, number = [], max(map(len, modes))
    for at in range(2 * number):  # twice through each mode, beside other extents of the other modes
        turn = at // number
        m, n = ms[at % len(ms)], ns[(at + 4 + turn) % len(ns)]
        found.append((m, n, ks[(at + 7) % len(ks)], ls[(at + turn) % len(ls)]))
    return found


def _empty(d: Tiled) -> list[Problem]:
    """Without rows, columns, batches: nothing is launched. Without K: the kernel is."""
    whole = (d.tile_m + 1, d.tile_n + 1, d.tile_k + 1, 2)
    chosen = [(axis,) for axis in range(4)] + [(0, 1), (0, 2), (1, 2), (2, 3), (0, 1, 2, 3)]
    found = []
    for zeros in chosen:
        m, n, k, batches = (0 if axis in zeros else extent for axis, extent in enumerate(whole))
        found.append(multiplication("empty_" + "".join("mnkl"[axis] for axis in zeros), m, n, k, batches))
    return found


def _grids(d: Tiled) -> list[Case]:
    """As many tiles as the grid may have clusters, one fewer and one more; grids of one cluster, and of many."""
    m, n = d.tile_m * d.cluster_m, d.tile_n * d.cluster_n
    limits = (1, 2, 14, 15, 16, 29, 30, 31, 1 << 20)
    return [Case(multiplication(f"grid_{limit}", 3 * m, 5 * n, 9, 2), limit, 0, ()) for limit in limits]
