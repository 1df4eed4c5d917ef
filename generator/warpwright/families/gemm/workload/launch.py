"""What a GEMM's kernel must be launched with."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.device.held import per_byte
from warpwright.device.problem import Problem
from warpwright.dtypes import dtype
from warpwright.families.gemm.workload.design import GemmDesign, TensorDesign
from warpwright.families.products.tiles import ceil, count, counted_as, grid
from warpwright.families.running import Launched, View
from warpwright.plan.types import Plan, extent_of

__all__ = ["launched"]


def launched(plan: Plan, problem: Problem, clusters: int, scalars: Mapping[str, float]) -> Launched:
    """Return grid, extents and by-value parameters, in whole numbers of any size."""
    d: GemmDesign | TensorDesign = plan.design
    m, n, k, batches = (problem.extents[mode] for mode in "MNKL")
    tiles, number = grid(d, problem.extents), count(d, problem.extents)
    # Nothing is loaded of an empty K, but a map has no empty extents, nor parts of bytes.
    depth = max(k, *(per_byte(argument) for argument in plan.arguments))
    maps: dict[str, tuple[int, ...]] = {
        "a": (m, depth, batches),
        "b": (n, depth, batches),
        "c": (m, n, batches),
        "d": _stored(plan, problem),
    }
    for copy in plan.main.copies:  # of scales in pairs
        if copy.tensor in ("sfa", "sfb"):
            sizes = {**problem.extents, "K": depth}
            maps[copy.tensor] = tuple(int(x) // 2 if x.isdecimal() else extent_of(x, sizes) for x in copy.modes)
    vectors = [(a.name, View(a.name, a.shape)) for a in plan.arguments if a.kind == "vector"]
    counts, total = counted_as(d)
    walked = [(total, number)] if d.persistent else []
    return Launched(
        grid=(d.cluster_m * (min(number, clusters) if d.persistent else number), d.cluster_n, 1),
        maps=maps,
        values=(
            ("d_mnl", View("d", ("M", "N", "L"))),
            *vectors,
            *scalars.items(),
            *((counts, extent) for extent in tiles),
            *walked,
            ("k_tiles", ceil(k, d.tile_k)),
        ),
    )


def _stored(plan: Plan, problem: Problem) -> tuple[int, ...]:
    """D as TMA stores it: to its last whole 16 bytes along the contiguous mode, one of them at least."""
    output = next(argument for argument in plan.arguments if argument.output)
    unit = 16 // dtype(output.dtype).bytes
    extents = {mode: problem.extents[mode] for mode in "MNL"}
    extents[output.contiguous] = max(extents[output.contiguous] // unit, 1) * unit
    return tuple(extents.values())
