"""Which shapes a gemm for sm_100a may have. `warpwright rules` prints the list.

A predicate returns None or (value, limit, nearest legal value). What must fit beside each other is in `budgets`.
"""

from __future__ import annotations

from warpwright.families.gemm.parts.shared_rules import (
    add_group_rule,
    add_operand_rules,
    add_stages_rule,
    multicast,
)
from warpwright.families.gemm.sm_100a.instruction import depth, words
from warpwright.families.gemm.sm_100a.scaled import ATOM_BLOCKS, ATOM_ROWS, scales
from warpwright.families.gemm.sm_100a.solution import Solution
from warpwright.families.gemm.sm_100a.tiles import MMA_M, WARPS
from warpwright.plan.rule import Finding, RuleSet, nearest_of

__all__ = ["SHAPE"]

SHAPE: RuleSet[Solution] = RuleSet()

_SUBTILES = (8, 16, 32, 64)  # columns
_LINE = 32  # elements of 32 bits that a swizzle of 128 bytes spans


@SHAPE.add("arch", "kernel.arch")
def _(s: Solution) -> Finding:
    """sums are kept in tensor memory, which sm_100a, sm_103a and sm_110a have (PTX ISA 9.1, 9.7.16: tcgen05)"""
    name, arch = s.asked.named, s.asked.arch.name
    return None if name == arch else (name, "an arch with tensor memory (its tensor cores are those of mma.sync)", arch)


# Operands -------------------------------------------------------------------------------------------------


@SHAPE.add("operand.dtype", "kernel.a.dtype")
def _(s: Solution) -> Finding:
    """tcgen05.mma multiplies f16, bf16, tf32, e4m3, e5m2, mxf8, mxf4, nvf4 and, but on sm_103a, i8"""
    word, legal = s.computed.a.word, words(s.asked.arch)
    return None if word in legal else (word, " or ".join(legal), legal[0])


@SHAPE.add("operand.pair", "kernel.b.dtype")
def _(s: Solution) -> Finding:
    """one MMA multiplies A and B of one dtype, or two fp8 ones alike in having scales or none"""
    a, b = s.computed.a.word, s.computed.b.word
    alike = a == b or {a, b} in ({"e4m3", "e5m2"}, {"mxf8_e4m3", "mxf8_e5m2"})
    return None if alike else (b, f"that of A, {a}", a)


# Warps ---------------------------------------------------------------------------------------------------


@SHAPE.add("warps.consumer", "design.consumer_warps")
def _(s: Solution) -> Finding:
    """one thread issues an MMA (PTX ISA 9.1, 9.7.16.5): one warp those of 128 rows, two of tile.m = 256, sharing B"""
    warps, own = s.asked.consumer_warps, s.accumulators.consumers
    return None if warps in (None, own) else (warps, f"{own}, of tile.m = {s.asked.tile_m}", own)


@SHAPE.add("warps.producer", "design.producer_warps")
def _(s: Solution) -> Finding:
    """one warp issues the TMA loads of a CTA: copies run by themselves, and a second one would only wait"""
    warps = s.asked.design.producer_warps
    return None if warps == 1 else (warps, "1", 1)


@SHAPE.add("warps.epilogue", "design.epilogue_warps")
def _(s: Solution) -> Finding:
    """a warp reaches a quarter of the lanes (PTX ISA 9.1, 9.7.16.2.3.1): a warpgroup per consumer, or two at once"""
    warps = s.asked.epilogue_warps
    legal = (WARPS, 2 * WARPS) if s.accumulators.consumers == 1 else (WARPS * s.accumulators.consumers,)
    return None if warps is None or warps in legal else (warps, " or ".join(map(str, legal)), nearest_of(warps, legal))


@SHAPE.add("schedule.pingpong", "design.schedule")
def _(s: Solution) -> Finding:
    """two accumulator stages overlap a tile's epilogue with the next one's MMAs: no consumers take turns"""
    return None if s.asked.design.schedule == "cooperative" else ("pingpong", "cooperative", "cooperative")


@SHAPE.add("registers.split", "design.registers")
def _(s: Solution) -> Finding:
    """no warp holds accumulators, so none gives registers to another: each has at entry what it needs"""
    registers = s.asked.design.registers
    return (
        None if isinstance(registers, str) else (f"{registers.producer}/{registers.consumer}", "auto or none", "auto")
    )


# Tiles ---------------------------------------------------------------------------------------------------


@SHAPE.add("tile.m", "design.tile.m")
def _(s: Solution) -> Finding:
    """an MMA has 128 rows in each CTA (64 take as long: microbench-blackwell, umma_throughput), two consumers 256"""
    m, legal = s.asked.tile_m, (MMA_M, 2 * MMA_M)
    return None if m in legal else (m, "128 or 256", nearest_of(m, legal))


@SHAPE.add("tile.n", "design.tile.n")
def _(s: Solution) -> Finding:
    """N is at most 256: in steps of 16 of M = 128, of 32 of a pair (CUTLASS, mma_sm100_umma.hpp; PTX ISA takes half)"""
    n, step = s.asked.tile_n, 16 * s.asked.cta_group
    legal = range(step, 257, step)
    return None if n in legal else (n, f"a multiple of {step} up to 256", nearest_of(n, legal))


@SHAPE.add("tile.k", "design.tile.k")
def _(s: Solution) -> Finding:
    """a stage is a whole number of MMA depths, 32 bytes of K (PTX ISA 9.1, 9.7.16.2.1); TMA boxes hold 256 elements"""
    k, step = s.asked.tile_k, depth(s.asked, s.computed)
    legal = range(step, s.asked.arch.tma_box + 1, step)
    return None if k in legal else (k, f"a multiple of {step} up to {s.asked.arch.tma_box}", nearest_of(k, legal))


@SHAPE.add("tile.n.tf32", "design.tile.n")
def _(s: Solution) -> Finding:
    """a CTA's tf32 of B along N comes in whole lines of 32 elements: no other swizzle is multiplied so"""
    a, step = s.asked, _LINE * s.asked.cta_group
    if a.computed.b.word != "tf32" or a.computed.b.major != "n" or a.tile_n % step == 0:
        return None
    return a.tile_n, f"a multiple of {step}", nearest_of(a.tile_n, range(step, 257, step))


@SHAPE.add("scales.m", "design.tile.m")
def _(s: Solution) -> Finding:
    """of block-scaled operands one consumer issues the MMAs: a second one would need B's scales a second time"""
    m = s.asked.tile_m
    return (m, MMA_M, MMA_M) if scales(s.asked) and m != MMA_M else None


@SHAPE.add("scales.n", "design.tile.n")
def _(s: Solution) -> Finding:
    """scales of B come in atoms of 128 columns"""
    n, legal = s.asked.tile_n, (ATOM_ROWS, 2 * ATOM_ROWS)
    return (n, "128 or 256", nearest_of(n, legal)) if scales(s.asked) and n not in legal else None


@SHAPE.add("scales.k", "design.tile.k")
def _(s: Solution) -> Finding:
    """scales come in atoms of 4 blocks along K: 128 elements, of nvf4 64"""
    k, scaled = s.asked.tile_k, scales(s.asked)
    if scaled is None or k % (ATOM_BLOCKS * scaled.block) == 0:
        return None
    step = ATOM_BLOCKS * scaled.block
    return k, f"a multiple of {step}", nearest_of(k, range(step, s.asked.arch.tma_box + 1, step))


# Tile schedule --------------------------------------------------------------------------------------------


add_group_rule(SHAPE)


# Clusters ------------------------------------------------------------------------------------------------


@SHAPE.add("cluster.m", "design.cluster.m")
def _(s: Solution) -> Finding:
    """cluster extents are powers of two; a pair is two neighbours in it along M (PTX ISA 9.1, 9.7.16.5.2)"""
    m, legal = s.asked.cluster_m, (1, 2, 4, 8)[s.asked.cta_group - 1 :]
    return None if m in legal else (m, f"{', '.join(map(str, legal[:-1]))} or 8", nearest_of(m, legal))


@SHAPE.add("cluster.n", "design.cluster.n")
def _(s: Solution) -> Finding:
    """cluster extents are powers of two"""
    n, legal = s.asked.cluster_n, (1, 2, 4, 8)
    return None if n in legal else (n, "1, 2, 4 or 8", nearest_of(n, legal))


@SHAPE.add("cluster.size", "design.cluster")
def _(s: Solution) -> Finding:
    """clusters hold at most 8 CTAs, the portable limit (CUDA C++ Programming Guide, thread block clusters)"""
    m, n, most = s.asked.cluster_m, s.asked.cluster_n, s.asked.arch.max_cluster
    return None if m * n <= most else (f"{m}x{n}", f"{most} CTAs", f"{{m: {min(m, 4)}, n: 2}}")


@SHAPE.add("multicast.a", "design.cluster.n")
def _(s: Solution) -> Finding:
    """each CTA of a cluster row loads a share of A that is a multiple of 8 rows (one swizzle pattern)"""
    return multicast(s.asked.cluster_n, s.asked.tile_m, s.asked.tile_k, s.computed.a.major)


@SHAPE.add("multicast.b", "design.cluster.m")
def _(s: Solution) -> Finding:
    """each CTA of a cluster column loads a share of B that is a multiple of 8 rows (one swizzle pattern)"""
    a = s.asked
    found = multicast(a.cluster_m // a.cta_group, s.ring.rows_b, a.tile_k, s.computed.b.major)
    if found is None:
        return None
    _, limit, pairs = found
    return a.cluster_m, limit, pairs * a.cta_group if isinstance(pairs, int) else pairs


# Epilogue ------------------------------------------------------------------------------------------------

add_operand_rules(SHAPE)


@SHAPE.add("epilogue.n", "design.epilogue_n")
def _(s: Solution) -> Finding:
    """a subtile is 8, 16, 32 or 64 columns and divides what a warpgroup drains: tile.n, or half of it beside another"""
    n, columns = s.output.subtile_n, s.asked.tile_n // s.accumulators.across
    if n in _SUBTILES and columns % n == 0:
        return None
    legal = [n for n in _SUBTILES if columns % n == 0]
    return n, " or ".join(map(str, legal)) or f"no subtile of {columns} columns", nearest_of(n, legal)


add_stages_rule(SHAPE)
