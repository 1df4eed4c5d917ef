"""What the CTAs of a GEMM copy asynchronously, in elements: the emulator counts whether they do."""

from __future__ import annotations

from math import prod

from warpwright.device.problem import Problem
from warpwright.families.gemm.workload.design import GemmDesign, TensorDesign
from warpwright.families.gemm.workload.edges import edge_of
from warpwright.families.products.tiles import ceil, count
from warpwright.plan.types import Plan

__all__ = ["copied"]


def copied(plan: Plan, problem: Problem) -> dict[str, int]:
    """Elements of each tensor that a kernel copies; boxes shared by several CTAs are counted once."""
    d: GemmDesign | TensorDesign = plan.design
    depth = ceil(problem.extents["K"], d.tile_k) * d.tile_k
    ctas = count(d, problem.extents) * d.cluster_m * d.cluster_n
    found = {
        "a": ctas * d.tile_m * depth // d.cluster_n,
        "b": ctas * d.tile_n * depth // d.cluster_m,
        "c": ctas * d.tile_m * d.tile_n,
        "d": _stored(plan, problem),
        **_scales(plan, ctas, depth),
    }
    return {copy.tensor: found[copy.tensor] for copy in plan.main.copies}


def _scales(plan: Plan, ctas: int, depth: int) -> dict[str, int]:
    """Pairs of scales: each CTA brings whole atoms, of its own rows of A, and of all columns of its tile, of a pair's
    too."""
    rows = {"sfa": plan.design.tile_m, "sfb": plan.design.tile_n}
    return {x.name: ctas * rows[x.name] * (depth // x.block) // 2 for x in plan.arguments if x.block}


def _stored(plan: Plan, problem: Problem) -> int:
    """Elements of the boxes of D that are stored: those that begin before the last whole 16 bytes of a row."""
    d: GemmDesign | TensorDesign = plan.design
    extents, edge = problem.extents, edge_of(plan)
    covered = {
        "M": ceil(extents["M"], d.tile_m * d.cluster_m) * d.tile_m * d.cluster_m,
        "N": ceil(extents["N"], d.tile_n * d.cluster_n) * d.tile_n * d.cluster_n,
    }
    covered[edge.mode] = ceil(extents[edge.mode] // edge.grain * edge.grain, edge.subtile) * edge.subtile
    return prod(covered.values()) * extents["L"]
