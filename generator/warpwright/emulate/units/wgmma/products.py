"""wgmma: matrix multiply of a warpgroup, as one operation of its four warps.

An operation starts when the last of the four warps issues it, and its operands are read when the group that
holds it is committed by the last of them. Its accumulators are kept as one (64, N) float32 matrix and spread
over the registers of a warp when the warp next touches them; until wgmma.wait_group they are poison.
The order of summation in the tensor core is not documented: numpy's float32 product stands for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.state import Cta, Fiber, Warp, Warpgroup
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.descriptors import convert, gather
from warpwright.emulate.units.mma.products import rows_of_a
from warpwright.emulate.units.wgmma.accumulators import Accumulators, check_held

FLOP_PER_CLOCK = 4096  # dense 16-bit per SM, for the timeline alone
MMA = Source.completed_by(
    "the wgmma group of the warpgroup of ", "wgmma.wait_group (its count small enough for this group)"
)


@dataclass(frozen=True)
class Shape:
    """The static part of one wgmma instruction. `k` elements are 32 bytes; `a_mn`, `b_mn`: not K-major; `held`: A is in
    registers."""

    accumulator: int
    n: int
    k: int
    a_type: str
    b_type: str
    negate_a: bool
    negate_b: bool
    a_mn: bool
    b_mn: bool
    held: bool = False


@dataclass
class Operation:
    """One wgmma of a warpgroup: `known` is what all the warps that issued it know and the async proxy sees."""

    number: int
    shape: Shape
    a: int
    b: int
    accumulate: bool
    known: int
    arrived: int = 1
    parts: dict[int, Array] = field(default_factory=dict)  # 16 rows of A by each warp, where it is in registers


class Queue:
    """The operations of a warpgroup, the accumulator matrices that its warps have in common, and how far it is."""

    def __init__(self, group: Warpgroup) -> None:
        self.group = group
        arranged = group.machine.program.arranged["wgmma"]
        self.matrices: list[Array] = [np.full((64, n), np.nan, dtype=np.float32) for _, n in arranged.sets]
        self.ops: list[Operation] = []
        self.boundaries: list[int] = []  # number of operations up to and including each committed group
        self.commits: list[int] = []  # how many warps committed each
        self.executed = 0
        self.events: list[int] = []
        self.waiting: list[Fiber] = []
        self.clocks: list[int] = []


class Progress:
    """How many operations a warp has issued, and how many groups it has committed and waited for."""

    def __init__(self, warp: Warp) -> None:
        self.queue = warp.group.own(Queue)
        self.accumulators = warp.own(Accumulators).sets
        self.issued = self.committed = self.waited = 0

    def done(self) -> int:
        """How many operations the warp has waited for."""
        return self.queue.boundaries[self.waited - 1] if self.waited else 0

    def lacks(self, operation: int) -> str:
        """What would complete the warp's wgmma of that number."""
        if operation > (self.queue.boundaries[self.committed - 1] if self.committed else 0):
            return "wgmma.commit_group, since wgmma.wait_group waits for committed groups only; then wgmma.wait_group"
        return "wgmma.wait_group, with a count small enough for its group"


class TensorCore:
    """Of a CTA: until which modelled clock it is busy, and matrix operands converted to float32."""

    def __init__(self, _cta: Cta) -> None:
        self.clock = 0
        self.operands: dict[Any, Any] = {}


def wgmma_mma(f: Fiber, number: int, shape: Shape, a: int, b: int, accumulate: int, held: Array | None = None,
              fragment: int = -1) -> None:  # fmt: skip
    """wgmma.mma_async; `a`, `b` are the matrix descriptors. `held`: A's registers, (4, 32), and which they are."""
    warp, mine = f.warp, f.warp.own(Progress)
    machine, queue = warp.machine, mine.queue
    if f.mask != warp.alive:
        machine.fault("convergence", warp, number, "wgmma needs all lanes of the warp", fatal=True)
    accumulator = mine.accumulators[shape.accumulator]
    if not accumulator.fenced:
        text = "no wgmma.fence between the last access of the accumulator registers and this wgmma"
        machine.fault("wgmma-registers", warp, number, text)
    first = accumulator.last <= mine.done()  # else the sum is that of a wgmma in flight
    if accumulate and first and (accumulator.unset() if accumulator.fresh else not accumulator.last):
        text = (
            "this wgmma adds to accumulator registers that nothing has written\n"
            "  what would mend it: scale-d 0 for the first product of each sum, or filling them before"
        )
        machine.fault("wgmma-registers", warp, number, text)
    accumulator.fenced = True
    at = mine.issued
    if not accumulator.last:
        check_held(warp, [each for each in mine.accumulators if each.last > mine.done()], number, shape.n)
    mine.issued += 1
    accumulator.last = mine.issued
    if fragment >= 0:
        accumulators = warp.own(Accumulators)
        if accumulators.unfenced[fragment]:
            text = "no wgmma.fence between the last write of the registers that hold A and this wgmma"
            machine.fault("wgmma-registers", warp, number, text)
        accumulators.unfenced[fragment] = False
        accumulators.readers[fragment] = mine.issued
    known = f.each_knows()[1] if warp.apart else warp.known_async
    if at == len(queue.ops):
        queue.ops.append(Operation(number, shape, a, b, bool(accumulate), known))
        _hold(queue.ops[at], warp, held)
        return
    op = queue.ops[at]
    _hold(op, warp, held)
    if op.number != number or op.a != a or op.b != b or op.accumulate != accumulate:
        text = (
            f"the warps of the warpgroup disagree: descriptors {a:#x}, {b:#x}, accumulate {accumulate} here,"
            f" {op.a:#x}, {op.b:#x}, {int(op.accumulate)} there\n    {machine.line(op.number)}"
        )
        machine.fault("wgmma", warp, number, text, fatal=True)
    op.arrived += 1
    op.known &= known


def _hold(op: Operation, warp: Warp, held: Array | None) -> None:
    """Keep a warp's fragment of A: registers may be written again once the group has been waited for."""
    if held is not None:
        shape = op.shape
        op.parts[warp.index % 4] = rows_of_a(held, shape.a_type, 32 // shape.k).astype(np.float32)


def wgmma_commit(f: Fiber, number: int) -> None:
    """wgmma.commit_group; the last of the four warps makes the group run."""
    warp, mine = f.warp, f.warp.own(Progress)
    queue = mine.queue
    at = mine.committed
    mine.committed += 1
    if at == len(queue.boundaries):
        queue.boundaries.append(mine.issued)
        queue.commits.append(0)
    elif queue.boundaries[at] != mine.issued:
        text = f"the warps of the warpgroup commit after different wgmmas: {mine.issued} and {queue.boundaries[at]}"
        warp.machine.fault("wgmma", warp, number, text, fatal=True)
    queue.commits[at] += 1
    if queue.commits[at] == len(warp.group.warps):
        _execute(queue, at, warp)
        woken, queue.waiting = queue.waiting, []
        for fiber in woken:
            warp.machine.ready(fiber)


def wgmma_wait(f: Fiber, number: int, pending: int) -> bool:
    """wgmma.wait_group: all but the last `pending` groups are done; True when the fiber goes on."""
    warp, mine = f.warp, f.warp.own(Progress)
    queue = mine.queue
    through = mine.committed - pending
    if through > mine.waited:
        if len(queue.events) < through:
            queue.waiting.append(f)
            return warp.machine.block(f, "wgmma", number, (queue, through))
        mask = 0
        for event in queue.events[mine.waited : through]:
            mask |= 1 << event
        mine.waited = through
        warp.learn(mask, mask)
        warp.catch_up(queue.clocks[through - 1], number, "wgmma")
    return True


def explain(_fiber: Fiber, detail: Any) -> tuple[str, dict[str, Any]]:
    """What a wgmma.wait_group waits for."""
    queue, through = detail
    done = queue.commits[through - 1] if through <= len(queue.commits) else 0
    return f"wgmma group {through}: {done} of 4 warps have committed it", {"group": through, "committed": done}


def check_waited(warp: Warp) -> None:
    """A warp ends: a wgmma that it has not waited for still writes its registers."""
    mine = warp.owned(Progress)
    if mine is not None and mine.issued > mine.done():
        text = f"the warp ends while a wgmma of its own is in flight\n  what would keep it: {mine.lacks(mine.issued)}"
        warp.machine.fault("exit", warp, mine.queue.ops[-1].number, text)


def _execute(queue: Queue, at: int, last: Warp) -> None:
    """Run the operations of committed group `at`, those that share their accumulators and what they know at once."""
    machine, core = last.machine, last.cta.own(TensorCore)
    ops = queue.ops[queue.executed : queue.boundaries[at]]
    queue.executed = queue.boundaries[at]
    event = machine.order.event(MMA, last, True)
    queue.events.append(event)
    start = 0
    flop = 0
    while start < len(ops):
        first, end = ops[start], start + 1
        while end < len(ops) and _joins(first, ops[end]):
            end += 1
        _batch(queue, ops[start:end], event, last)
        flop += 2 * 64 * first.shape.n * first.shape.k * (end - start)
        start = end
    began = max(core.clock, last.clock)
    core.clock = began + flop // FLOP_PER_CLOCK
    queue.clocks.append(core.clock)
    if machine.options.trace and ops:
        machine.event("mma", last, ops[0].number, began, core.clock, group=last.group.first // 4, wgmmas=len(ops))


def _joins(first: Operation, other: Operation) -> bool:
    same = first.shape == other.shape and first.known == other.known
    return same and other.accumulate and (first.a ^ other.a) >> 14 == 0 and (first.b ^ other.b) >> 14 == 0


def _batch(queue: Queue, ops: list[Operation], event: int, last: Warp) -> None:
    shape = ops[0].shape
    if shape.held:
        a = np.concatenate([np.concatenate([op.parts[i] for i in range(4)]) for op in ops], axis=1)
    else:
        a = _operand(ops, [op.a for op in ops], 64, shape.a_type, shape.a_mn, event, last)
    b = _operand(ops, [op.b for op in ops], shape.n, shape.b_type, shape.b_mn, event, last)
    product = a @ b.T
    if shape.negate_a != shape.negate_b:
        np.negative(product, product)
    which = shape.accumulator
    matrix = queue.matrices[which]
    views = [warp.own(Accumulators).sets[which] for warp in queue.group.warps]
    if ops[0].accumulate:
        for at, accumulator in enumerate(views):
            if accumulator.fresh:
                matrix[16 * at : 16 * at + 16] = accumulator.gathered()
        np.add(matrix, product, matrix)
    else:
        matrix[...] = product
    for accumulator in views:
        accumulator.fresh, accumulator.stale = False, True


def _operand(
    ops: list[Operation], descriptors: list[int], rows: int, kind: str, mn: bool, event: int, last: Warp
) -> Array:
    """The (rows, K of all `ops`) float32 matrix that the descriptors name, its reads checked and noted."""
    cta, machine, number = last.cta, last.machine, ops[0].number
    operands = cta.own(TensorCore).operands
    first = descriptors[0]
    start = min(d & 0x3FFF for d in descriptors)
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
    seen = cta.shadow.seen(cells)
    bad = cta.shadow.read_seen(cells, seen, event, ops[0].known, number)
    if bad:
        machine.check_order(bad, cta, event, last, number, False, True)
    # the two consumer warpgroups share B: keep its conversion for as long as nothing else is written there
    writers = sorted({value >> 32 for value in seen[1]})
    cached = operands.get((key, base))
    events = machine.order.events
    if cached is not None and cached[0] == writers and all(w > 0 and events[w - 1].asynchronous for w in writers):
        kept: Array = cached[1]
        return kept
    values = convert(cta.chunks[index + base], kind)
    matrix = values.T if mn else values
    operands[key, base] = writers, matrix
    return matrix
