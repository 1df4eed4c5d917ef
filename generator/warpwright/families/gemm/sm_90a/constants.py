"""The constants block of a rendered gemm: every number as a person would write it, with what it is."""

from __future__ import annotations

import functools

from warpwright.archs import SM90A, TMA_STRIDES
from warpwright.families.gemm.parts.boxes import ALIGNMENT
from warpwright.families.gemm.parts.constants import constant, edge, largest, times
from warpwright.families.gemm.sm_90a.solution import Solution
from warpwright.families.gemm.sm_90a.tiles import LANES, MMA_M, WARPGROUP, WARPS
from warpwright.families.gemm.sm_90a.work import C_ORDER_BARRIER_ID, EPILOGUE_BARRIER_ID, MMA_ORDER_BARRIER_ID
from warpwright.plan.types import Constant

__all__ = ["constants"]


def constants(s: Solution) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them; a count of one has no name."""
    parts = _tile(s), _warps(s), _stages(s), _subtiles(s), _edge(s), _named_barriers(s), largest(s.asked)
    return (*_machine(), *(constant for part in parts for constant in part))


@functools.cache
def _machine() -> tuple[Constant, ...]:
    return (
        Constant("LANES", LANES, "threads of a warp"),
        Constant("WARPS_PER_WARPGROUP", WARPS, "that issue an MMA together"),
        Constant("WARPGROUP", WARPGROUP, "threads", "WARPS_PER_WARPGROUP * LANES"),
        Constant("MMA_M", MMA_M, "rows of one MMA, and of an epilogue subtile"),
        Constant("MMA_K", 16, "depth of one MMA"),
        Constant("SMEM_ALIGNMENT", ALIGNMENT, "bytes: where the pattern of the widest swizzle begins anew"),
        Constant("TMA_ALIGNMENT", SM90A.tma_alignment, "bytes: strides of tensors are multiples of it"),
        Constant("MAX_STRIDE", TMA_STRIDES, "bytes: TMA takes strides of tensors below it", "2**40"),
    )


def _tile(s: Solution) -> list[Constant]:
    a = s.asked
    found = [
        constant("TILE_M", a.tile_m, "rows of D per CTA tile"),
        constant("TILE_N", a.tile_n, "columns of D per CTA tile"),
        constant("TILE_K", a.tile_k, "depth of one stage"),
        constant("SUBTILE_N", s.output.subtile_n, "columns of an epilogue subtile"),
    ]
    rank = "; rank = m + CLUSTER_M * n" if a.cluster_n > 1 else ""
    if a.cluster_m > 1:
        found.append(constant("CLUSTER_M", a.cluster_m, "CTAs along M: they share tiles of B" + rank))
    if a.cluster_n > 1:
        found.append(constant("CLUSTER_N", a.cluster_n, "CTAs along N: they share tiles of A"))
    if a.group > 1:
        found.append(constant("GROUP", a.group, "clusters of one band of the raster, which share A and B in L2"))
    k_blocks = a.tile_k // 16
    if k_blocks > 1:
        found.append(constant("K_BLOCKS", k_blocks, "MMAs along one stage", "TILE_K // MMA_K"))
    return found


def _warps(s: Solution) -> list[Constant]:
    a, t, _, w, _ = s
    shared = t.sharing > 1
    consumers = "CONSUMERS" if t.consumers > 1 else ""
    found = []
    if consumers:
        found.append(constant("CONSUMERS", t.consumers, "consumer warpgroups"))
    rows, share = (
        ("rows of one warpgroup", "TILE_M // CONSUMERS")
        if shared
        else ("rows of one warpgroup: the whole tile's", "TILE_M")
    )
    found.append(constant("WARPGROUP_M", t.warpgroup_m, rows, share))
    first = times("WARPS_PER_WARPGROUP", consumers)
    found.append(constant("PRODUCER_WARP", WARPS * t.consumers, "the first one after the consumers", first))
    if a.producer_warps > 1:
        found.append(constant("PRODUCER_WARPS", a.producer_warps, "they take turns, one k-tile each"))
    producers = "PRODUCER_WARPS" if a.producer_warps > 1 else "1"
    if s.computed.tile_operands:
        last = WARPS * t.consumers + a.producer_warps
        found.append(constant("C_LOADER_WARP", last, "loads subtiles of C", f"PRODUCER_WARP + {producers}"))
    if w.split:
        threads = f"WARPGROUP * ({consumers} + 1)" if consumers else "2 * WARPGROUP"
    else:
        loading = f"({producers} + 1)" if s.computed.tile_operands else "PRODUCER_WARPS" if a.producer_warps > 1 else ""
        threads = f"{times('WARPGROUP', consumers)} + {times('LANES', loading)}"
    found.append(constant("THREADS", w.threads, "of one CTA", threads))
    if w.split:
        producer, consumer = w.split
        total = WARPGROUP * (producer + t.consumers * consumer)
        found += [
            constant("PRODUCER_REGISTERS", producer, f"per thread, of {w.entry_registers} at entry"),
            constant("CONSUMER_REGISTERS", consumer, f"so {total} of {SM90A.registers} in all"),
        ]
    return found


def _stages(s: Solution) -> list[Constant]:
    a, t, o, _, r = s
    most = "the most that fit" if r.stages == r.fitting else f"of {r.fitting} that fit"
    found = [
        constant("AB_BYTES", s.computed.a.bytes, "of an element of A or B"),
        constant("STAGES", r.stages, f"of the ring of A and B, {most}"),
        constant("STAGE_BYTES", r.stage_bytes, "of A and B in one stage",
                  "(TILE_M + TILE_N) * TILE_K * AB_BYTES"),
    ]  # fmt: skip
    for name, boxes in (("A", r.a), ("B", r.b)):
        if boxes.looped:
            found.append(constant(f"{name}_BOXES", boxes.number, f"TMA boxes of {name} in one stage"))
    peers = [name for name, extent in (("CLUSTER_M", a.cluster_m), ("CLUSTER_N", a.cluster_n)) if extent > 1]
    arrivals = t.sharing * (a.cluster_m + a.cluster_n - 1)
    ctas = peers[0] if len(peers) == 1 else "CLUSTER_M + CLUSTER_N - 1" if peers else ""
    sharing = "CONSUMERS" if t.sharing > 1 else ""
    ctas = f"({ctas})" if sharing and len(peers) > 1 else ctas
    who = "warpgroups that read a stage" + (", in every CTA that shares it" if peers else "")
    found.append(constant("EMPTY_ARRIVALS", arrivals, who, times(sharing, ctas)))
    if a.cluster_n > 1:
        mask = sum(1 << (a.cluster_m * n) for n in range(a.cluster_n))
        if a.cluster_m > 1:
            bits = "sum(1 << CLUSTER_M * n for n in range(CLUSTER_N))"
            note = f"0b{mask:b}: CTAs of m = 0, that share A"
        else:
            bits, note = "(1 << CLUSTER_N) - 1", "all CTAs share A"
        found.append(constant("A_MULTICAST", mask, note, bits))
    if a.cluster_m > 1:
        note = "CTAs of n = 0, that share B" if a.cluster_n > 1 else "all CTAs share B"
        found.append(constant("B_MULTICAST", (1 << a.cluster_m) - 1, note, "(1 << CLUSTER_M) - 1"))
    if s.computed.read:
        stage = MMA_M * o.subtile_n * s.computed.read.bytes * t.sharing
        expression = times("MMA_M * SUBTILE_N * C_BYTES", sharing)
        found += [
            constant("C_BYTES", s.computed.read.bytes, "of an element of C"),
            constant("C_STAGES", o.c_stages, "of the ring of C subtiles"),
            constant("C_STAGE_BYTES", stage, "of C in one stage", expression),
            constant("C_EMPTY_ARRIVALS", WARPS * t.sharing, "consumer warps that read a stage",
                      times("WARPS_PER_WARPGROUP", sharing)),
        ]  # fmt: skip
    return found


def _subtiles(s: Solution) -> list[Constant]:
    a, t, o, *_ = s
    found = []
    down, across = t.warpgroup_m // MMA_M, a.tile_n // o.subtile_n
    if down > 1:
        found.append(constant("SUBTILES_M", down, "of one warpgroup and tile", "WARPGROUP_M // MMA_M"))
    if across > 1:
        found.append(constant("SUBTILES_N", across, "of one tile", "TILE_N // SUBTILE_N"))
    if a.pingpong and s.computed.tile_operands and o.subtiles > 1:
        product = times("SUBTILES_M" if down > 1 else "", "SUBTILES_N" if across > 1 else "")
        found.append(constant("SUBTILES", o.subtiles, "of C that one tile takes from its ring", product))
    if o.subtile_stages > 1:
        found.append(constant("SUBTILE_STAGES", o.subtile_stages, "buffers per warpgroup through which D leaves"))
    return found


def _edge(s: Solution) -> list[Constant]:
    o = s.output
    return edge(s.computed.d, SM90A.tma_alignment, MMA_M, o.subtile_n) if o.subtile_stages else []


def _named_barriers(s: Solution) -> list[Constant]:
    found = []
    several = s.tiles.consumers > 1
    if s.output.subtile_stages:
        note = "+ consumer; 0 is sync_threads" if several else "0 is sync_threads"
        found.append(constant("EPILOGUE_BARRIER_ID", EPILOGUE_BARRIER_ID, note))
    if s.asked.pingpong:
        found.append(constant("MMA_ORDER_BARRIER_ID", MMA_ORDER_BARRIER_ID, "+ consumer"))
        if s.computed.tile_operands:
            found.append(constant("C_ORDER_BARRIER_ID", C_ORDER_BARRIER_ID, "+ consumer"))
    return found
