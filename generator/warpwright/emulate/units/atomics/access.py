"""Strong accesses: where they lie, whom they meet, and what they release and acquire.

Two strong accesses (atomic, relaxed, acquire, release, volatile) of one word do not race; a strong and an ordinary one
do. Functions that the translated code calls take the fiber and the number of the instruction first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import SHARED_WINDOW, locate, reach
from warpwright.emulate.machine.memory import Buffer
from warpwright.emulate.machine.order import WARP
from warpwright.emulate.machine.people import counted
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.machine.strong import strong_access
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.barriers.released import release
from warpwright.emulate.units.memory.shared import bytes_of


@dataclass(frozen=True)
class Order:
    """The ordering of one instruction: `level` is its scope (`machine.locations.LEVELS`)."""

    level: int
    acquire: bool
    release: bool


@dataclass
class Places:
    """Where the active lanes access: bytes of one buffer or one CTA's shared memory, the first byte of each lane's."""

    holder: Buffer | Cta
    data: Array
    starts: Array
    shared: bool

    def words(self, width: int, count: int) -> Array:
        """(lanes, count) unsigned integers."""
        size = width * count
        found: Array = np.ascontiguousarray(self.data[self.starts[:, None] + np.arange(size)]).view(f"u{width}")
        return found

    def put(self, lanes: Array, values: Array) -> None:
        """`values` of the chosen lanes: (lanes, count)."""
        flat = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
        self.data[self.starts[lanes][:, None] + np.arange(flat.shape[1])] = flat


class Meeting:
    """Of a warp: the events of its strong reads and writes since it last released something."""

    def __init__(self, _warp: Warp) -> None:
        self.segment = -1
        self.events: dict[bool, int] = {}

    def event(self, warp: Warp, write: bool) -> int:
        segment = warp.event()
        if segment != self.segment:
            self.segment, self.events = segment, {}
        if write not in self.events:
            order = warp.machine.order
            event = self.events[write] = order.event(WARP, warp, False)
            order.strong[event] = write
            warp.known |= 1 << event
            warp.unsynced |= 1 << event
        return self.events[write]


def places(f: Fiber, number: int, addresses: Any, size: int, space: str, what: str) -> Places:
    """Where `size` bytes at each lane's address lie; reports what is out of bounds or misaligned."""
    warp, machine = f.warp, f.warp.machine
    rows = np.full(32, addresses, dtype=np.int64) if isinstance(addresses, int) else addresses.astype(np.int64)
    chosen = rows[f.lanes]
    if space in ("shared", "cluster") or (not space and int(chosen[0]) >= SHARED_WINDOW):
        found = {a: locate(f, number, a, space != "shared", size, size) for a in set(chosen.tolist())}
        ctas = {cta for cta, _ in found.values()}
        if len(ctas) > 1:
            machine.fault(
                "shared-bounds", warp, number, "one instruction reaches into several CTAs: not emulated", True
            )
        (cta,) = ctas
        return Places(cta, cta.bytes, np.array([found[a][1] for a in chosen.tolist()]), True)
    bad = chosen[chosen % size != 0]
    if len(bad):
        text = f"global address {int(bad[0]):#x} is not a multiple of {size}"
        machine.fault("misaligned", warp, number, text, fatal=True)
    low, high = int(chosen.min()), int(chosen.max())
    buffer = machine.memory.at(low, high - low + size)
    if buffer is None:
        at = low if machine.memory.at(low, size) is None else high
        text = f"{what} of {counted(size, 'byte')} at {at:#x}: {machine.memory.near(at)}"
        machine.fault("global-bounds", warp, number, text, fatal=True)
        raise AssertionError
    return Places(buffer, buffer.data, chosen - buffer.address, False)


def meet(f: Fiber, number: int, where: Places, size: int, write: bool, read: bool, asynchronous: int = -1) -> None:
    """Note a strong access, and report the ordinary ones that it is not ordered after.

    `asynchronous`: the event of an operation that is not the warp's own.
    """
    warp, machine = f.warp, f.warp.machine
    warp.accessing |= f.mask
    event = warp.own(Meeting).event(warp, write) if asynchronous < 0 else asynchronous
    if isinstance(where.holder, Buffer):
        _check_access(f, number, where.holder, write, read)
        machine.global_order.access(warp, number, where.holder, np.unique(where.starts), size, write, event)
        return
    cta = where.holder
    if cta is not warp.cta:
        reach(warp, number, cta, event)
    every = bytes_of(where.starts, size)
    bad = []
    if read:
        bad += strong_access(cta.shadow, every, event, warp.known, number, False)
    if write:
        again = strong_access(cta.shadow, every, event, warp.known, number, True)
        bad += [each for each in again if each not in bad]
    if bad:
        machine.check_order(bad, cta, event, warp, number, write, False)


def _check_access(f: Fiber, number: int, buffer: Buffer, write: bool, read: bool) -> None:
    machine = f.warp.machine
    if write and buffer.access == "in":
        text = f"write to {buffer.name!r}, which is an input"
        machine.fault("global-bounds", f.warp, number, text, fatal=True)
    if read and buffer.access == "out":
        machine.fault("global-bounds", f.warp, number, f"read of {buffer.name!r}, which is an output only")


def exchange(f: Fiber, where: Places, order: Order, write: bool, read: bool, atomic: bool) -> None:
    """What the access acquires and releases. An atomic operation acquires before it releases."""
    warp, locations = f.warp, f.warp.machine.locations
    keys = [(id(where.holder), start) if where.shared else where.holder.address + start  # type: ignore[union-attr]
            for start in dict.fromkeys(where.starts.tolist())]  # fmt: skip
    if read:
        for key in keys:
            locations.read(warp, key, order.level, order.acquire)
    if write:
        released = release(f) if order.release else None
        for key in keys:
            locations.write(warp, key, order.level, released, atomic)


def strong_load(f: Fiber, number: int, addresses: Any, width: int, count: int, space: str, order: Order) -> Array:
    """ld.relaxed, .acquire, .volatile, .mmio: (count, 32) unsigned integers; (count, 1) at a uniform address."""
    if not f.mask:
        return np.zeros((count, 32), dtype=f"u{width}")
    where = places(f, number, addresses, width * count, space, "read")
    meet(f, number, where, width * count, False, True)
    exchange(f, where, order, False, True, False)
    found: Array = where.words(width, count).T
    if isinstance(addresses, int):
        return found[:, :1]
    result = np.zeros((count, 32), dtype=f"u{width}")
    result[:, f.lanes] = found
    return result


def strong_store(f: Fiber, number: int, addresses: Any, values: Array, width: int, space: str, order: Order) -> None:
    """st.relaxed, .release, .volatile, .mmio of (count, 32) unsigned integers."""
    count = len(values)
    if not f.mask:
        return
    where = places(f, number, addresses, width * count, space, "write")
    meet(f, number, where, width * count, True, False)
    exchange(f, where, order, True, False, False)
    where.put(np.arange(len(where.starts)), values.astype(f"u{width}")[:, f.lanes].T)
    written(f, number, where, width * count, False)


def written(f: Fiber, number: int, where: Places, size: int, atomic: bool) -> None:
    """Count the write of each byte of a buffer: an output is to be written once, but added to as often as it likes."""
    buffer = where.holder
    if isinstance(buffer, Buffer):
        counts: Any = buffer.writes
        index = np.unique(where.starts)[:, None] + np.arange(size)
        if buffer.access == "out" and not atomic and counts[index].any():
            at = int(index[counts[index] > 0].min())
            f.warp.machine.fault("written-twice", f.warp, number, f"byte {at} of {buffer.name!r} is written again")
        counts[index] = 1
