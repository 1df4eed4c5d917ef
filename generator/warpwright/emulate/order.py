"""Happens-before: which accesses of shared memory are ordered, whatever order this run took them in.

Every stretch of a warp between two releases, and every asynchronous operation, is an *event* with a number.
What is known to have happened before a point of the program is a Python integer with one bit per event. A warp
carries two: `known` to its ordinary accesses, and the part of it `known_async` that is also visible to the
asynchronous proxy (TMA, wgmma); fence.proxy.async copies the first to the second. Always known_async <= known.

An access is a race when the last writer of the cell (or, for a write, a reader since) is not in the mask of
the proxy that makes the access. So a read that a TMA load overwrites later needs a proxy fence too: the PTX
ISA's proxy-preserved causality makes no exception for reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .formats import Array

CELL = 16  # bytes of shared memory per cell of the shadow
_LOW = 0xFFFFFFFF
#: Whose accesses an asynchronous event holds, before the name of the warp.
LOAD, STORE, MMA = "the TMA load of ", "the TMA store of ", "the wgmma group of the warpgroup of "
UMMA = "the tcgen05.mma of "
BARRIER = -1  # the state of a cell that holds a live mbarrier
Cells = Any  # a slice, or an array of cell numbers


@dataclass
class Event:
    """Of a warp, or of a copy or wgmma of one; `log` holds (instruction number, cells, written) of each access."""

    what: str
    warp: Any
    asynchronous: bool
    log: list[tuple[int, Cells, bool]] = field(default_factory=list)

    @property
    def actor(self) -> str:
        return f"{self.what}{self.warp}"

    @property
    def proxy(self) -> str:
        return "async" if self.asynchronous else "generic"

    def access(self, cell: int, writes_only: bool) -> tuple[int, bool] | None:
        """The last logged access to `cell`: the number of its instruction, and whether it wrote."""
        for number, cells, written in reversed(self.log):
            if written or not writes_only:
                inside = cells.start <= cell < cells.stop if isinstance(cells, slice) else bool((cells == cell).any())
                if inside:
                    return number, written
        return None


class Order:
    """The events of one launch, and the interned sets of readers that the shadow cells point to."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.readers: list[tuple[int, ...]] = [()]
        self.interned: dict[tuple[int, ...], int] = {(): 0}
        self.added: dict[tuple[int, int], int] = {}

    def event(self, what: str, warp: Any, asynchronous: bool) -> int:
        self.events.append(Event(what, warp, asynchronous))
        return len(self.events) - 1

    def with_reader(self, readers: int, event: int, known: int) -> int:
        """The set `readers` plus `event`, less those that the event is itself ordered after."""
        key = readers, event
        found = self.added.get(key)
        if found is None:
            kept = tuple(r for r in self.readers[readers] if r == event or not known >> r & 1)
            full = kept if event in kept else (*kept, event)
            found = self.interned.get(full)
            if found is None:
                found = self.interned[full] = len(self.readers)
                self.readers.append(full)
            self.added[key] = found
        return found


class Shadow:
    """For each cell of a CTA's shared memory: (last writer + 1) << 32 | the set of readers since; 0: never written."""

    def __init__(self, order: Order, cells: int) -> None:
        self.order = order
        self.state: Array = np.zeros(cells, dtype=np.int64)

    def distinct(self, cells: Cells) -> tuple[Array, Iterable[int]]:
        """The states of `cells` and the different values among them."""
        states = self.state[cells]
        if len(states) <= 64:
            return states, set(states.tolist())
        values, rest = [], states
        while len(rest):
            values.append(int(rest[0]))
            rest = rest[rest != rest[0]]
        return states, values

    def read(self, cells: Cells, event: int, known: int, visible: int, number: int) -> list[tuple[int, int]]:
        """Note a read by `event` and return the (writer, cell) that it races with; writer -1: never written.

        `known` is what the reader knows at all, `visible` the part that its proxy sees.
        """
        states, values = self.distinct(cells)
        bad, changes = [], []
        for value in values:
            writer = (value >> 32) - 1  # BARRIER gives -2
            if writer == -2:
                bad.append((writer, self.cell_of(cells, states, value)))
                changes.append((value, value))
                continue
            if writer < 0 or not (visible >> writer & 1 or writer == event):
                bad.append((writer, self.cell_of(cells, states, value)))
            changes.append((value, (value & ~_LOW) | self.order.with_reader(value & _LOW, event, known)))
        if len(changes) == 1:
            self.state[cells] = changes[0][1]
        else:
            fresh = states.copy()
            for old, new in changes:
                fresh[states == old] = new
            self.state[cells] = fresh
        self.order.events[event].log.append((number, cells, False))
        return bad

    def write(self, cells: Cells, event: int, visible: int, number: int) -> list[tuple[int, int]]:
        """Note a write by `event` and return the (earlier event, cell) that it races with."""
        states, values = self.distinct(cells)
        bad = []
        for value in values:
            if value < 0:
                bad.append((-2, self.cell_of(cells, states, value)))
                continue
            writer = (value >> 32) - 1
            if writer >= 0 and writer != event and not visible >> writer & 1:
                bad.append((writer, self.cell_of(cells, states, value)))
            for reader in self.order.readers[value & _LOW]:
                if reader != event and not visible >> reader & 1:
                    bad.append((reader, self.cell_of(cells, states, value)))
        if BARRIER in values:
            self.state[cells] = np.where(states == BARRIER, states, (event + 1) << 32)
        else:
            self.state[cells] = (event + 1) << 32
        self.order.events[event].log.append((number, cells, True))
        return bad

    def cell_of(self, cells: Cells, states: Array, value: int) -> int:
        """The first of `cells` whose state was `value`."""
        at = int(np.flatnonzero(states == value)[0])
        return int(cells.start + at if isinstance(cells, slice) else np.asarray(cells).reshape(-1)[at])
