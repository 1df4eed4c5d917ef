"""Tensor memory of Blackwell: 128 lanes of 512 columns of 32 bits per CTA, its allocation and the order of accesses.

A warp has three masks of what tcgen05 accesses may build on (see `order` for masks of events): what its own waits have
completed (`done`), what it knew at its last tcgen05.fence::after_thread_sync (`seen`), and of its own MMAs those whose
commit it has waited for. Others learn of `done` only by what the warp releases after fence::before_thread_sync.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.order import Cells, Event, Source
from warpwright.emulate.machine.scheduler import Machine
from warpwright.emulate.machine.shadow import Shadow
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.memory.shared import shared_store

LANES_OF_MEMORY, COLUMNS = 128, 512
BANDS = 8  # of 16 lanes: a cell of the shadow is one column of one (accumulators of 64 rows take every other band)
ALL = slice(0, BANDS, 1)
LD, ST, FREE = Source("the tcgen05.ld of "), Source("the tcgen05.st of "), Source("the tcgen05.dealloc by ")
UMMA, COPY, SHIFT = (
    Source.completed_by(f"the tcgen05.{what} of ", "tcgen05.commit to an mbarrier on which a warp waits")
    for what in ("mma", "cp", "shift")
)
_COMMITTED = (UMMA, COPY, SHIFT)
_COMPLETED = {
    LD: "tcgen05.wait::ld by {0}",
    ST: "tcgen05.wait::st by {0}",
    **dict.fromkeys(_COMMITTED, "tcgen05.commit by {0} to an mbarrier"),
}
#: The rule that barriers order accesses of tensor memory with tcgen05.fence beside them alone.
FENCES = "tcgen05-fences"
_CELLS: dict[tuple[int, int, int, int], Array] = {}


class TensorThread:
    """What one warp has in flight in tensor memory, and what it knows of others' accesses."""

    def __init__(self) -> None:
        self.done = self.seen = self.issued = 0
        self.open = {LD: 0, ST: 0}  # masks of accesses that are not known to be over
        self.reads: dict[Source, int] = {}  # the events of reads of shared memory since the last commit
        self.writes: dict[Any, int] = {}  # and of accesses of tensor memory, by pipeline (see `pipelines`)
        self.pipelines: dict[Any, int] = {}  # mask of all such events so far

    def visible(self, warp: Warp, behind: tuple[Any, ...] = ()) -> int:
        """What an access may build on; `behind`: pipelines of the thread that are in order ahead of it."""
        told = warp.known & self.issued if FENCES not in warp.machine.options.without else warp.known
        found = self.done | self.seen | told
        for pipeline in behind:
            found |= self.pipelines.get(pipeline, 0)
        return found


class TensorMemory:
    """The tensor memory of one CTA. `allocations`: first column -> (columns, instruction)."""

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        self.words: Array = np.full((LANES_OF_MEMORY, COLUMNS), 0xFFFFFFFF, dtype=np.uint32)  # NaN until written
        self.shadow = Shadow(cta.machine.order, BANDS * COLUMNS, 1)
        self.allocations: dict[int, tuple[int, int]] = {}
        self.owned: Array = np.zeros(COLUMNS, dtype=bool)
        self.freed: dict[int, int] = {}  # first column -> the instruction that freed it
        self.queue: list[tuple[Fiber, int, int]] = []  # who waits to allocate: fiber, columns, instruction
        self.relinquished = -1
        self.threads: dict[int, TensorThread] = {}
        self.group = 0
        #: Pipelines that other threads may go on with: see `pipelines.hand_over`.
        self.handed: dict[Any, list[tuple[int, int]]] = {}

    def thread(self, warp: Warp) -> TensorThread:
        found = self.threads.get(warp.index)
        if found is None:
            found = self.threads[warp.index] = TensorThread()
        return found


def memory_of(cta: Cta) -> TensorMemory:
    return cta.own(TensorMemory)


def pair_of(f: Fiber, number: int, group: int) -> list[TensorMemory]:
    """The tensor memories that an instruction of cta_group::`group` concerns, by rank in the pair."""
    warp = f.warp
    own = memory_of(warp.cta)
    if own.group not in (0, group):
        text = f"cta_group::{group} in a kernel that has used cta_group::{own.group}: all must be alike"
        warp.machine.fault("tcgen05", warp, number, text, fatal=True)
    own.group = group
    if group == 1:
        return [own]
    ctas, first = warp.cta.cluster.ctas, warp.cta.rank & ~1
    if first + 1 >= len(ctas):
        text = f"cta_group::2 in a cluster of {len(ctas)} CTAs: the CTA of rank {warp.cta.rank} has no peer"
        warp.machine.fault("tcgen05", warp, number, text, fatal=True)
    return [memory_of(cta) for cta in ctas[first : first + 2]]


def cells_of(first: int, columns: int, bands: slice) -> Array:
    key = first, columns, bands.start, bands.stop * 16 + bands.step
    found = _CELLS.get(key)
    if found is None:
        every = np.arange(BANDS)[bands, None] * COLUMNS + np.arange(first, first + columns)
        found = _CELLS[key] = every.reshape(-1)
    return found


def inside(memory: TensorMemory, warp: Warp, number: int, first: int, columns: int) -> None:
    """Fault where the columns are not all allocated in that CTA."""
    if first + columns > COLUMNS or not memory.owned[first : first + columns].all():
        held = ", ".join(f"{c}..{c + n - 1}" for c, (n, _) in sorted(memory.allocations.items())) or "none"
        text = f"columns {first}..{first + columns - 1} of tensor memory of CTA {memory.cta}: allocated are {held}"
        warp.machine.fault("tensor-memory", warp, number, text, fatal=True)


def access(memory: TensorMemory, warp: Warp, number: int, cells: Cells, event: int, visible: int, write: bool) -> None:
    """Note an access and report what it races with."""
    if write:
        bad = memory.shadow.write(cells, event, visible, number)
    else:
        bad = memory.shadow.read(cells, event, visible, number)
    machine = warp.machine
    for other, cell in bad:
        _report(machine, memory, warp, number, other, cell, event, write)


def _report(machine: Machine, memory: TensorMemory, warp: Warp, number: int, other: int, cell: int, event: int,
            write: bool) -> None:  # fmt: skip
    band, column = divmod(cell, COLUMNS)
    place = f"lanes {16 * band}..{16 * band + 15}, column {column} of the tensor memory of CTA {memory.cta}"
    mine = f"{'write' if write else 'read'} by {machine.order.events[event].actor}\n    {machine.line(number)}"
    line = machine.program.instructions[number].line
    if other < 0:
        machine.report.add("uninitialised-read", f"{place} is read but was never written\n  {mine}", (line,))
        return
    earlier = machine.order.events[other]
    before, wrote = earlier.access(cell, not write, 1) or (number, True)
    how = _remedy(warp, earlier, other)
    text = (
        f"{place}\n  {mine}\n  is not ordered after the {'write' if wrote else 'read'} by {earlier.actor}\n"
        f"    {machine.line(before)}\n  what would order them: {how}"
    )
    machine.report.add("race", text, (line, machine.program.instructions[before].line), column=column)


def _remedy(warp: Warp, earlier: Event, number: int) -> str:
    """What is missing of: completion, fence, arrival, wait, fence."""
    other = earlier.warp
    after = "tcgen05.fence::after_thread_sync"
    if other is warp:
        how = _COMPLETED.get(earlier.source, "nothing: the order of the program").format(other)
        return how + ", and a wait for it" if earlier.source in _COMMITTED else how
    if warp.known >> number & 1:
        return f"{after} by {warp}, behind its wait"
    if earlier.source in _COMMITTED:
        return f"{_COMPLETED[UMMA].format(other)}; a wait by {warp}, then {after}"
    complete = memory_of(other.cta).thread(other).done >> number & 1 or earlier.source not in _COMPLETED
    first = "" if complete else f"{_COMPLETED[earlier.source].format(other)}, then "
    release = f"tcgen05.fence::before_thread_sync by {other} and its arrival at a barrier"
    return f"{first}{release}; a wait by {warp}, then {after}"


# Allocation --------------------------------------------------------------------------------------------------


def note(warp: Warp, what: str, value: Any) -> None:
    """Note what is compared with a plan."""
    warp.machine.observed["tensor-memory"].setdefault(what, set()).add(value)


def _whole_warp(f: Fiber, number: int, what: str) -> None:
    if f.mask != f.warp.alive:
        f.warp.machine.fault("convergence", f.warp, number, f"{what} needs all lanes of the warp", fatal=True)


def tcgen05_alloc(f: Fiber, number: int, address: int, columns: int, group: int) -> bool:
    """tcgen05.alloc: the first column goes to shared memory at `address`; True when it is granted."""
    warp = f.warp
    if f.token is None:
        _whole_warp(f, number, "tcgen05.alloc")
        pair = pair_of(f, number, group)
        own = memory_of(warp.cta)
        if not 32 <= columns <= COLUMNS or columns & (columns - 1):
            text = f"{columns} columns: an allocation is a power of two from 32 to {COLUMNS}"
            warp.machine.fault("tensor-memory", warp, number, text, fatal=True)
        if own.relinquished >= 0:
            text = f"an allocation after the CTA gave up its permit\n    {warp.machine.line(own.relinquished)}"
            warp.machine.fault("tensor-memory", warp, number, text, fatal=True)
        own.queue.append((f, columns, number))
        _grant(pair)
        if f.token is None:
            return warp.machine.block(f, "tensor-memory", number, (columns, group))
    base, f.token = f.token, None
    note(warp, "allocated", (warp.index, columns, group))
    shared_store(f, number, address, np.full((1, 32), base, dtype=np.uint32), 4, False)
    return True


def _grant(pair: list[TensorMemory]) -> None:
    """Serve those who wait, in order, while there is room; a pair of CTAs allocates the same columns together."""
    while all(memory.queue for memory in pair):
        (fiber, columns, number), *others = [memory.queue[0] for memory in pair]
        if any(wanted != columns for _, wanted, _ in others):
            text = f"the CTAs of a pair allocate {columns} and {others[0][1]} columns together"
            fiber.warp.machine.fault("tensor-memory", fiber.warp, number, text, fatal=True)
        owned = np.any(np.stack([memory.owned for memory in pair]), axis=0)
        base = next((c for c in range(0, COLUMNS - columns + 1, 32) if not owned[c : c + columns].any()), -1)
        if base < 0:
            return
        for memory in pair:
            waiting, _, at = memory.queue.pop(0)
            memory.allocations[base] = columns, at
            memory.owned[base : base + columns] = True
            memory.freed.pop(base, None)
            memory.shadow.state[cells_of(base, columns, ALL)] = 0
            memory.words[:, base : base + columns] = 0xFFFFFFFF
            waiting.token = base
            if waiting.blocked is not None:
                waiting.warp.machine.ready(waiting)


def tcgen05_dealloc(f: Fiber, number: int, address: int, columns: int, group: int) -> None:
    """tcgen05.dealloc: every access of the columns must be over (it is synchronous: no fence is needed before it)."""
    warp = f.warp
    _whole_warp(f, number, "tcgen05.dealloc")
    pair = pair_of(f, number, group)
    own = memory_of(warp.cta)
    held = own.allocations.get(address)
    if held is None or held[0] != columns:
        freed = own.freed.get(address)
        again = f"; it was freed before\n    {warp.machine.line(freed)}" if freed is not None else ""
        known = f"{held[0]} are allocated there" if held else "nothing is allocated there"
        text = f"{columns} columns from {address} are freed: {known}{again}"
        warp.machine.fault("tensor-memory", warp, number, text, fatal=True)
    event = warp.machine.order.event(FREE, warp, False)
    cells = cells_of(address, columns, ALL)
    access(own, warp, number, cells, event, warp.known | own.thread(warp).done, True)
    del own.allocations[address]
    own.owned[address : address + columns] = False
    own.freed[address] = number
    note(warp, "freed", (warp.index, columns, group))
    _grant(pair)


def tcgen05_relinquish(f: Fiber, number: int, group: int) -> None:
    _whole_warp(f, number, "tcgen05.relinquish_alloc_permit")
    pair_of(f, number, group)
    memory_of(f.warp.cta).relinquished = number
    note(f.warp, "permit", f.warp.index)


def report_leaks(cta: Cta) -> None:
    """At the end of the launch: what was never freed."""
    memory = cta.owned(TensorMemory)
    if memory is None:
        return
    for base, (columns, number) in memory.allocations.items():
        text = f"columns {base}..{base + columns - 1} of the tensor memory of CTA {cta} are never freed"
        line = cta.machine.program.instructions[number].line
        cta.machine.report.add("tensor-memory", f"{text}\n  {cta.machine.line(number)}", (line,))


def explain(_fiber: Fiber, detail: Any) -> tuple[str, dict[str, Any]]:
    """What a tcgen05.alloc waits for."""
    columns, group = detail
    text = f"{columns} columns of tensor memory (tcgen05.alloc of cta_group::{group})"
    return text, {"columns": columns, "group": group}
