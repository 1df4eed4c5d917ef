"""Happens-before: which accesses of memory are ordered, whatever order this run took them in.

Every stretch of a warp between two releases, and every asynchronous operation, is an *event* with a number.
What is known to have happened before a point of the program is a Python integer with one bit per event. A warp
carries two: `known` to its ordinary accesses, and the part of it `known_async` that is also visible to the
asynchronous proxy (copies and matrix products of the hardware); a proxy fence copies the first to the second.
Always known_async <= known.

An access is a race when the last writer of the cell (or, for a write, a reader since) is not in the mask of
the proxy that makes the access. So a read that a copy overwrites later needs a proxy fence too: the PTX
ISA's proxy-preserved causality makes no exception for reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.emulate.numbers.formats import Array

CELL = 16  # bytes of shared memory per cell of the shadow
_LOW = 0xFFFFFFFF
HELD = -1  # the state of a cell that holds an object, which ordinary data must leave alone
Cells = Any  # a slice, or an array of cell numbers


@dataclass(frozen=True)
class Source:
    """Whose accesses an event holds: `words` stand before the name of the warp in a report.

    remedy: what would order an access after one of these, of (the warp that began it, the warp that comes after).
    """

    words: str
    remedy: Callable[[Any, Any], str] | None = None

    @classmethod
    def completed_by(cls, words: str, instruction: str) -> Source:
        """An operation whose end the warp that began it learns by `instruction`, and others from that warp."""

        def remedy(began: Any, after: Any) -> str:
            told = "" if began is after else f", then a barrier at which it arrives and {after} waits"
            return f"{instruction} by {began}{told}"

        return cls(words, remedy)


WARP = Source("")  # a warp's own accesses


@dataclass
class Event:
    """Accesses of a warp, or of an asynchronous operation of one: `log` holds (instruction number, cells, written)."""

    source: Source
    warp: Any
    asynchronous: bool
    log: list[tuple[int, Cells, bool]] = field(default_factory=list)

    @property
    def actor(self) -> str:
        return f"{self.source.words}{self.warp}"

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
        self.fenced_global = self.fenced_shared = 0  # events behind proxy fences, of global or only of shared memory
        self.readers: list[tuple[int, ...]] = [()]
        self.interned: dict[tuple[int, ...], int] = {(): 0}
        self.added: dict[tuple[int, int], int] = {}
        self.strong: dict[int, bool] = {}  # events of accesses that may meet each other (atomics): whether one writes

    def event(self, source: Source, warp: Any, asynchronous: bool) -> int:
        self.events.append(Event(source, warp, asynchronous))
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

    def together(self, events: Iterable[int]) -> int:
        """The set of readers that holds `events` alone."""
        found = 0
        for event in events:
            found = self.with_reader(found, event, 0)
        return found


class Shadow:
    """For each cell of a CTA's shared memory: (last writer + 1) << 32 | the set of readers since; 0: never written."""

    def __init__(self, order: Order, cells: int) -> None:
        self.order = order
        self.state: Array = np.zeros(cells, dtype=np.int64)
        self.holders: dict[int, tuple[str, str]] = {}  # offset of an object -> kind of finding, what it is
        self.apart: set[int] = set()  # offsets of words beside which an object may come to stand, half a cell away

    def hold(self, offset: int, kind: str, what: str) -> None:
        """The 8 bytes at `offset` hold an object from now on: accesses of them are findings of `kind`."""
        self.holders[offset] = kind, what
        self.state[offset // CELL] = HELD

    def let_go(self, offset: int) -> None:
        del self.holders[offset]
        self.state[offset // CELL] = HELD if offset ^ 8 in self.holders else 0

    def holder(self, cell: int) -> tuple[str, str]:
        """(kind of finding, what it is) of an object in a held cell."""
        return self.holders.get(CELL * cell) or self.holders[CELL * cell + 8]

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
        return self.read_again(cells, self.distinct(cells), event, known, visible, number)

    def read_again(self, cells: Cells, seen: tuple[Array, Iterable[int]], event: int, known: int, visible: int,
                   number: int) -> list[tuple[int, int]]:  # fmt: skip
        """`read` for who has looked at `cells` already: `seen` is what `distinct` said of them."""
        states, values = seen
        bad, changes = [], []
        for value in values:
            writer = (value >> 32) - 1  # HELD gives -2
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
        if HELD in values:
            self.state[cells] = np.where(states == HELD, states, (event + 1) << 32)
        else:
            self.state[cells] = (event + 1) << 32
        self.order.events[event].log.append((number, cells, True))
        return bad

    def strong_access(self, cells: Cells, event: int, known: int, number: int, write: bool) -> list[tuple[int, int]]:
        """`read` or `write` by an event of `Order.strong`: it races with none of those."""
        strong = self.order.strong
        states = np.copy(self.state[cells])
        bad = self.write(cells, event, known, number) if write else self.read(cells, event, known, known, number)
        for value in set(states.tolist()) if write else ():
            before = ((value >> 32) - 1, *self.order.readers[value & _LOW]) if value >= 0 else ()
            kept = [other for other in before if strong.get(other) and other != event and not known >> other & 1]
            if kept:  # an ordinary access that comes must be ordered after these as well
                self.state[cells] = np.where(
                    states == value, (event + 1) << 32 | self.order.together(kept), self.state[cells]
                )
        return [each for each in bad if each[0] not in strong]

    def strong_writers(self, cells: Cells, visible: int) -> list[tuple[int, int]]:
        """Those that `strong_access` kept beside the last writer, and that an ordinary read is not ordered after."""
        states, strong = self.state[cells], self.order.strong
        return [
            (other, self.cell_of(cells, states, value))
            for value in set(states.tolist())
            if value >= 0
            for other in self.order.readers[value & _LOW]
            if strong.get(other) and not visible >> other & 1
        ]

    def pass_on(self, cells: Cells, earlier: int, later: int) -> None:
        """Of what `earlier` wrote to `cells` last, `later` is the writer from now on."""
        states = self.state[cells]
        self.state[cells] = np.where(states >> 32 == earlier + 1, states + ((later - earlier) << 32), states)

    def cell_of(self, cells: Cells, states: Array, value: int) -> int:
        """The first of `cells` whose state was `value`."""
        at = int(np.flatnonzero(states == value)[0])
        return int(cells.start + at if isinstance(cells, slice) else np.asarray(cells).reshape(-1)[at])
