"""What a gemm for sm_90a must fit into: stages, shared memory, registers; `warpwright rules` prints them.

These rules read derived numbers, which make sense only where every rule of `shapes` holds.
"""

from __future__ import annotations

from warpwright.archs import SM90A
from warpwright.families.gemm.sm_90a.asked import Asked
from warpwright.families.gemm.sm_90a.ring import size
from warpwright.families.gemm.sm_90a.shapes import SHAPE
from warpwright.families.gemm.sm_90a.solution import Solution, solve
from warpwright.families.gemm.sm_90a.tiles import WARPGROUP, Tiles, output, tiles
from warpwright.families.gemm.sm_90a.warps import INSTRUCTION_OVERHEAD, Warps, warps
from warpwright.plan.rule import Advice, Finding, RuleSet

__all__ = ["BUDGET"]

BUDGET: RuleSet[Solution] = RuleSet()


@BUDGET.add("stages", "design.stages")
def _(s: Solution) -> Finding:
    """a ring needs two stages to overlap loading and computing"""
    stages = s.ring.stages
    return (stages, ">= 2", 2 if s.ring.fitting >= 2 else Advice("a smaller tile")) if stages < 2 else None


@BUDGET.add("stages.producers", "design.producer_warps")
def _(s: Solution) -> Finding:
    """producers that take turns wait at most one phase ahead of their stage: no more of them than stages"""
    # A producer at k-tile i has seen i - P - S consumed; parity would mistake phases if i - 2 S were not.
    producers, stages = s.asked.producer_warps, s.ring.stages
    return None if producers <= stages else (producers, f"{stages} stages", stages)


@BUDGET.add("shared_memory", "design.stages")
def _(s: Solution) -> Finding:
    """the ring, the epilogue buffers and the barriers fit the shared memory of one CTA"""
    fitting, stages = s.ring.fitting, s.ring.stages
    if stages <= fitting:
        return None
    needed = size(s.asked, s.tiles, s.output, stages)
    fits = fitting if fitting >= 2 else Advice("a smaller tile")
    return f"{stages} ({needed} B)", f"{SM90A.shared_bytes} B", fits


@BUDGET.add("registers.split", "design.registers")
def _(s: Solution) -> Finding:
    """setmaxnreg takes multiples of 8 from 24 to 256; the producer gives, consumers take, and the sum fits the SM"""
    w, consumers = s.warps, s.tiles.consumers
    if w.split is None:
        return None
    producer, consumer = w.split
    total = WARPGROUP * (producer + consumer * consumers)
    fine = 24 <= producer <= w.entry_registers <= consumer <= 256 and producer % 8 == 0 == consumer % 8
    if fine and total <= SM90A.registers:
        return None
    limit = f"{w.entry_registers} at entry, {total} of {SM90A.registers} registers"
    return f"{producer}/{consumer}", limit, "none" if consumers == 1 else "auto"


@BUDGET.add("registers.accumulator", "design.tile")
def _(s: Solution) -> Finding:
    """a consumer thread holds its accumulators and 32 registers or more of addresses, states and one subtile"""
    if _accumulators_fit(s.tiles, s.warps):
        return None
    room = s.warps.consumer_registers - s.warps.consumer_overhead
    value = f"{s.asked.tile_m}x{s.asked.tile_n} ({s.tiles.accumulators} registers)"
    return value, f"{room} registers", _nearest_tile(s.asked)


@BUDGET.add("registers.instruction", "design.tile")
def _(s: Solution) -> Finding:
    """one wgmma's accumulators and 26 registers fit those at entry, within which ptxas compiles it (C7602)"""
    if _instruction_fits(s.asked, s.warps):
        return None
    return f"n of {s.asked.tile_n}", f"{s.warps.entry_registers} registers at entry", _nearest_tile(s.asked)


def _accumulators_fit(t: Tiles, w: Warps) -> bool:
    return t.accumulators + w.consumer_overhead <= w.consumer_registers


def _instruction_fits(a: Asked, w: Warps) -> bool:
    return a.tile_n // 2 + INSTRUCTION_OVERHEAD <= w.entry_registers


def _registers_fit(a: Asked) -> bool:
    t = tiles(a)
    w = warps(a, t, output(a, t))
    return _accumulators_fit(t, w) and _instruction_fits(a, w)


def _nearest_tile(a: Asked) -> str | Advice:
    """Return the nearest tile, no larger, whose registers fit and that keeps every rule of shapes."""
    widths = [n for n in range(a.tile_n, 0, -8) if _registers_fit(a._replace(tile_n=n))]  # whatever the depth
    nearby = [(a.tile_n - n + a.tile_k - k, -n, n, k) for n in widths for k in range(a.tile_k, 0, -16)]
    for _, _, n, k in sorted(nearby):
        if not SHAPE.violations(solve(a._replace(tile_n=n, tile_k=k))):
            return f"{{m: {a.tile_m}, n: {n}, k: {k}}}"
    return Advice("a smaller tile.m")
