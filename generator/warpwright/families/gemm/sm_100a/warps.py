"""Which warps a CTA has, in the order of their numbers: a quarter of tensor memory goes by a warp's number modulo 4."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.families.gemm.sm_100a.asked import Asked
from warpwright.families.gemm.sm_100a.tiles import LANES, WARPGROUP, WARPS, Accumulators
from warpwright.plan.memory import align_up

__all__ = ["Warps", "warps"]


class Warps(NamedTuple):
    """The first warp of each role, and the threads of a CTA; None where a role is not there."""

    consumer: int
    producer: int
    c_loader: int | None
    scheduler: int | None
    threads: int
    entry_registers: int  # per thread at launch; nothing is moved: no warp holds accumulators

    @property
    def readers(self) -> int:
        """Warps that walk over tiles: all but the epilogue's and these have a number behind theirs."""
        return self.threads // LANES


def warps(a: Asked, t: Accumulators) -> Warps:
    """Count the warps. Defined for every point: rules say what is wrong with one."""
    consumer = WARPS * t.warpgroups
    producer = consumer + t.consumers
    end = producer + 1
    c_loader = scheduler = None
    if a.computed.tile_operands:
        c_loader, end = end, end + 1
    if a.scheduler == "dynamic":
        scheduler, end = end, end + 1
    threads = LANES * end
    # Warps are dealt out to the SM's four quarters, each with a fourth of the registers, in steps of 8 a thread.
    entry = min(a.arch.registers_per_thread, a.arch.registers // align_up(threads, WARPGROUP) // 8 * 8)
    return Warps(consumer, producer, c_loader, scheduler, threads, entry)
