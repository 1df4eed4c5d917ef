"""Shadow memory: who wrote each byte of on-chip memory last, and who has read it since.

It is kept for cells of 16 bytes, since nearly all that moves data in bulk touches whole ones: copies, operands of
matrix products, vectors. The first access to a part of a cell splits it, and from then on each of its bytes has a state
of its own, until a write of the whole cell makes it one again. So two warps may use neighbouring bytes, and each byte
that nothing wrote is found.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from warpwright.emulate.machine.cells import CELL, Place
from warpwright.emulate.machine.order import Cells, Entry, Order
from warpwright.emulate.numbers.formats import Array

LOW = 0xFFFFFFFF
SPLIT = -1  # the state of a cell whose bytes have states of their own
HELD = -1  # the state of a byte of an object, which ordinary data must leave alone
Bad = list[tuple[int, int]]  # (earlier event, or -1: never written, -2: held; offset)


class Shadow:
    """The states of a memory of so many cells of `size` (1: there are no parts).

    A state is (last writer + 1) << 32 | the set of readers since; 0: never written.
    """

    def __init__(self, order: Order, cells: int, size: int = CELL) -> None:
        self.order, self.size = order, size
        self.state: Array = np.zeros(cells, dtype=np.int64)
        self.bytes: Array | None = None  # the states of bytes, where cells are split
        self.holders: dict[int, tuple[str, str]] = {}  # offset of an object -> kind of finding, what it is

    # -- objects ----------------------------------------------------------------------------------------------

    def hold(self, offset: int, kind: str, what: str) -> None:
        """The 8 bytes at `offset` hold an object from now on: accesses of them are findings of `kind`."""
        self.holders[offset] = kind, what
        self._split_cell(offset // CELL)[offset : offset + 8] = HELD

    def let_go(self, offset: int) -> None:
        del self.holders[offset]
        self._split_cell(offset // CELL)[offset : offset + 8] = 0

    def is_used(self, offset: int) -> bool:
        """Whether any of the 8 bytes at `offset` has been written or read as data."""
        state = int(self.state[offset // CELL])
        if state == SPLIT:
            return bool((self._split_cell(offset // CELL)[offset : offset + 8] > 0).any())
        return state > 0

    def holder(self, offset: int) -> tuple[str, str]:
        """(kind of finding, what it is) of the object that the byte at `offset` is part of."""
        return self.holders[offset & ~7]

    # -- accesses ---------------------------------------------------------------------------------------------

    def read(self, cells: Cells, event: int, visible: int, number: int) -> Bad:
        """Note a read of whole cells by `event`, and return what it races with.

        `visible` is what the reader's proxy sees of what is known.
        """
        self.order.events[event].log.append((number, cells, False))
        states = self.state[cells]
        return self._read(cells, states, distinct(states), event, visible)

    def write(self, cells: Cells, event: int, visible: int, number: int) -> Bad:
        """Note a write of whole cells by `event`, and return what it races with."""
        self.order.events[event].log.append((number, cells, True))
        states = self.state[cells]
        return self._write(cells, states, distinct(states), event, visible)

    def rewrite(self, cells: Cells, event: int, number: int) -> bool:
        """Note a read and a write of whole cells that `event` alone has accessed since it wrote them: nothing else is
        to be looked at. False, and nothing noted, where that is not so."""
        if np.count_nonzero(self.state[cells] != (event + 1) << 32):
            return False
        self.order.events[event].log.append((number, cells, True))
        return True

    def read_place(self, place: Place, event: int, known: int, entries: Iterable[Entry]) -> Bad:
        """The same of a warp's own read of any bytes; `entries` go to the event's log."""
        self.order.events[event].log.extend(entries)
        bad: Bad = []
        if place.cells is not None:
            states = self.state[place.cells]
            bad = self._read(place.cells, states, distinct(states), event, known)
        if place.offsets is not None:
            bad += self._read_bytes(place.offsets, event, known)
        return bad

    def write_place(self, place: Place, event: int, known: int, entries: Iterable[Entry]) -> Bad:
        """The same of a warp's own write of any bytes."""
        self.order.events[event].log.extend(entries)
        bad: Bad = []
        if place.cells is not None:
            states = self.state[place.cells]
            bad = self._write(place.cells, states, distinct(states), event, known)
        if place.offsets is not None:
            bad += self._write_bytes(place.offsets, event, known)
        return bad

    def attempt(self, place: Place, event: int, known: int, entry: Entry) -> bool:
        """Note a warp's own access, `entry` of its log, if it races with nothing; whether it was noted.

        Where cells are split, or atomics are about, it is not tried: that is for `read_place` and `write_place`.
        """
        written, order = entry[2], self.order
        if order.strong and not written:
            return False  # reads then look for more than the last writer
        found = []
        for index in (place.cells, place.offsets):
            if index is None:
                continue
            table = self.state if index is place.cells else self.split(index)
            states = table[index]
            values = set(states.tolist()) if len(states) <= 256 else distinct(states)
            for value in values:
                writer = (value >> 32) - 1
                if writer >= 0:
                    if writer != event and not known >> writer & 1:
                        return False
                elif value < 0 or not written:  # split, held, or never written
                    return False
                if written and value & LOW and self._hinders(value, event, known):
                    return False
            found.append((table, index, states, values))
        for table, index, states, values in found:
            if written:
                table[index] = (event + 1) << 32
            else:
                self._note_read(table, index, 1, states, values, event, known)
        order.events[event].log.append(entry)
        return True

    def seen(self, cells: Cells) -> tuple[Array, Iterable[int]]:
        """The states of whole cells and the different values among them, for `read_seen`."""
        states = self.state[cells]
        return states, distinct(states)

    def read_seen(self, cells: Cells, seen: tuple[Array, Iterable[int]], event: int, visible: int, number: int) -> Bad:
        """`read` for who has looked at the cells already: `seen`."""
        self.order.events[event].log.append((number, cells, False))
        return self._read(cells, *seen, event, visible)

    # -- whole cells ------------------------------------------------------------------------------------------

    def _read(self, cells: Cells, states: Array, values: Iterable[int], event: int, visible: int) -> Bad:
        if SPLIT in values:
            whole, offsets = _parts(cells, states)
            bad = self._read_bytes(offsets, event, visible)
            if len(whole):
                states = self.state[whole]
                bad += self._read(whole, states, distinct(states), event, visible)
            return bad
        return self._note_read(self.state, cells, self.size, states, values, event, visible)

    def _write(self, cells: Cells, states: Array, values: Iterable[int], event: int, visible: int) -> Bad:
        if SPLIT in values:
            whole, offsets = _parts(cells, states)
            bad = self._write_bytes(offsets, event, visible)
            if len(whole):
                states = self.state[whole]
                bad += self._write(whole, states, distinct(states), event, visible)
            free = (self.split(offsets)[offsets].reshape(-1, CELL) != HELD).all(axis=1)
            self.state[offsets[::CELL][free] // CELL] = (event + 1) << 32  # one again
            return bad
        bad = self._hindrances(cells, self.size, states, values, event, visible)
        self.state[cells] = (event + 1) << 32
        return bad

    # -- single bytes -----------------------------------------------------------------------------------------

    def _split_cell(self, cell: int) -> Array:
        """The states of bytes, those of `cell` among them."""
        if self.bytes is None:
            self.bytes = np.zeros(len(self.state) * CELL, dtype=np.int64)
        if self.state[cell] != SPLIT:
            self.bytes[CELL * cell : CELL * cell + CELL] = self.state[cell]
            self.state[cell] = SPLIT
        return self.bytes

    def split(self, offsets: Array) -> Array:
        """The states of bytes, those at `offsets` among them."""
        cells = offsets // CELL
        table = self._split_cell(int(cells[0]))
        for cell in set(cells[self.state[cells] != SPLIT].tolist()):
            self._split_cell(cell)
        return table

    def _read_bytes(self, offsets: Array, event: int, visible: int) -> Bad:
        table = self.split(offsets)
        states = table[offsets]
        return self._note_read(table, offsets, 1, states, distinct(states), event, visible)

    def _write_bytes(self, offsets: Array, event: int, visible: int) -> Bad:
        table = self.split(offsets)
        states = table[offsets]
        values = distinct(states)
        bad = self._hindrances(offsets, 1, states, values, event, visible)
        fresh = (event + 1) << 32
        table[offsets] = np.where(states == HELD, states, fresh) if HELD in values else fresh
        return bad

    # -- both -------------------------------------------------------------------------------------------------

    def _note_read(self, table: Array, index: Cells, size: int, states: Array, values: Iterable[int], event: int,
                   visible: int) -> Bad:  # fmt: skip
        bad, changes = [], []
        for value in values:
            if value == HELD:
                bad.append((-2, size * _first(index, states, value)))
                changes.append((value, value))
                continue
            writer = (value >> 32) - 1
            if writer < 0 or not (visible >> writer & 1 or writer == event):
                bad.append((writer, size * _first(index, states, value)))
            changes.append((value, (value & ~LOW) | self.order.with_reader(value & LOW, event, visible)))
        if len(changes) == 1:
            table[index] = changes[0][1]
        else:
            fresh = states.copy()
            for old, new in changes:
                fresh[states == old] = new
            table[index] = fresh
        return bad

    def _hinders(self, value: int, event: int, visible: int) -> bool:
        """Whether a write of bytes of this state races with anything."""
        if value < 0:
            return True
        writer = (value >> 32) - 1
        if writer >= 0 and writer != event and not visible >> writer & 1:
            return True
        return any(reader != event and not visible >> reader & 1 for reader in self.order.readers[value & LOW])

    def _hindrances(self, index: Cells, size: int, states: Array, values: Iterable[int], event: int,
                    visible: int) -> Bad:  # fmt: skip
        bad: Bad = []
        for value in values:
            if not self._hinders(value, event, visible):
                continue
            at = size * _first(index, states, value)
            if value == HELD:
                bad.append((-2, at))
                continue
            writer = (value >> 32) - 1
            if writer >= 0 and writer != event and not visible >> writer & 1:
                bad.append((writer, at))
            bad += [(r, at) for r in self.order.readers[value & LOW] if r != event and not visible >> r & 1]
        return bad


def distinct(states: Array) -> Iterable[int]:
    """The different values among `states`."""
    if states.size <= 64:
        return set(states.reshape(-1).tolist())
    values, rest = [], states
    while len(rest):
        values.append(int(rest[0]))
        rest = rest[rest != rest[0]]
    return values


def _parts(cells: Cells, states: Array) -> tuple[Array, Array]:
    """Of `cells` those that are not split, and the offsets of the bytes of those that are."""
    every: Any = np.arange(cells.start, cells.stop) if isinstance(cells, slice) else np.asarray(cells).reshape(-1)
    split = states.reshape(-1) == SPLIT
    return every[~split], (every[split][:, None] * CELL + np.arange(CELL)).reshape(-1)


def _first(index: Cells, states: Array, value: int) -> int:
    """The first of `index` whose state was `value`."""
    at = int(np.flatnonzero(states == value)[0])
    return int(index.start + at if isinstance(index, slice) else np.asarray(index).reshape(-1)[at])
