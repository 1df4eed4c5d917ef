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
from warpwright.emulate.machine.state import Cluster, Cta, Fiber, Warp
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.barriers.released import Fenced

LANES_OF_MEMORY, COLUMNS = 128, 512
BANDS = 8  # of 16 lanes: a cell of the shadow is one column of one (accumulators of 64 rows take every other band)
ALL = slice(0, BANDS, 1)
LD, ST = Source("the tcgen05.ld of "), Source("the tcgen05.st of ")
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


class TensorOrder:
    """Of a cluster: the mask of all events that are accesses of tensor memory, or hand some over.

    A relaxed arrival or wait orders no other memory, but with tcgen05.fence beside it these (PTX ISA 9.7.16.6.4).
    """

    def __init__(self, _cluster: Cluster) -> None:
        self.events = 0

    @staticmethod
    def event(warp: Warp, source: Source) -> int:
        """A new one."""
        found = warp.machine.order.event(source, warp, True)
        warp.cta.cluster.own(TensorOrder).events |= 1 << found
        return found

    @staticmethod
    def carry(warp: Warp) -> None:
        """What the warp knows of them goes with its later arrivals, relaxed ones too."""
        known = warp.known & warp.cta.cluster.own(TensorOrder).events
        fenced = warp.own(Fenced)
        fenced.near |= known
        fenced.near_async |= known
        fenced.released |= known
        fenced.released_async |= known


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
        strict = FENCES not in warp.machine.options.without
        told = warp.known & self.issued if strict else warp.known | warp.own(Fenced).seen
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
        self.deallocations = 0  # how many there were
        self.leaving: list[tuple[Fiber, int]] = []  # who waits for as many of the peer
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
