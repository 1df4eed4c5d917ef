"""Which warps a CTA has, and how they share the registers of an SM."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.archs import SM90A
from warpwright.families.gemm.sm_90a.asked import Asked
from warpwright.families.gemm.sm_90a.tiles import WARPGROUP, Output, Tiles
from warpwright.plan.memory import align_up

__all__ = ["CONSUMER_OVERHEAD", "INSTRUCTION_OVERHEAD", "Warps", "warps"]

#: Registers that a consumer thread needs beside its accumulators: addresses, descriptors, states, the converted
#: subtile. 32 is what leaves M = 128, N = 208 legal at 240 registers, the largest split in use elsewhere; of some 600
#: kernels that were built at random, none that stores by TMA spilled in its consumers with it, and some did with 31.
CONSUMER_OVERHEAD = 32
#: Of those, what an operation of the chain may use; one that declares more needs the rest on top.
CHAIN_ALLOWANCE = 16
#: What addresses and bounds of direct stores need on top, at least: one in ten of those kernels spills a little yet.
DIRECT_OVERHEAD = 8
#: Registers of one wgmma beside its accumulators (ptxas: 142 for N = 232).
INSTRUCTION_OVERHEAD = 26
#: Consumer warpgroups -> (producer, consumer) registers, the one that is preferred first: 24 are tight for producers.
SPLITS = {2: ((40, 232), (24, 240)), 3: ((32, 160),)}
_NO_SPLIT = ((24, 24),)


class Warps(NamedTuple):
    """Threads of a CTA and their registers."""

    load_warps: int  # producers, and one warp for tile operands of the epilogue
    threads: int
    entry_registers: int  # per thread at launch
    split: tuple[int, int] | None  # (producer, consumer) registers after setmaxnreg
    usual_split: tuple[int, int] | None  # where nobody chooses
    consumer_registers: int  # that a consumer thread may use
    consumer_overhead: int  # registers that it needs beside its accumulators


def warps(a: Asked, t: Tiles, o: Output) -> Warps:
    """Count the warps and split the registers. Defined for every point: rules say what is wrong with one."""
    load_warps = a.producer_warps + (1 if a.computed.tile_operands else 0)
    overhead = CONSUMER_OVERHEAD + (0 if a.by_tma else DIRECT_OVERHEAD)
    if a.computed.steps:
        values = o.subtile_n // 2
        needed = [step.op.registers(values) for step in a.computed.steps]
        # Of wide subtiles more than one operation's registers are alive at a time: ptxas loads ahead.
        overhead += max(0, (max if values <= CHAIN_ALLOWANCE else sum)(needed) - CHAIN_ALLOWANCE)
    # One consumer warpgroup: 256 threads start with 255 registers each, there is nothing to move.
    usual = _usual(t.consumers, t.accumulators + overhead) if t.consumers > 1 else None
    split = usual if a.registers == "auto" else None if a.registers == "none" else a.registers
    # setmaxnreg is executed by whole warpgroups: the producer's is filled up with idle warps.
    threads = WARPGROUP * t.consumers + (WARPGROUP if split else 32 * load_warps)
    # All registers of the SM, in the steps of 8 in which they are granted. Warps are dealt out to the SM's four
    # quarters, each with a fourth of the registers: 10 warps count as 12.
    entry = min(SM90A.registers_per_thread, SM90A.registers // align_up(threads, WARPGROUP) // 8 * 8)
    usable = min(SM90A.registers_per_thread, split[1] if split else entry)
    return Warps(load_warps, threads, entry, split, usual, usable, overhead)


def _usual(consumers: int, needed: int) -> tuple[int, int]:
    """The first split that gives a consumer thread what it needs, else the one that gives it most."""
    splits = SPLITS.get(consumers, _NO_SPLIT)
    return next((split for split in splits if needed <= split[1]), splits[-1])
