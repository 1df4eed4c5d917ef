"""wgmma: matrix multiply of a warpgroup, as one operation of its four warps.

An operation starts when the last of the four warps issues it, and its operands are read when the group that
holds it is committed by the last of them. Its accumulators are kept as one (64, N) float32 matrix and spread
over the registers of a warp when the warp next touches them; until wgmma.wait_group they are poison.
The order of summation in the tensor core is not documented: numpy's float32 product stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .descriptors import convert, gather
from .formats import Array
from .machine import Machine
from .order import MMA
from .state import RESERVED, Cta, Fiber, Warp

FLOP_PER_CLOCK = 4096  # dense 16-bit per SM, for the timeline alone


@dataclass(frozen=True)
class Shape:
    """The static part of one wgmma instruction. `k` elements are 32 bytes; `a_mn`, `b_mn`: not K-major."""

    accumulator: int
    n: int
    k: int
    a_type: str
    b_type: str
    negate_a: bool
    negate_b: bool
    a_mn: bool
    b_mn: bool


@dataclass
class Operation:
    """One wgmma of a warpgroup: `known` is what all the warps that issued it know and the async proxy sees."""

    number: int
    shape: Shape
    a: int
    b: int
    accumulate: bool
    known: int
    known_any: int
    arrived: int = 1


class Accumulator:
    """One warp's view of a set of accumulator registers.

    fenced: a wgmma.fence has followed the last access by ordinary instructions. stale: the matrix is newer than
    the registers; fresh: the registers are newer than the matrix. last: how many wgmmas of the warp used it.
    """

    __slots__ = ("columns", "fenced", "fresh", "last", "number", "registers", "stale")

    def __init__(self, number: int, columns: int, registers: Array) -> None:
        self.number, self.columns, self.registers = number, columns, registers
        self.fenced = self.stale = False
        self.fresh = True
        self.last = 0


class Warpgroup:
    """Four warps, their common accumulator matrices and their queue of operations."""

    def __init__(self, machine: Machine, cta: Cta, first: int) -> None:
        self.machine, self.cta, self.first = machine, cta, first
        program = machine.program
        # the rows of four warps together; row 0 of an accumulator is where the translation put it
        self.rows = {n: np.zeros((4, count, 32), dtype=kind) for n, kind, count in program.row_files}
        self.matrices: list[Array] = [np.zeros((64, n), dtype=np.float32) for _, n in program.accumulators]
        self.ops: list[Operation] = []
        self.boundaries: list[int] = []  # number of operations up to and including each committed group
        self.commits: list[int] = []  # how many warps committed each
        self.executed = 0
        self.events: list[int] = []
        self.waiting: list[Fiber] = []
        self.clocks: list[int] = []

    def views(self, index: int) -> list[Accumulator]:
        table = self.machine.program.accumulators
        lane = self.rows[32][index % 4].view(np.float32)
        return [Accumulator(k, n, lane[row : row + n // 2]) for k, (row, n) in enumerate(table)]


def fence(f: Fiber) -> None:
    """wgmma.fence: register accesses so far are ordered before the wgmmas to come."""
    for accumulator in f.warp.accumulators:
        accumulator.fenced = True


def touch(warp: Warp, which: int, number: int, write: bool) -> None:
    """Ordinary instructions are about to read or write accumulator registers."""
    accumulator = warp.accumulators[which]
    if accumulator.last > warp.waited_operations():
        text = (
            "accumulator registers are used while a wgmma that owns them is in flight\n    "
            f"{warp.machine.line(warp.group.ops[accumulator.last - 1].number)}\n"
            "  what would order them: wgmma.wait_group"
        )
        warp.machine.fault("wgmma-registers", warp, number, text)
    accumulator.fenced = False
    if accumulator.stale:
        accumulator.stale = False
        rows = 16 * (warp.index % 4)
        part = warp.group.matrices[which][rows : rows + 16]
        spread = part.reshape(2, 8, -1, 4, 2).transpose(2, 0, 4, 1, 3)  # PTX ISA, "Matrix fragments for wgmma", D
        accumulator.registers.reshape(-1, 2, 2, 8, 4)[...] = spread
    if write:
        accumulator.fresh = True


def mma(f: Fiber, number: int, shape: Shape, a: int, b: int, accumulate: int) -> None:
    """wgmma.mma_async with both operands in shared memory; `a`, `b` are the matrix descriptors."""
    warp, group = f.warp, f.warp.group
    machine = warp.machine
    if f.mask != warp.alive:
        machine.fault("convergence", warp, number, "wgmma needs all lanes of the warp", fatal=True)
    accumulator = warp.accumulators[shape.accumulator]
    if not accumulator.fenced:
        text = "no wgmma.fence between the last access of the accumulator registers and this wgmma"
        machine.fault("wgmma-registers", warp, number, text)
    accumulator.fenced = True
    at = warp.issued
    warp.issued += 1
    accumulator.last = warp.issued
    if at == len(group.ops):
        group.ops.append(Operation(number, shape, a, b, bool(accumulate), warp.known_async, warp.known))
        return
    op = group.ops[at]
    if (op.number, op.a, op.b, op.accumulate) != (number, a, b, bool(accumulate)):
        text = (
            f"the warps of the warpgroup disagree: descriptors {a:#x}, {b:#x}, accumulate {accumulate} here,"
            f" {op.a:#x}, {op.b:#x}, {int(op.accumulate)} there\n    {machine.line(op.number)}"
        )
        machine.fault("wgmma", warp, number, text, fatal=True)
    op.arrived += 1
    op.known &= warp.known_async
    op.known_any &= warp.known


def commit(f: Fiber, number: int) -> None:
    """wgmma.commit_group; the last of the four warps makes the group run."""
    warp, group = f.warp, f.warp.group
    at = warp.committed
    warp.committed += 1
    if at == len(group.boundaries):
        group.boundaries.append(warp.issued)
        group.commits.append(0)
    elif group.boundaries[at] != warp.issued:
        text = f"the warps of the warpgroup commit after different wgmmas: {warp.issued} and {group.boundaries[at]}"
        warp.machine.fault("wgmma", warp, number, text, fatal=True)
    group.commits[at] += 1
    if group.commits[at] == min(4, len(warp.cta.warps) - group.first):
        execute(group, at, warp)
        woken, group.waiting = group.waiting, []
        for fiber in woken:
            warp.machine.ready(fiber)


def wait(f: Fiber, number: int, pending: int) -> bool:
    """wgmma.wait_group: all but the last `pending` groups are done; True when the fiber goes on."""
    warp, group = f.warp, f.warp.group
    through = warp.committed - pending
    if through > warp.waited:
        if len(group.events) < through:
            group.waiting.append(f)
            return warp.machine.block(f, "wgmma", number, (group, through))
        mask = 0
        for event in group.events[warp.waited : through]:
            mask |= 1 << event
        warp.waited = through
        warp.learn(mask, mask)
        warp.catch_up(group.clocks[through - 1], number, "wgmma")
    return True


def execute(group: Warpgroup, at: int, last: Warp) -> None:
    """Run the operations of committed group `at`, those that share their accumulators and what they know at once."""
    machine, cta = group.machine, group.cta
    ops = group.ops[group.executed : group.boundaries[at]]
    group.executed = group.boundaries[at]
    event = machine.order.event(MMA, last, True)
    group.events.append(event)
    start = 0
    flop = 0
    while start < len(ops):
        first, end = ops[start], start + 1
        while end < len(ops) and _joins(first, ops[end]):
            end += 1
        _batch(group, ops[start:end], event, last)
        flop += 2 * 64 * first.shape.n * first.shape.k * (end - start)
        start = end
    began = max(cta.mma_clock, last.clock)
    cta.mma_clock = began + flop // FLOP_PER_CLOCK
    group.clocks.append(cta.mma_clock)
    if machine.options.trace and ops:
        machine.event("mma", last, ops[0].number, began, cta.mma_clock, group=group.first // 4, wgmmas=len(ops))


def _joins(first: Operation, other: Operation) -> bool:
    same = first.shape == other.shape and first.known == other.known and first.known_any == other.known_any
    return same and other.accumulate and (first.a ^ other.a) >> 14 == 0 and (first.b ^ other.b) >> 14 == 0


def _batch(group: Warpgroup, ops: list[Operation], event: int, last: Warp) -> None:
    shape = ops[0].shape
    a = _operand(group, ops, [op.a for op in ops], 64, shape.a_type, shape.a_mn, event, last)
    b = _operand(group, ops, [op.b for op in ops], shape.n, shape.b_type, shape.b_mn, event, last)
    product = a @ b.T
    if shape.negate_a != shape.negate_b:
        np.negative(product, product)
    which = shape.accumulator
    matrix = group.matrices[which]
    warps = group.cta.warps[group.first : group.first + 4]
    if ops[0].accumulate:
        for warp in warps:
            accumulator = warp.accumulators[which]
            if accumulator.fresh:
                rows = 16 * (warp.index % 4)
                part = accumulator.registers.reshape(-1, 2, 2, 8, 4).transpose(1, 3, 0, 4, 2)
                matrix[rows : rows + 16] = part.reshape(16, -1)
        np.add(matrix, product, matrix)
    else:
        matrix[...] = product
    for warp in warps:
        accumulator = warp.accumulators[which]
        accumulator.fresh, accumulator.stale = False, True


def _operand(group: Warpgroup, ops: list[Operation], descriptors: list[int], rows: int, kind: str, mn: bool,
             event: int, last: Warp) -> Array:  # fmt: skip
    """The (rows, K of all `ops`) float32 matrix that the descriptors name, its reads checked and noted."""
    cta, machine, number = group.cta, group.machine, ops[0].number
    first = descriptors[0]
    start = first & 0x3FFF
    if first >> 49 & 7:
        machine.fault("wgmma", last, number, "a matrix descriptor with a base offset is not emulated", fatal=True)
    key, index, span = gather(descriptors, rows, kind, mn)
    base = start - start % 64
    low = span.start if isinstance(span, slice) else int(span[0])
    high = span.stop if isinstance(span, slice) else int(span[-1]) + 1
    if (base + low) * 16 < RESERVED or (base + high) * 16 > cta.size:
        text = f"the matrix descriptor {first:#x} reaches outside the shared memory of the CTA"
        machine.fault("shared-bounds", last, number, text, fatal=True)
    cells = slice(base + low, base + high) if isinstance(span, slice) else span + base
    bad = cta.shadow.read(cells, event, ops[0].known_any, ops[0].known, number)
    if bad:
        machine.check_order(bad, cta, event, last, number, False, True)
    # the two consumer warpgroups share B: keep its conversion for as long as nothing else is written there
    writers = tuple(sorted({value >> 32 for value in cta.shadow.distinct(cells)[1]}))
    cached = cta.operands.get((key, base))
    if cached is not None and cached[0] == writers and all(machine.order.events[w - 1].asynchronous for w in writers):
        kept: Array = cached[1]
        return kept
    values = convert(cta.chunks[index + base], kind)
    matrix = values.T if mn else values
    cta.operands[key, base] = writers, matrix
    return matrix
