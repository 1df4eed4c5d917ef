"""Happens-before on global memory: which accesses of a buffer that a kernel both reads and writes are ordered.

Inputs are never written and outputs never read, so that only buffers of access "inout" are looked at. Of those, too,
nothing is tracked as long as they are only read, or each byte is written once: the accesses are but listed, and
taken in when the first one comes that could meet another. What orders two CTAs is a release by one that the other
acquires (`locations.py`); within a CTA, its barriers. The state is one cell for each of the smallest words accessed so
far, since CTAs may own neighbouring halves of a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from warpwright.emulate.machine.order import Order
from warpwright.emulate.numbers.formats import Array

if TYPE_CHECKING:
    from warpwright.emulate.machine.memory import Buffer
    from warpwright.emulate.machine.scheduler import Machine
    from warpwright.emulate.machine.state import Warp

#: (event, what it knew, instruction, first byte of each access, bytes of each, whether it writes)
Access = tuple[int, int, int, Array, int, bool]
_ONLY_READS, _ONLY_WRITES = 1, 2


class Tracked:
    """One buffer: its accesses so far, and, once two of them could meet, the last writer and readers of each cell."""

    def __init__(self, order: Order, buffer: Buffer) -> None:
        self.order, self.buffer = order, buffer
        self.log: list[Access] = []
        self.seen = 0
        self.touched: Array = np.zeros(0, dtype=bool)  # bytes that have been written, as long as nothing is read
        self.cell = 0  # bytes; 0: nothing has met yet
        self.writer: Array = np.zeros(0, dtype=np.int64)  # event + 1, 0: as the host left it
        self.readers: Array = np.zeros(0, dtype=np.int64)  # interned sets, see `Order`

    def access(self, access: Access, visible: int) -> list[tuple[int, int]]:
        """Note an access; the (earlier event, byte) that it races with. `visible`: what its proxy sees."""
        event, known, _, starts, size, write = access
        if not self.cell and not self._meets(starts, size, write):
            self.log.append(access)
            return []
        if not self.cell:
            self._begin()
        self._refine(starts, size)
        self.log.append(access)
        cells = ((starts // self.cell)[:, None] + np.arange(size // self.cell)).reshape(-1)
        return self._write(cells, event, visible) if write else self._read(cells, event, known, visible)

    def _meets(self, starts: Array, size: int, write: bool) -> bool:
        """Whether the access could meet one before it."""
        self.seen |= _ONLY_WRITES if write else _ONLY_READS
        if self.seen != _ONLY_WRITES:
            return self.seen != _ONLY_READS
        if not len(self.touched):
            self.touched = np.zeros(len(self.buffer.data), dtype=bool)
        touched, index = self.touched, starts[:, None] + np.arange(size)
        if size in (2, 4, 8) and not np.count_nonzero(starts & (size - 1)):  # whole words
            touched, index = touched[: len(touched) // size * size].view(f"u{size}"), starts // size
        meets = bool(np.count_nonzero(touched[index]))
        touched[index] = 0x0101010101010101 & (1 << 8 * touched.itemsize) - 1
        return meets

    def apart(self, starts: Array, size: int, write: bool) -> bool:
        """Whether several accesses, of `size` bytes at each of `starts`, meet none before them, nor writes each other;
        they are taken to happen then."""
        if self.cell or self.seen not in (0, _ONLY_WRITES if write else _ONLY_READS):
            return False
        if write and (len(np.unique(starts)) < len(starts) or self._meets(starts, size, True)):
            return False
        self.seen |= _ONLY_WRITES if write else _ONLY_READS
        return True

    def _begin(self) -> None:
        """Take in what has been listed: none of it meets."""
        self.cell = 16
        for _, _, _, starts, size, _ in self.log:
            while size % self.cell or (starts % self.cell).any():
                self.cell //= 2
        count = -(-len(self.buffer.data) // self.cell)
        self.writer, self.readers = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        for event, known, _, starts, size, write in self.log:
            cells = ((starts // self.cell)[:, None] + np.arange(size // self.cell)).reshape(-1)
            if write:
                self._write(cells, event, -1)
            else:
                self._read(cells, event, known, -1)

    def _refine(self, starts: Array, size: int) -> None:
        """Smaller cells, where an access is of less than one."""
        while size % self.cell or (starts % self.cell).any():
            self.cell //= 2
            self.writer, self.readers = np.repeat(self.writer, 2), np.repeat(self.readers, 2)

    def _read(self, cells: Array, event: int, known: int, visible: int) -> list[tuple[int, int]]:
        order, strong = self.order, self.order.strong
        bad = []
        writers, readers = self.writer[cells], self.readers[cells]
        mine = event in strong
        for value in set(writers.tolist()):
            other = value - 1
            if other >= 0 and other != event and not visible >> other & 1 and not (mine and other in strong):
                bad.append((other, self._byte(cells, writers, value)))
        for value in set(readers.tolist()):
            for other in order.readers[value] if strong and not mine else ():
                if order.strong.get(other) and not visible >> other & 1:
                    bad.append((other, self._byte(cells, readers, value)))
            self.readers[cells[readers == value]] = order.with_reader(value, event, known)
        return bad

    def _write(self, cells: Array, event: int, visible: int) -> list[tuple[int, int]]:
        order, strong = self.order, self.order.strong
        bad = []
        writers, readers = self.writer[cells], self.readers[cells]
        mine = event in strong
        kept: dict[int, list[int]] = {}  # atomic writes that this one is not ordered after are still to be met
        for at, values in enumerate((writers, readers)):
            for value in set(values.tolist()):
                others = order.readers[value] if at else (value - 1,) if value else ()
                for other in others:
                    if other != event and not visible >> other & 1:
                        if not mine or other not in strong:
                            bad.append((other, self._byte(cells, values, value)))
                        elif strong[other]:
                            for cell in cells[values == value].tolist():
                                kept.setdefault(cell, []).append(other)
        self.writer[cells] = event + 1
        self.readers[cells] = 0
        for cell, others in kept.items():
            self.readers[cell] = order.together(others)
        return bad

    def _byte(self, cells: Array, values: Array, value: int) -> int:
        return int(cells[np.argmax(values == value)]) * self.cell

    def last(self, event: int, byte: int, writes_only: bool) -> tuple[int, bool]:
        """The last access of `byte` by `event`: its instruction, and whether it wrote."""
        for which, _, number, starts, size, write in reversed(self.log):
            if which == event and (write or not writes_only) and ((starts <= byte) & (byte < starts + size)).any():
                return number, write
        return -1, True


class GlobalOrder:
    """The tracked buffers of a launch."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.tracked: dict[str, Tracked] = {}

    def access(self, warp: Warp, number: int, buffer: Buffer, starts: Array, size: int, write: bool, event: int = -1,
               asynchronous: bool = False, coherent: bool = True) -> None:  # fmt: skip
        """Note that `size` bytes from each of `starts` in `buffer` are read or written.

        `event`: whose access it is, where it is not one of the warp itself; `coherent`: not of the read-only cache.
        """
        if buffer.access != "inout" or not len(starts):
            return
        if event < 0:
            event = warp.event()
        tracked = self._of(buffer)
        known = warp.known | 1 << event
        order = self.machine.order
        visible = warp.known if coherent else 0
        if asynchronous:  # what was fenced for global memory, or needed no fence
            visible = warp.known & order.fenced_global | warp.known_async & ~order.fenced_shared
            known = visible | 1 << event
        for other, byte in tracked.access((event, known, number, starts, size, write), visible):
            self._report(warp, number, tracked, event, other, byte, write, asynchronous, coherent)

    def apart(self, warp: Warp, numbers: Sequence[int], buffer: Buffer, starts: Array, size: int, write: bool) -> bool:
        """Note several accesses of a warp, (accesses, 32) `starts`, where they can meet no other; else do nothing."""
        tracked = self._of(buffer)
        if not tracked.apart(starts.reshape(-1), size, write):
            return False
        event = warp.event()
        known = warp.known | 1 << event
        tracked.log += [(event, known, number, row, size, write) for number, row in zip(numbers, starts, strict=True)]
        return True

    def _of(self, buffer: Buffer) -> Tracked:
        found = self.tracked.get(buffer.name)
        if found is None:
            found = self.tracked[buffer.name] = Tracked(self.machine.order, buffer)
        return found

    def _report(self, warp: Warp, number: int, tracked: Tracked, event: int, other: int, byte: int, write: bool,
                asynchronous: bool, coherent: bool) -> None:  # fmt: skip
        machine, order = self.machine, self.machine.order
        earlier = order.events[other]
        before, wrote = tracked.last(other, byte, not write)
        instructions = machine.program.instructions
        lines = (instructions[number].line, instructions[before].line)
        proxy = "async" if asynchronous else "generic"
        first = "write" if wrote else "read"
        if not coherent:
            remedy = "a load without .nc, which is only for what no thread writes while the kernel runs"
        elif earlier.source.remedy is not None:
            remedy = earlier.source.remedy(earlier.warp, warp)
        elif warp.known >> other & 1:
            remedy = f"fence.proxy.async between the {first} and the later access, by a thread that is ordered between"
        elif earlier.warp.cta is warp.cta:
            remedy = f"a barrier at which {earlier.warp} arrives after the {first}, and on which {warp} waits"
        else:
            remedy = (
                f"a release after the {first} by {earlier.warp} (a write with .release, or a fence and a relaxed"
                f" write) that {warp} acquires (a read with .acquire, or a relaxed read and a fence), both at a"
                " scope that holds the two"
            )
        machine.report.add(
            "race",
            f"byte {byte} of {tracked.buffer.name!r} in global memory\n"
            f"  {proxy} proxy {'write' if write else 'read'} by {order.events[event].actor}\n"
            f"    {machine.line(number)}\n"
            f"  is not ordered after the {earlier.proxy} proxy {first} by {earlier.actor}\n    {machine.line(before)}\n"
            f"  what would order them: {remedy}",
            lines,
            buffer=tracked.buffer.name,
        )
