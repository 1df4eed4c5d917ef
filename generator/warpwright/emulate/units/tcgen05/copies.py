"""tcgen05.ld and tcgen05.st between registers and tensor memory, their waits, and the fences of tcgen05.

Which lane and column each register holds follows the PTX ISA, "Data movement shape"; as offsets of a thread and of
a register they are what the layouts of the DSL's copy atoms say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.state import Fiber, Warp
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.barriers.released import Fenced
from warpwright.emulate.units.tcgen05.memory import (
    FENCES,
    LD,
    ST,
    TensorMemory,
    TensorOrder,
    access,
    cells_of,
    inside,
    memory_of,
)  # fmt: skip
from warpwright.emulate.units.tcgen05.pipelines import hand_over

#: A rule that can be left out: registers that are loaded want tcgen05.wait::ld. The assembler also waits for a load
#: where its registers are first used, and production kernels rely on that.
LOADS = "tcgen05-loads"
_T = np.arange(32)
#: Each thread has a lane, each register a column.
ROWS = "32x32b"
#: Threads 16 and up access the same lanes as the others, an immediate number of columns further.
HALVES = "16x32bx2"
#: shape: (registers of .x1, columns of .x1, lane and column of each thread, lane and column of each register of .x1)
_SHAPES: dict[str, tuple[int, int, Array, Array, list[int], list[int]]] = {
    ROWS: (1, 1, _T, _T * 0, [0], [0]),
    "16x64b": (1, 2, _T // 4 + 8 * (_T % 2), _T // 2 % 2, [0], [0]),
    "16x128b": (2, 4, _T // 4, _T % 4, [0, 8], [0, 0]),
    "16x256b": (4, 8, _T // 4, 2 * (_T % 4), [0, 0, 8, 8], [0, 1, 0, 1]),
    HALVES: (1, 1, _T % 16, _T * 0, [0], [0]),
}
SHAPES = frozenset(_SHAPES)
_PLACES: dict[tuple[str, int], tuple[Array, Array, int, int]] = {}


def registers_of(shape: str, repeat: int) -> int:
    return _SHAPES[shape][0] * repeat


def _places(shape: str, repeat: int) -> tuple[Array, Array, int, int]:
    """(lanes, columns) as (registers, 32) arrays relative to the address, how many columns, and the last lane."""
    found = _PLACES.get((shape, repeat))
    if found is None:
        count, wide, lane, column, lanes, columns = _SHAPES[shape]
        step = np.repeat(np.arange(repeat), count) * wide
        rows = np.tile(lanes, repeat)[:, None] + lane
        cols = (np.tile(columns, repeat) + step)[:, None] + column
        found = _PLACES[shape, repeat] = rows, cols, wide * repeat, int(rows.max())
    return found


def _locate(f: Fiber, number: int, address: int, shape: str, repeat: int, halves: bool, split: int, what: str) -> Any:
    """(memory, lanes, columns, cells) of one access; `halves`: each register is two columns of 16 bits.

    split: of HALVES, how many columns further the second half of the threads is. Of ROWS lanes and columns are slices.
    """
    warp = f.warp
    machine = warp.machine
    if f.mask != warp.alive:
        machine.fault("convergence", warp, number, f"{what} needs all lanes of the warp", fatal=True)
    memory = memory_of(warp.cta)
    lanes, columns, wide, last = _places(shape, repeat)
    first, base = address >> 16, address & 0xFFFF
    wide *= 1 + halves
    quarter = warp.index % 4
    if first // 32 != quarter or first % 16 or first % 32 + last >= 32:
        text = (
            f"{what} at lane {first}: warp {warp.index} reaches lanes {32 * quarter}..{32 * quarter + 31} alone"
            f" (a quarter by its index modulo 4)"
        )
        machine.fault("tensor-memory", warp, number, text, fatal=True)
    inside(memory, warp, number, base, wide)
    bands = slice(first // 16, (first + last) // 16 + 1, 1)
    cells = cells_of(base, wide, bands)
    if shape == ROWS and not halves:
        return memory, slice(first, first + 32), slice(base, base + wide), cells
    columns = base + columns * (1 + halves)
    if shape == HALVES:
        inside(memory, warp, number, base + split, wide)
        cells = np.union1d(cells, cells_of(base + split, wide, bands))
        columns = columns + split * (_T // 16)
    return memory, first + lanes, columns, cells


def _event(memory: TensorMemory, warp: Warp, what: Source, alone: bool = False) -> int:
    """The event of the warp's accesses since the last wait; `alone`: a new one, as this access may end by itself."""
    thread = memory.thread(warp)
    if thread.open[what] and not alone:
        return thread.open[what].bit_length() - 1
    event = TensorOrder.event(warp, what)
    thread.open[what] |= 1 << event
    return event


class Moves:
    """Copies of registers that follow each other, each (from, to), and what they have made of loads so far."""

    def __init__(self, pairs: Iterable[tuple[frozenset[str], frozenset[str]]]) -> None:
        self.pairs = tuple(pairs)
        self._spread: dict[frozenset[str], frozenset[str]] = {}

    def spread(self, names: frozenset[str]) -> frozenset[str]:
        """The registers that are unready once these copies are made, where `names` are before."""
        found = self._spread.get(names)
        if found is None:
            every = set(names)
            for source, target in self.pairs:
                if not every.isdisjoint(source):
                    every |= target
            found = self._spread[names] = frozenset(every)
        return found


class Loading:
    """Registers of a warp that a tcgen05.ld still fills: `loads` has (event, those of one, with the copies of them)."""

    def __init__(self, _warp: Warp) -> None:
        self.names: frozenset[str] = frozenset()
        self.loads: list[tuple[int, frozenset[str]]] = []

    def fill(self, event: int, names: frozenset[str]) -> None:
        rest = ((other, load - names) for other, load in self.loads)
        self.loads = [each for each in rest if each[1]] + [(event, names)]
        self.names |= names

    def copy(self, moves: Moves) -> None:
        self.loads = [(event, moves.spread(load)) for event, load in self.loads]
        self.names = moves.spread(self.names)

    def use(self, names: frozenset[str]) -> int:
        """End the loads of `names`; returns the mask of their events."""
        ended = 0
        for event, load in self.loads:
            if not load.isdisjoint(names):
                ended |= 1 << event
        self.loads = [(event, load) for event, load in self.loads if not ended >> event & 1]
        self.names = frozenset().union(*(load for _, load in self.loads))
        return ended

    def clear(self) -> None:
        self.names, self.loads = frozenset(), []


def tcgen05_ld(
    f: Fiber, number: int, address: int, shape: str, repeat: int, pack: bool, names: frozenset[str], split: int = 0
) -> Array:
    """tcgen05.ld: (registers, 32) uint32. Until tcgen05.wait::ld the registers `names` must be left alone."""
    warp = f.warp
    memory, lanes, columns, cells = _locate(f, number, address, shape, repeat, pack, split, "tcgen05.ld")
    visible = memory.thread(warp).visible(warp)
    event = _event(memory, warp, LD, LOADS in warp.machine.options.without)
    access(memory, warp, number, cells, event, visible, False)
    warp.own(Loading).fill(event, names)
    found: Array = memory.words[lanes, columns]
    found = np.transpose(found) if isinstance(lanes, slice) else found
    if pack:
        found = (found & 0xFFFF) | memory.words[lanes, columns + 1] << 16
    return found


def tcgen05_st(
    f: Fiber, number: int, address: int, shape: str, repeat: int, unpack: bool, values: Array, split: int = 0
) -> None:
    """tcgen05.st of `values` (registers, 32) uint32."""
    warp = f.warp
    memory, lanes, columns, cells = _locate(f, number, address, shape, repeat, unpack, split, "tcgen05.st")
    access(memory, warp, number, cells, _event(memory, warp, ST), memory.thread(warp).visible(warp), True)
    if unpack:
        memory.words[lanes, columns + 1] = values >> 16
        values = values & 0xFFFF
    memory.words[lanes, columns] = values.T if isinstance(lanes, slice) else values


def tcgen05_wait(f: Fiber, number: int, load: bool) -> None:
    """tcgen05.wait::ld or ::st: the warp's loads, or stores, so far are complete."""
    warp = f.warp
    if f.mask != warp.alive:
        warp.machine.fault("convergence", warp, number, "tcgen05.wait needs all lanes of the warp", fatal=True)
    what = LD if load else ST
    _complete(warp, what, memory_of(warp.cta).thread(warp).open[what])
    if load:
        warp.own(Loading).clear()


def _complete(warp: Warp, what: Source, events: int) -> None:
    """Those of the warp's loads, or stores, are over."""
    thread = memory_of(warp.cta).thread(warp)
    if events:
        thread.done |= events
        thread.open[what] &= ~events
        if FENCES in warp.machine.options.without:
            warp.learn(thread.done, thread.done)
            TensorOrder.carry(warp)


def tcgen05_fence(f: Fiber, before: bool) -> None:
    """tcgen05.fence: before, what is complete goes with later arrivals; after, what waits have told is visible."""
    warp = f.warp
    memory = memory_of(warp.cta)
    thread = memory.thread(warp)
    if before:
        hand_over(memory, warp)
        ordered = thread.done | thread.seen & warp.cta.cluster.own(TensorOrder).events
        warp.learn(ordered, ordered)
        TensorOrder.carry(warp)
    else:
        thread.seen |= warp.known | warp.own(Fenced).seen


def tcgen05_touch(warp: Warp, number: int, names: frozenset[str]) -> None:
    """Registers are used that a tcgen05.ld may not have filled. Without the rule, their use waits for that load."""
    if LOADS in warp.machine.options.without:
        _complete(warp, LD, warp.own(Loading).use(names))
        return
    in_flight = ", ".join(sorted(warp.own(Loading).names & names)[:3])
    text = f"registers that a tcgen05.ld still fills are used ({in_flight})\n  what would order them: tcgen05.wait::ld"
    warp.machine.fault("tcgen05-registers", warp, number, text)
