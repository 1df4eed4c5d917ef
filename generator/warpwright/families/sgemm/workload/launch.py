"""What an SGEMM's kernel must be launched with."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.device.problem import Problem
from warpwright.families.products.tiles import ceil, count, grid
from warpwright.families.running import Launched, View
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.types import Plan

__all__ = ["launched"]


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
            *(("tiles_mnl", extent) for extent in grid(d, extents)),
            ("tile_count", count(d, extents)),
            ("k_tiles", ceil(k, d.tile_k)),
        ),
    )
