"""Which warps a CTA has, and how they share the registers of an SM."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.archs import SM90A
from warpwright.families.sgemm.models import Design, Kernel
from warpwright.families.sgemm.sm_90a.lanes import LANES
from warpwright.plan.memory import align_up

__all__ = ["OVERHEAD", "WARPGROUP", "Warps", "most_consumer_registers", "operand_registers", "two_vectors", "warps"]

WARPGROUP = 4  # warps that execute one setmaxnreg together
#: Registers that a thread needs beside accumulators and operands: addresses, states. Kernels with fewer spill.
OVERHEAD = 8
#: Of the producer's threads, the one that is preferred first: 24 are tight.
_PRODUCER_REGISTERS = (40, 32, 24)


class Warps(NamedTuple):
    """Threads of a CTA and their registers."""

    computing: int
    producers: int  # 0 where all warps load
    idle: int  # that fill the producer's warpgroup up
    total: int
    threads: int
    entry_registers: int  # per thread at launch, with which the CTAs share an SM
    split: tuple[int, int] | None  # (producer, consumer) registers after setmaxnreg
    usual_split: tuple[int, int] | None  # where nobody chooses
    registers: int  # that a computing thread may use
    needed: int  # registers that it needs


def warps(design: Design, kernel: Kernel) -> Warps:
    """Count the warps and split the registers. Defined for every point: rules say what is wrong with one."""
    computing = design.warps.m * design.warps.n
    producers = 0
    if design.specialise == "producer":
        producers = 1 if design.producer_warps == "auto" else design.producer_warps
    needed = _needed(design, kernel)
    plain = _entry(computing + producers, design.ctas_per_sm)
    usual = _usual(computing, producers, plain, needed, design.ctas_per_sm)
    given = design.registers
    split = usual if given == "auto" else None if given == "none" else (given.producer, given.consumer)
    # setmaxnreg is executed by whole warpgroups: the producer's is filled up with idle warps.
    idle = -producers % WARPGROUP if split else 0
    total = computing + producers + idle
    entry = _entry(total, design.ctas_per_sm)
    usable = min(SM90A.registers_per_thread, split[1]) if split else entry
    return Warps(computing, producers, idle, total, LANES * total, entry, split, usual, usable, needed)


def most_consumer_registers(entry: int, total: int, computing: int, producer: int) -> int:
    """The most that computing threads may ask for: all warps together hold no more than they were launched with, or
    the request is never granted."""
    loading = total - computing
    return min(SM90A.registers_per_thread // 8 * 8, (entry * total - producer * loading) // max(1, computing) // 8 * 8)


def _entry(total: int, ctas: int) -> int:
    # Registers are granted in steps of 8. Warps are dealt out to the SM's four quarters, each with a fourth of the
    # registers: 10 warps count as 12.
    granted = SM90A.registers // align_up(LANES * total * ctas, 4 * LANES) // 8 * 8
    return min(SM90A.registers_per_thread, granted)


def two_vectors(m: int, n: int, a_along_k: bool, b_along_k: bool) -> bool:
    """Whether a thread of m x n holds two vectors of K of its rows, or of its columns, of which one is read ahead:
    those of the one K-major operand. Of 16 lines, or of two such operands, there are no registers for it."""
    return a_along_k != b_along_k and (m if a_along_k else n) == 8


def operand_registers(m: int, n: int, a_along_k: bool, b_along_k: bool) -> int:
    """What a thread of m x n holds of A and B: of one step of K and of the next; of a K-major operand two vectors of K;
    or else one vector, of all of its columns and four of its rows."""
    if not a_along_k and not b_along_k:
        return 2 * (m + n)
    if two_vectors(m, n, a_along_k, b_along_k):
        return 2 * (4 * m + n if a_along_k else m + 4 * n)
    return 4 * (n + 4)


def _needed(design: Design, kernel: Kernel) -> int:
    m, n = design.thread.m, design.thread.n
    return m * n + operand_registers(m, n, kernel.a.major == "k", kernel.b.major == "k") + OVERHEAD


def _usual(computing: int, producers: int, plain: int, needed: int, ctas: int) -> tuple[int, int] | None:
    """The first split that gives a computing thread what it needs, else the one that gives it most; none where it would
    gain nothing."""
    if not producers or computing % WARPGROUP:
        return None
    total = computing + producers + -producers % WARPGROUP
    entry = _entry(total, ctas)
    splits = [(p, most_consumer_registers(entry, total, computing, p)) for p in _PRODUCER_REGISTERS]
    gaining = [split for split in splits if split[1] > max(plain, entry) and split[0] < entry]
    return next((split for split in gaining if needed <= split[1]), gaining[-1] if gaining else None)
