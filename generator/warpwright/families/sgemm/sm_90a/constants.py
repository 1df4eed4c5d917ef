"""The constants block of a rendered SGEMM: every number as a person would write it, with what it is."""

from __future__ import annotations

from warpwright.archs import SM90A, TMA_STRIDES
from warpwright.families.sgemm.sm_90a.limits import MOST_TILES, largest
from warpwright.families.sgemm.sm_90a.solution import BYTES, LANES, VECTOR, Solution, alignment
from warpwright.plan.types import Constant

__all__ = ["constants"]

_LINE = 128  # bytes of shared memory that are read at once


def constants(s: Solution) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them; a count of one has no name."""
    return (*_widths(s), *_tile(s), *_warps(s), *_stages(s), *_largest(s))


def _widths(s: Solution) -> list[Constant]:
    found = [
        Constant("LANES", LANES, "threads of a warp"),
        Constant("BYTES", BYTES, "of an element"),
        Constant("VECTOR", VECTOR, "elements that a thread moves at once: 16 bytes", "16 // BYTES"),
        Constant("SMEM_ALIGNMENT", alignment(s.kernel), "bytes: " + _why(s)),
    ]
    if s.specialised:
        found += [
            Constant("TMA_ALIGNMENT", SM90A.tma_alignment, "bytes: strides of tensors are multiples of it"),
            Constant("MAX_STRIDE", TMA_STRIDES, "bytes: TMA takes strides of tensors below it", "2**40"),
        ]
    return found


def _why(s: Solution) -> str:
    if alignment(s.kernel) == 1024:
        return "where the pattern of the widest swizzle begins anew"
    return "what TMA asks for" if s.specialised else "a line of shared memory"


def _tile(s: Solution) -> list[Constant]:
    design, thread, grid = s.design, s.design.thread, s.design.warps
    found = [
        Constant("THREAD_M", thread.m, "rows of D that one thread computes"),
        Constant("THREAD_N", thread.n, "columns of D that one thread computes"),
        Constant("LANES_M", s.lanes_m, "lanes of a warp along M"),
        Constant("LANES_N", s.lanes_n, "lanes of a warp along N", "LANES // LANES_M"),
    ]
    for mode, warps in (("M", grid.m), ("N", grid.n)):
        if warps > 1:
            found.append(Constant(f"WARPS_{mode}", warps, f"warps that compute, along {mode}"))
    for mode, warps, tile, what in (("M", grid.m, s.tile_m, "rows"), ("N", grid.n, s.tile_n, "columns")):
        expression = f"WARPS_{mode} * LANES_{mode} * THREAD_{mode}" if warps > 1 else f"LANES_{mode} * THREAD_{mode}"
        found.append(Constant(f"TILE_{mode}", tile, f"{what} of D per CTA tile", expression))
    found.append(Constant("TILE_K", design.tile_k, "depth of one stage"))
    if "k" in (s.kernel.a.major, s.kernel.b.major):
        row = design.tile_k * BYTES
        if row < _LINE:
            found.append(Constant("LINE_ROWS", _LINE // row, "rows of K in a line of shared memory",
                                  "128 // (TILE_K * BYTES)"))  # fmt: skip
        found.append(Constant("ROW_VECTORS", design.tile_k // VECTOR, "vectors of a row of K", "TILE_K // VECTOR"))
    elif s.unroll < design.tile_k:
        found.append(Constant("UNROLL", s.unroll, "steps of K that are written out"))
    if design.group > 1:
        found.append(Constant("GROUP", design.group, "tiles of one band of the raster, which share A and B in L2"))
    return found


def _warps(s: Solution) -> list[Constant]:
    grid, w = s.design.warps, s.warps
    product = " * ".join(f"WARPS_{mode}" for mode, warps in (("M", grid.m), ("N", grid.n)) if warps > 1)
    found = []
    if not s.specialised:
        if w.computing > 1:
            found.append(Constant("WARPS", w.computing, "of one CTA: each loads and computes", product))
        found.append(Constant("THREADS", w.threads, "of one CTA", "LANES * WARPS" if w.computing > 1 else "LANES"))
    else:
        if w.computing > 1:
            found.append(Constant("CONSUMER_WARPS", w.computing, "warps that compute", product))
        first = "CONSUMER_WARPS" if w.computing > 1 else ""
        found.append(Constant("PRODUCER_WARP", w.computing, "the first one after the consumers", first))
        if w.producers > 1:
            found.append(Constant("PRODUCER_WARPS", w.producers, "they take turns, one k-tile each"))
        beside = w.producers + w.idle
        if w.idle:
            threads, what = f"LANES * (PRODUCER_WARP + {beside})", f"of one CTA: the producer's warpgroup has {beside}"
            what += " warps"
        else:
            threads, what = f"LANES * (PRODUCER_WARP + {'PRODUCER_WARPS' if w.producers > 1 else 1})", "of one CTA"
        found.append(Constant("THREADS", w.threads, what, threads))
    if w.split:
        total = LANES * ((w.total - w.computing) * w.split[0] + w.computing * w.split[1])
        found += [
            Constant("PRODUCER_REGISTERS", w.split[0], f"per thread, of {w.entry_registers} at entry"),
            Constant("CONSUMER_REGISTERS", w.split[1], f"so {total} of {w.entry_registers * w.threads} in all"),
        ]
    if s.design.ctas_per_sm > 1:
        found.append(Constant("CTAS_PER_SM", s.design.ctas_per_sm, "CTAs that share an SM"))
    return found


def _stages(s: Solution) -> list[Constant]:
    most = "the most that fit" if s.stages == s.fitting_stages else f"of {s.fitting_stages} that fit"
    found = [Constant("STAGES", s.stages, f"of the ring of A and B, {most}")]
    if s.specialised:
        found.append(Constant("STAGE_BYTES", s.stage_bytes, "of A and B in one stage",
                              "(TILE_M + TILE_N) * TILE_K * BYTES"))  # fmt: skip
    return found


def _largest(s: Solution) -> list[Constant]:
    """What 32 bits count; the checked call names the limit, the function's launch fails beyond it."""
    last = "2**31 - 1"
    found = [
        Constant("MAX_TILES", MOST_TILES, "that 32 bits count, and a step of the walk beyond", f"({last}) // 2"),
    ]
    for mode, tile in (("M", s.tile_m), ("N", s.tile_n)):
        expression = f"({last}) // TILE_{mode} * TILE_{mode}"
        found.append(Constant(f"MAX_{mode}", largest(tile), "of whole tiles", expression))
    return found
