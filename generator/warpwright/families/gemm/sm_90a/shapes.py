"""Which shapes a gemm for sm_90a may have. `warpwright rules` prints the list.

A predicate returns None or (value, limit, nearest legal value). What must fit beside each other is in `budgets`.
"""

from __future__ import annotations

from warpwright.archs import SM90A
from warpwright.families.gemm.parts.shared_rules import (
    add_group_rule,
    add_operand_rules,
    add_stages_rule,
    multicast,
)
from warpwright.families.gemm.sm_90a.solution import Solution
from warpwright.plan.rule import Finding, RuleSet, nearest_of

__all__ = ["SHAPE"]

SHAPE: RuleSet[Solution] = RuleSet()

_SUBTILES = (8, 16, 32, 64)  # columns
_MULTIPLIED = ("f16", "bf16")


def _multiples(step: int, low: int, high: int) -> range:
    return range(-(-low // step) * step, high + 1, step)


# Operands -------------------------------------------------------------------------------------------------


@SHAPE.add("operand.dtype", "kernel.a.dtype")
def _(s: Solution) -> Finding:
    """kernels for sm_90a multiply f16 or bf16; tf32, fp8, i8 and block-scaled formats are for sm_100a"""
    word = s.computed.a.word
    return None if word in _MULTIPLIED else (word, " or ".join(_MULTIPLIED), _MULTIPLIED[0])


@SHAPE.add("operand.pair", "kernel.b.dtype")
def _(s: Solution) -> Finding:
    """wgmma multiplies A and B of one and the same 16-bit type"""
    a, b = s.computed.a.word, s.computed.b.word
    return None if a == b else (b, f"that of A, {a}", a)


# Warps ---------------------------------------------------------------------------------------------------


@SHAPE.add("warps.consumer", "design.consumer_warps")
def _(s: Solution) -> Finding:
    """consumers are 1 to 3 whole warpgroups of 4 warps"""
    warps = s.asked.consumer_warps
    return None if warps in (4, 8, 12) else (warps, "4, 8 or 12", nearest_of(warps, (4, 8, 12)))


@SHAPE.add("warps.producer", "design.producer_warps")
def _(s: Solution) -> Finding:
    """producers and the loader of tile operands share one warpgroup"""
    warps, most = s.asked.producer_warps, 3 if s.computed.tile_operands else 4
    return None if 1 <= warps <= most else (warps, f"1..{most}", nearest_of(warps, range(1, most + 1)))


@SHAPE.add("schedule.pingpong", "design.consumer_warps")
def _(s: Solution) -> Finding:
    """pingpong alternates tiles between exactly two consumer warpgroups"""
    warps = s.asked.consumer_warps
    return None if not s.asked.pingpong or warps == 8 else (warps, "8", 8)


@SHAPE.add("schedule.persistent", "design.scheduler.kind")
def _(s: Solution) -> Finding:
    """pingpong needs CTAs that compute several tiles"""
    bad = s.asked.pingpong and not s.asked.persistent
    return ("one_tile", "persistent", "persistent") if bad else None


# What Hopper does not have --------------------------------------------------------------------------------


@SHAPE.add("tensor_memory.cta_group", "design.cta_group")
def _(s: Solution) -> Finding:
    """wgmma is of one CTA: pairs of CTAs share an MMA from sm_100a on"""
    return None if s.asked.design.cta_group == 1 else (2, "1", 1)


@SHAPE.add("tensor_memory.stages", "design.accumulator_stages")
def _(s: Solution) -> Finding:
    """accumulators lie in registers: sm_100a has stages of them in tensor memory"""
    stages = s.asked.design.accumulator_stages
    return None if stages == "auto" else (stages, "auto", "auto")


@SHAPE.add("tensor_memory.epilogue", "design.epilogue_warps")
def _(s: Solution) -> Finding:
    """consumers have the accumulators in registers and are the epilogue: sm_100a has warps of its own for it"""
    warps = s.asked.design.epilogue_warps
    return None if warps == "auto" else (warps, "auto", "auto")


@SHAPE.add("scheduler.kind", "design.scheduler.kind")
def _(s: Solution) -> Finding:
    """clusters take over the tiles of others that have not started, by cluster launch control, from sm_100a on"""
    bad = s.asked.design.scheduler.kind == "dynamic"
    return ("dynamic", "persistent or one_tile", "persistent") if bad else None


@SHAPE.add("scheduler.snake", "design.scheduler.snake")
def _(s: Solution) -> Finding:
    """kernels for sm_90a walk every band in the same direction"""
    return ("true", "false", "false") if s.asked.design.scheduler.snake else None


# Tiles ---------------------------------------------------------------------------------------------------


@SHAPE.add("tile.m", "design.tile.m")
def _(s: Solution) -> Finding:
    """every consumer warpgroup that shares the tile computes a multiple of 64 rows (wgmma M), TMA boxes hold 256"""
    m, step = s.asked.tile_m, SM90A.mma.m[0] * s.tiles.sharing
    legal = _multiples(step, step, SM90A.tma_box)
    return None if m in legal else (m, f"a multiple of {step} up to {SM90A.tma_box}", nearest_of(m, legal))


@SHAPE.add("tile.n", "design.tile.n")
def _(s: Solution) -> Finding:
    """wgmma takes N from 8 to 256 in steps of 8 (PTX ISA, wgmma.mma_async)"""
    n, legal = s.asked.tile_n, _multiples(SM90A.mma.n_step, 8, SM90A.mma.n_max)
    return None if n in legal else (n, "a multiple of 8 from 8 to 256", nearest_of(n, legal))


@SHAPE.add("tile.k", "design.tile.k")
def _(s: Solution) -> Finding:
    """a stage is a whole number of MMA depths: 32 bytes of K; TMA boxes hold 256 elements"""
    k, step = s.asked.tile_k, SM90A.mma.k_bytes // s.computed.a.bytes
    legal = _multiples(step, step, SM90A.tma_box)
    return None if k in legal else (k, f"a multiple of {step} up to {SM90A.tma_box}", nearest_of(k, legal))


# Tile schedule --------------------------------------------------------------------------------------------


add_group_rule(SHAPE)


# Clusters ------------------------------------------------------------------------------------------------


@SHAPE.add("cluster.m", "design.cluster.m")
def _(s: Solution) -> Finding:
    """cluster extents are powers of two"""
    m = s.asked.cluster_m
    return None if m in (1, 2, 4) else (m, "1, 2 or 4", nearest_of(m, (1, 2, 4)))


@SHAPE.add("cluster.n", "design.cluster.n")
def _(s: Solution) -> Finding:
    """cluster extents are powers of two"""
    n = s.asked.cluster_n
    return None if n in (1, 2, 4) else (n, "1, 2 or 4", nearest_of(n, (1, 2, 4)))


@SHAPE.add("cluster.size", "design.cluster")
def _(s: Solution) -> Finding:
    """clusters hold at most 4 CTAs"""
    m, n, most = s.asked.cluster_m, s.asked.cluster_n, SM90A.max_cluster
    return None if m * n <= most else (f"{m}x{n}", f"{most} CTAs", f"{{m: {min(m, 2)}, n: 2}}")


@SHAPE.add("multicast.a", "design.cluster.n")
def _(s: Solution) -> Finding:
    """each CTA of a cluster row loads a share of A that is a multiple of 8 rows (one swizzle pattern)"""
    return multicast(s.asked.cluster_n, s.asked.tile_m, s.asked.tile_k, s.computed.a.major)


@SHAPE.add("multicast.b", "design.cluster.m")
def _(s: Solution) -> Finding:
    """each CTA of a cluster column loads a share of B that is a multiple of 8 rows (one swizzle pattern)"""
    return multicast(s.asked.cluster_m, s.asked.tile_n, s.asked.tile_k, s.computed.b.major)


# Epilogue ------------------------------------------------------------------------------------------------


add_operand_rules(SHAPE)


@SHAPE.add("epilogue.n", "design.epilogue_n")
def _(s: Solution) -> Finding:
    """a subtile is 8, 16, 32 or 64 columns and divides tile.n"""
    n, tile = s.output.subtile_n, s.asked.tile_n
    if n in _SUBTILES and tile % n == 0:
        return None
    legal = [n for n in _SUBTILES if tile % n == 0]
    return n, " or ".join(map(str, legal)) or "no subtile of this tile.n", nearest_of(n, legal)


add_stages_rule(SHAPE)
