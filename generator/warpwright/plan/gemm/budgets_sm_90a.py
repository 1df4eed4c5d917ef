"""What a gemm for sm_90a must fit into: stages, shared memory, registers, TMA boxes; `warpwright rules` prints them.

These rules read derived numbers, which make sense only where every rule of `shapes_sm_90a` holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from warpwright.plan.gemm.choices import INSTRUCTION_OVERHEAD, Choices
from warpwright.plan.gemm.shapes_sm_90a import SHAPE, Finding
from warpwright.plan.rule import RuleSet

__all__ = ["BUDGET"]

BUDGET: RuleSet[Choices] = RuleSet()


@BUDGET.add("stages", "design.stages")
def _(c: Choices) -> Finding:
    """a ring needs two stages to overlap loading and computing"""
    return (c.stages, ">= 2", 2 if c.fitting_stages >= 2 else "a smaller tile") if c.stages < 2 else None


@BUDGET.add("stages.producers", "design.producer_warps")
def _(c: Choices) -> Finding:
    """producers that take turns wait at most one phase ahead of their stage: no more of them than stages"""
    # A producer at k-tile i has seen i - P - S consumed; parity would mistake phases if i - 2 S were not.
    warps = c.point.design.producer_warps
    return None if warps <= c.stages else (warps, f"{c.stages} stages", c.stages)


@BUDGET.add("shared_memory", "design.stages")
def _(c: Choices) -> Finding:
    """the ring, the epilogue buffers and the barriers fit the shared memory of one CTA"""
    needed = c.buffers(c.stages)[1]
    if needed <= c.arch.shared_bytes:
        return None
    fits = f"{c.fitting_stages} stages" if c.fitting_stages >= 2 else "a smaller tile"
    return f"{c.stages} ({needed} B)", f"{c.arch.shared_bytes} B", fits


@BUDGET.add("registers.split", "design.registers")
def _(c: Choices) -> Finding:
    """setmaxnreg takes multiples of 8 from 24 to 256; the producer gives, consumers take, and the sum fits the SM"""
    if c.split is None:
        return None
    producer, consumer = c.split
    total = 128 * (producer + consumer * c.consumers)
    fine = all(24 <= r <= 256 and r % 8 == 0 for r in c.split) and total <= c.arch.registers
    if fine and producer <= c.entry_registers <= consumer:
        return None
    limit = f"{c.entry_registers} at entry, {total} of {c.arch.registers} registers"
    return f"{producer}/{consumer}", limit, "none" if c.consumers == 1 else "auto"


@BUDGET.add("registers.accumulator", "design.tile")
def _(c: Choices) -> Finding:
    """a consumer thread holds its accumulators and 32 registers or more of addresses, states and one subtile"""
    if _accumulators_fit(c):
        return None
    tile, room = c.point.design.tile, c.consumer_registers - c.consumer_overhead
    return f"{tile.m}x{tile.n} ({c.accumulators} registers)", f"{room} registers", _nearest_tile(c, _accumulators_fit)


@BUDGET.add("registers.instruction", "design.tile")
def _(c: Choices) -> Finding:
    """one wgmma's accumulators and 26 registers fit those at entry, within which ptxas compiles it (C7602)"""

    def fits(other: Choices) -> bool:
        return other.point.design.tile.n // 2 + INSTRUCTION_OVERHEAD <= c.entry_registers

    tile = c.point.design.tile
    return None if fits(c) else (f"n of {tile.n}", f"{c.entry_registers} registers at entry", _nearest_tile(c, fits))


@BUDGET.add("tma.boxes", "design.tile")
def _(c: Choices) -> Finding:
    """a stage comes in 16 TMA boxes at most, and in no more than a quarter as many as the producer has registers"""

    def fits(other: Choices) -> bool:
        return other.boxes("a") + other.boxes("b") <= most

    most = min(16, (c.split[0] if c.split else c.entry_registers) // 4)
    if fits(c):
        return None
    tile, boxes = c.point.design.tile, f"{c.boxes('a')} + {c.boxes('b')} boxes"
    return f"{tile.m}x{tile.n}x{tile.k} ({boxes})", f"{most} boxes", _nearest_tile(c, fits)


def _accumulators_fit(c: Choices) -> bool:
    return c.accumulators + c.consumer_overhead <= c.consumer_registers


def _nearest_tile(c: Choices, fits: Callable[[Choices], bool]) -> str:
    """Return the nearest tile, no larger, that fits and keeps every rule of shapes."""
    design = c.point.design
    m, n, k = design.tile.m, design.tile.n, design.tile.k
    smaller = itertools.product(range(n, 0, -8), range(k, 0, -16))
    for n_, k_ in sorted(smaller, key=lambda nk: n - nk[0] + k - nk[1]):
        tile = design.tile.model_copy(update={"n": n_, "k": k_})
        point = c.point.model_copy(update={"design": design.model_copy(update={"tile": tile})})
        other = Choices(point)
        if fits(other) and not SHAPE.violations(other):
            return f"{m}x{n_}x{k_}"
    return "a smaller tile.m"
