"""What an access touches: the cells of shared memory in which the order of accesses is kept, and parts of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from warpwright.emulate.machine.order import Bytes, Entry
from warpwright.emulate.numbers.formats import Array

CELL = 16  # bytes of shared memory per cell


@dataclass(frozen=True)
class Place:
    """What an access of a warp touches: whole `cells`, and the bytes at other `offsets`."""

    cells: Array | None
    offsets: Array | None

    def entries(self, number: int, written: bool) -> list[Entry]:
        """What an event's log says of an access by instruction `number`."""
        found: list[Entry] = [] if self.cells is None else [(number, self.cells, written)]
        if self.offsets is not None:
            found.append((number, Bytes(self.offsets), written))
        return found


def place_of(first: Array, size: int) -> Place:
    """The place of the accesses of `size` bytes at the offsets `first`, which are aligned to it."""
    if size >= CELL:
        return Place(np.unique((first // CELL)[:, None] + np.arange(size // CELL)), None)
    low, high = int(first.min()) // CELL, int(first.max()) // CELL + 1
    touched = np.zeros((CELL * (high - low)), dtype=bool)
    touched[(first - CELL * low)[:, None] + np.arange(size)] = True
    cells = touched.reshape(-1, CELL)
    whole, some = cells.all(axis=1), cells.any(axis=1)
    numbers = np.flatnonzero(whole) + low
    if len(numbers) == np.count_nonzero(some):
        return Place(numbers, None)
    cells[whole] = False
    return Place(numbers if len(numbers) else None, np.flatnonzero(touched) + CELL * low)
