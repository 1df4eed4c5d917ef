"""cp.async: each thread's copies from global to shared memory, its groups of them, and what it learns by waiting.

A copy, its groups and its waits are those of one thread (PTX ISA, "cp.async"): a wait by lane 3 says nothing of
lane 4's copies, and what the wait has shown to lane 3 others know only behind a barrier. The copies are accesses
of the generic proxy; nothing orders them before the wait, not even among each other.

What the lanes of a warp copy between two commits is one event; only where lanes part (one waits, another does not)
is it divided. The bytes are moved at once: who looks too early is told by the order of accesses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import reach
from warpwright.emulate.machine.order import Source
from warpwright.emulate.machine.rows import FULL, lanes_of, mask_of
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.machine.strong import pass_on
from warpwright.emulate.numbers.formats import Array
from warpwright.emulate.units.barriers.mbarriers import mbarrier_of
from warpwright.emulate.units.memory.global_memory import global_load
from warpwright.emulate.units.memory.shared import bytes_of, shared_place


@dataclass
class Copied:
    """Copies of lanes of a warp: `left` are those that have not waited for theirs, `group` the number of the group
    that each lane put them in, `log` what each instruction filled: CTA, lanes, offsets, bytes at each."""

    warp: Warp
    event: int = -1
    left: int = 0
    group: Array = field(default_factory=lambda: np.zeros(32, dtype=np.int64))
    log: list[tuple[Cta, Array, Array, int]] = field(default_factory=list)
    arriving: bool = False  # at an mbarrier, once they are done

    def remedy(self, began: Any, after: Any) -> str:
        """What would order an access after these copies."""
        if self.arriving:
            return f"a wait by {after} on the mbarrier at which they arrive, at a scope that holds {began}"
        told = "" if began is after else f", then a barrier at which it arrives and {after} waits"
        committed = self.warp.own(Copies).committed
        if (self.group[lanes_of(self.left)] == committed[lanes_of(self.left)]).any():
            return f"cp.async.commit_group and cp.async.wait_group (or cp.async.wait_all) by {began}{told}"
        return f"cp.async.wait_group by {began}, with a count that leaves this group out{told}"


class Copies:
    """Those of a warp that some lane has not waited for; `committed`: how many groups each lane has closed."""

    def __init__(self, warp: Warp) -> None:
        self.warp = warp
        self.committed = np.zeros(32, dtype=np.int64)
        self.open: Copied | None = None  # since the last commit of any lane
        self.flying: list[Copied] = []

    def begin(self, mask: int) -> Copied:
        """The copies that lanes of `mask` add to now."""
        current = self.open
        if current is None:
            current = self.open = Copied(self.warp)
            source = Source("the cp.async of ", current.remedy)
            current.event = self.warp.machine.order.event(source, self.warp, False)
            self.flying.append(current)
        if mask & ~current.left:
            lanes = lanes_of(mask)
            current.group[lanes] = self.committed[lanes]
            current.left |= mask
        return current

    def part(self, copied: Copied, mask: int) -> Copied:
        """Those of the lanes in `mask` alone: what is left of the others' is another event from now on."""
        if mask == copied.left:
            return copied
        order = self.warp.machine.order
        part = Copied(self.warp, -1, mask, copied.group.copy())
        part.event = order.event(Source("the cp.async of ", part.remedy), self.warp, False)
        order.events[part.event].log.extend(order.events[copied.event].log)
        for cta, lanes, offsets, size in copied.log:
            mine = lanes_of(mask)[lanes]
            if mine.any():
                pass_on(cta.shadow, bytes_of(offsets[mine], size), copied.event, part.event)
                part.log.append((cta, lanes[mine], offsets[mine], size))
        copied.left &= ~mask
        self.flying.append(part)
        return part

    def finish(self, copied: Copied, mask: int) -> None:
        """The lanes of `mask` know their part of `copied` done; other lanes' accesses are not yet ordered after it."""
        part = self.part(copied, mask)
        self.flying.remove(part)
        if part is self.open:
            self.open = None
        self.warp.known |= 1 << part.event
        self.warp.unsynced |= 1 << part.event
        self.warp.accessing |= mask


def copy_async(f: Fiber, number: int, targets: Any, sources: Any, size: int, read: Any) -> None:
    """cp.async of `size` bytes for each lane, of which `read` are read and the rest zero."""
    warp = f.warp
    if not f.mask:
        return
    copied = warp.own(Copies).begin(f.mask)
    if not copied.log:
        reach(warp, number, warp.cta, copied.event)
    data = _source(f, number, sources, size, read, copied.event)
    cta, offsets = shared_place(f, number, targets, data, 4, copied.event)
    copied.log.append((cta, np.flatnonzero(f.lanes), offsets, size))


def _source(f: Fiber, number: int, sources: Any, size: int, read: Any, event: int) -> Array:
    """(size // 4, 32) uint32: what the lanes read, zeros behind it."""
    data = np.zeros((size // 4, 32), dtype=np.uint32)
    counts = np.broadcast_to(np.asarray(read, dtype=np.int64), 32)
    if (counts[f.lanes] > size).any():
        text = f"cp.async is to read {int(counts[f.lanes].max())} bytes for a copy of {size}"
        f.warp.machine.fault("cp-async", f.warp, number, text, fatal=True)
    flat = data.T.copy().view(np.uint8)  # (32, size)
    for count in {int(c) for c in counts[f.lanes]} - {0}:
        before = f.narrow(counts == count)
        rows = f.lanes
        if count == size:
            words = global_load(f, number, sources, 4, size // 4, event=event)
            data[:, rows] = words if words.shape[1] == 1 else words[:, rows]
        else:
            for i in range(count):
                byte = global_load(f, number, sources + i, 1, 1, event=event)[0]
                flat[rows, i] = byte if byte.shape[0] == 1 else byte[rows]
            data[:, rows] = flat.view(np.uint32).T[:, rows]
        f.widen(before)
    return data


def copy_commit(f: Fiber) -> None:
    """cp.async.commit_group: each lane's copies since its last one are a group (it may be empty)."""
    mine = f.warp.own(Copies)
    mine.committed[f.lanes] += 1
    mine.open = None


def copy_wait(f: Fiber, pending: int) -> None:
    """cp.async.wait_group: each lane's groups but its last `pending` are done; -1: all, committed or not (wait_all)."""
    mine = f.warp.own(Copies)
    for copied in [*mine.flying]:
        done = copied.left & f.mask
        if pending >= 0:
            done &= mask_of(copied.group < mine.committed - pending)
        if done:
            mine.finish(copied, done)


def copy_arrive(f: Fiber, number: int, addresses: Any, increment: bool) -> None:
    """cp.async.mbarrier.arrive: each lane's copies so far, once done, arrive at the mbarrier that it names.

    With `increment` (not .noinc) the pending count is raised first, so that the phase needs no arrival for it.
    """
    warp = f.warp
    machine, mine = warp.machine, warp.own(Copies)
    rows = np.full(32, addresses, dtype=np.int64) if isinstance(addresses, int) else addresses
    for address in sorted(set(rows[f.lanes].tolist())):
        mask = mask_of(rows == address) & f.mask
        barrier = mbarrier_of(f, number, address)
        count = bin(mask).count("1")
        if increment:
            barrier.raise_pending(warp, number, count)
        mine.open = None  # what is copied from here on is none of this arrival's
        known = 0
        for copied in [*mine.flying]:
            if copied.left & mask:
                part = mine.part(copied, copied.left & mask)
                part.arriving = True
                known |= 1 << part.event
        prior = warp.known if mask == FULL or not warp.accessing & ~mask else warp.known & ~warp.unsynced
        warp.segment = -1

        def land(barrier: Any = barrier, known: int = known | prior, count: int = count) -> None:
            barrier.arrive_async(warp, number, known, warp.clock, count, generic=True)

        machine.pending.append(land)
