"""What the CTAs of a GEMM copy asynchronously, in elements: the emulator counts whether they do."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from warpwright.device.problem import Problem
from warpwright.dtypes import dtype
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.plan.types import Plan

__all__ = ["copied", "units"]


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def units(design: GemmDesign, extents: Mapping[str, int]) -> int:
    """How many clusters could work at once."""
    rows = _ceil(extents["M"], design.tile_m * design.cluster_m)
    return rows * _ceil(extents["N"], design.tile_n * design.cluster_n) * extents["L"]


def copied(plan: Plan, problem: Problem) -> dict[str, int]:
    """Elements of each tensor that a kernel copies; boxes shared by several CTAs are counted once."""
    d: GemmDesign = plan.design
    depth = _ceil(problem.extents["K"], d.tile_k) * d.tile_k
    ctas = units(d, problem.extents) * d.cluster_m * d.cluster_n
    found = {
        "a": ctas * d.tile_m * depth // d.cluster_n,
        "b": ctas * d.tile_n * depth // d.cluster_m,
        "c": ctas * d.tile_m * d.tile_n,
        "d": _stored(plan, problem),
    }
    return {copy.tensor: found[copy.tensor] for copy in plan.main.copies}


def _stored(plan: Plan, problem: Problem) -> int:
    """Elements of the boxes of D that are stored: those that begin before the last whole 16 bytes of a row."""
    d: GemmDesign = plan.design
    extents = problem.extents
    output = next(argument for argument in plan.arguments if argument.output)
    per_chunk = output.alignment // dtype(output.dtype).bytes
    covered = {
        "M": _ceil(extents["M"], d.tile_m * d.cluster_m) * d.tile_m * d.cluster_m,
        "N": _ceil(extents["N"], d.tile_n * d.cluster_n) * d.tile_n * d.cluster_n,
    }
    edge = output.contiguous
    box = {"M": 64, "N": d.subtile_n}[edge]  # a subtile has the 64 rows of one MMA
    covered[edge] = _ceil(extents[edge] // per_chunk * per_chunk, box) * box
    return prod(covered.values()) * extents["L"]
