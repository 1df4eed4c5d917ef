"""What a GEMM's kernel must be launched with, and the problems at which only that is checked."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.device.problem import Case, Problem
from warpwright.dtypes import dtype
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.families.gemm.workload.problems import multiplication
from warpwright.families.running import Launched, View
from warpwright.plan.types import Limit, Plan

__all__ = ["huge", "launched"]

_LIMIT = 132  # clusters in flight, as many as an H200 has SMs


def launched(plan: Plan, problem: Problem, clusters: int, scalars: Mapping[str, float]) -> Launched:
    """Return grid, extents and by-value parameters, in whole numbers of any size."""
    d: GemmDesign = plan.design
    m, n, k, batches = (problem.extents[mode] for mode in "MNKL")
    tiles = -(-m // (d.tile_m * d.cluster_m)), -(-n // (d.tile_n * d.cluster_n)), batches
    count = tiles[0] * tiles[1] * tiles[2]
    depth = max(k, 1)  # nothing is loaded of an empty K, but a map has no empty extents
    maps = {"a": (m, depth, batches), "b": (n, depth, batches), "c": (m, n, batches), "d": _stored(plan, problem)}
    vectors = [(a.name, View(a.name, a.shape)) for a in plan.arguments if a.kind == "vector"]
    walked = [("cluster_tiles", count)] if d.persistent else []
    return Launched(
        grid=(d.cluster_m * (min(count, clusters) if d.persistent else count), d.cluster_n, 1),
        maps=maps,
        values=(
            ("d_mnl", View("d", ("M", "N", "L"))),
            *vectors,
            *scalars.items(),
            *(("clusters", extent) for extent in tiles),
            *walked,
            ("k_tiles", -(-k // d.tile_k)),
        ),
    )


def _stored(plan: Plan, problem: Problem) -> tuple[int, ...]:
    """D as TMA stores it: to its last whole 16 bytes along the contiguous mode, one of them at least."""
    output = next(argument for argument in plan.arguments if argument.output)
    unit = 16 // dtype(output.dtype).bytes
    extents = {mode: problem.extents[mode] for mode in "MNL"}
    extents[output.contiguous] = max(extents[output.contiguous] // unit, 1) * unit
    return tuple(extents.values())


def huge(plan: Plan) -> list[Case]:
    """Return the problems; padding counts 16 bytes, added to each row and to each batch."""
    design: GemmDesign = plan.design
    k, problem = design.tile_k, multiplication
    found = [
        problem("huge_d", 46411, 46419, 2 * k + 1),  # M N > 2^31
        problem("huge_k", 2 * design.tile_m + 1, 2 * design.tile_n + 1, 5000 * k + 1),
        # Batches apart by more than 2^31 bytes and 2^32 bytes, and by more than as many elements.
        *(problem(f"far_batches_{bits}", 33, 41, k + 1, 3, padding=(1 << bits - 4) // 30) for bits in (32, 33, 35, 36)),
        # Rows apart by more: of 2^36 bytes, with 2^40 as what a tensor map holds.
        *(problem(f"far_rows_{bits}", 5, 7, 6, 2, padding=1 << bits - 4) for bits in (32, 33, 36)),
        problem("many_batches", 3, 5, 7, 70001),
    ]
    found.append(problem("long_k", 8, 8, 2**31 - 1))
    for limit in plan.limits:  # as much as can be counted, and one more
        for more in (0, 1):
            extents = _extents(limit, limit.most + more)
            name = f"most_{''.join(mode for mode, _ in limit.modes).lower()}" + "_and_one" * more
            if max(extents) < 2**31:
                found.append(problem(name, *extents))
    return [*(Case(each, _LIMIT, 0, ()) for each in found), *_residues(design), *_empty(design), *_grids(design)]


def _extents(limit: Limit, count: int) -> tuple[int, int, int, int]:
    """M, N, K and L that make so many of what a limit counts: along the last of its modes."""
    extents = {"M": 8, "N": 8, "K": 8, "L": 1} | {limit.modes[-1][0]: count}
    return extents["M"], extents["N"], extents["K"], extents["L"]


def _residues(d: GemmDesign) -> list[Case]:
    """Extents below, at and above multiples of what they are divided by: 1, alignment, tile, cluster tile, ring."""
    m, n, k = d.tile_m * d.cluster_m, d.tile_n * d.cluster_n, d.tile_k

    def around(*units: int) -> list[int]:
        return [at for unit in units for at in (unit - 1, unit, unit + 1) if at > 0]

    modes = (
        around(1, 8, d.tile_m, m, 2 * m, 3 * m, 9 * m),
        around(1, 8, d.tile_n, n, 2 * n, 3 * n, 9 * n),
        around(1, 8, k, 2 * k, d.stages * k, (d.stages + 1) * k),
        (1, 2, 3, 5),
    )
    m_, n_, k_, l_ = modes
    count = max(map(len, modes))
    cases = []
    for at in range(2 * count):  # twice through each mode, beside other extents of the other modes
        turn = at // count
        m, n = m_[at % len(m_)], n_[(at + 4 + turn) % len(n_)]
        k, batches = k_[(at + 7) % len(k_)], l_[(at + turn) % len(l_)]
        cases.append(Case(multiplication(f"residues_{at}", m, n, k, batches, padding=at % 3), _LIMIT, 0, ()))
    return cases


def _empty(d: GemmDesign) -> list[Case]:
    """Without rows, columns, batches: nothing is launched. Without K: the kernel is."""
    whole = (d.tile_m + 1, d.tile_n + 1, d.tile_k + 1, 2)
    chosen = [(axis,) for axis in range(4)] + [(0, 1), (0, 2), (1, 2), (2, 3), (0, 1, 2, 3)]
    cases = []
    for zeros in chosen:
        m, n, k, batches = (0 if axis in zeros else extent for axis, extent in enumerate(whole))
        name = "empty_" + "".join("mnkl"[axis] for axis in zeros)
        cases.append(Case(multiplication(name, m, n, k, batches), _LIMIT, 0, ()))
    return cases


def _grids(d: GemmDesign) -> list[Case]:
    """As many tiles as the grid may have clusters, one fewer and one more; grids of one cluster, and of many."""
    m, n = d.tile_m * d.cluster_m, d.tile_n * d.cluster_n
    limits = (1, 2, 14, 15, 16, 29, 30, 31, 1 << 20)
    return [Case(multiplication(f"grid_{limit}", 3 * m, 5 * n, 9, 2), limit, 0, ()) for limit in limits]
