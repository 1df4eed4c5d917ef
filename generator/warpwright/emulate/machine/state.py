"""What a launch consists of: CTAs, warps, and fibers, the groups of lanes that are scheduled.

A divergent branch splits a fiber; its parts meet again at the branch's immediate post-dominator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from warpwright.emulate.machine.addresses import RANK_SHIFT, RESERVED
from warpwright.emulate.machine.cells import CELL
from warpwright.emulate.machine.order import WARP
from warpwright.emulate.machine.rows import FULL, lanes_of, mask_of, thread_index, unset
from warpwright.emulate.machine.shadow import Shadow
from warpwright.emulate.numbers.formats import Array

if TYPE_CHECKING:
    from warpwright.emulate.machine.scheduler import Machine

WAIT, EXIT = -1, -2  # what the function of a block returns instead of the next block
T = TypeVar("T")


class Owner:
    """Something of the launch, with what each unit keeps of it."""

    def __init__(self) -> None:
        self.units: dict[type, Any] = {}

    def own(self, kind: type[T]) -> T:
        """The unit's state of class `kind`, made of this object when it is first asked for."""
        try:
            found: T = self.units[kind]
        except KeyError:
            found = self.units[kind] = kind(self)  # type: ignore[call-arg]
        return found

    def owned(self, kind: type[T]) -> T | None:
        """The same, None if nobody has asked for it yet."""
        return self.units.get(kind)


class Join:
    """Where the parts of a split fiber meet: at `block`, once the lanes of `mask` have `arrived`."""

    __slots__ = ("arrived", "block", "mask", "parent")

    def __init__(self, block: int, mask: int, parent: Join | None) -> None:
        self.block, self.mask, self.parent, self.arrived = block, mask, parent, 0


class Fiber:
    """The lanes of `warp` in `mask`, next to run `block`; `blocked` says on what it waits."""

    __slots__ = ("block", "blocked", "join", "lanes", "mask", "since", "token", "warp")

    def __init__(self, warp: Warp, block: int, mask: int, join: Join | None) -> None:
        self.warp, self.block, self.mask, self.join = warp, block, mask, join
        self.lanes = lanes_of(mask)
        self.token: Any = None  # set when the barrier is complete that the fiber waits for: what that released
        self.blocked: tuple[str, int, Any] | None = None
        self.since = 0

    def split(self, predicate: Any, taken: int, other: int, join: int, ways: bytearray, fork: int) -> int:
        """Branch of the lanes where `predicate` holds to block `taken`, of the rest to `other`; the next block.

        Where it goes is noted at `fork` of `ways` (see Program).
        """
        chosen = mask_of(predicate) & self.mask
        if chosen:
            ways[fork] = 1
            if chosen == self.mask:
                return taken
        ways[fork + 1] = 1
        if not chosen:
            return other
        node = Join(join, self.mask, self.join)
        apart = Fiber(self.warp, taken, chosen, node)
        if taken == len(self.warp.machine.program.blocks) - 1:
            apart.leave()  # lanes that return are gone before the others go on
        else:
            self.warp.machine.ready(apart)
        self.mask &= ~chosen
        self.lanes, self.join = lanes_of(self.mask), node
        return other

    def narrow(self, predicate: Any) -> int:
        """Keep the lanes where `predicate` holds, for one guarded instruction; the mask to `widen` to again."""
        before = self.mask
        self.mask &= mask_of(predicate)
        self.lanes = lanes_of(self.mask)
        return before

    def widen(self, mask: int) -> None:
        self.mask, self.lanes = mask, lanes_of(mask)

    def meet(self, block: int) -> bool:
        """At the start of `block`: True when this fiber goes on, with the lanes that it waited for."""
        while self.join is not None and self.join.block == block:
            node = self.join
            node.arrived |= self.mask
            if node.arrived != node.mask:
                return False
            self.mask, self.join = node.mask, node.parent
            self.lanes = lanes_of(self.mask)
        return True

    def knows(self) -> tuple[int, int]:
        """What these lanes know, and what of it the asynchronous proxy sees for them.

        Not what other lanes of the warp did, or learnt by themselves, since all of them last met at a barrier.
        """
        warp = self.warp
        known, known_async = warp.known, warp.known_async
        if warp.accessing & ~self.mask:
            known, known_async = known & ~warp.unsynced, known_async & ~warp.unsynced
        for lanes, events in warp.apart:
            if not lanes & self.mask:
                known, known_async = known & ~events, known_async & ~events
        return known, known_async

    def each_knows(self) -> tuple[int, int]:
        """What each of these lanes knows by itself, and what of it the asynchronous proxy sees."""
        warp = self.warp
        known, known_async = warp.known, warp.known_async
        for lanes, events in warp.apart:
            if self.mask & ~lanes:
                known, known_async = known & ~events, known_async & ~events
        return known, known_async

    def learn(self, known: int, known_async: int) -> None:
        """A wait of these lanes is over; what it shows to some of the warp's lanes, the others do not know yet."""
        warp = self.warp
        if self.mask != warp.alive:
            fresh = known & ~warp.known
            if fresh:
                at = next((n for n, (lanes, _) in enumerate(warp.apart) if lanes == self.mask), None)
                if at is None:
                    warp.apart.append((self.mask, fresh))
                else:
                    warp.apart[at] = self.mask, warp.apart[at][1] | fresh
        else:  # what the lanes arrived with and all of them have waited for, they know of each other
            warp.unsynced &= ~known
        warp.known |= known
        warp.known_async |= known_async

    def leave(self) -> None:
        """Its lanes have returned: those that wait for them at a join must not."""
        node, revived = self.join, False
        while node is not None:
            node.mask &= ~self.mask
            if node.mask and node.arrived == node.mask and not revived:
                revived = True
                self.warp.machine.ready(Fiber(self.warp, node.block, node.mask, node.parent))
            node = node.parent
        self.warp.alive &= ~self.mask
        if not self.warp.alive:
            self.warp.finish()
            return
        for told in self.warp.machine.program.hooks.at_leave:
            told(self.warp)


class Warp(Owner):
    """Registers and knowledge of one warp. `u` holds uniform registers; `U32` and its siblings have a row of 32
    lanes for each varying one, seen through views of every type that instructions use."""

    def __init__(self, group: Warpgroup, index: int) -> None:
        super().__init__()
        self.machine, self.cta, self.group, self.index = group.machine, group.cta, group, index
        machine = self.machine
        odd = (machine.seed + index) & 1
        self.u: list[int] = [*machine.program.unset[odd]]
        rows = {bits: unset(bits, count, kind, odd).copy() for bits, kind, count in machine.program.row_files}
        self.U16, self.U32, self.U64, self.P = rows[16], rows[32], rows[64], rows[1]
        self.S16, self.S32, self.S64 = self.U16.view(np.int16), self.U32.view(np.int32), self.U64.view(np.int64)
        self.F32, self.F64 = self.U32.view(np.float32), self.U64.view(np.float64)
        threads = machine.launch.threads
        first = 32 * index
        self.alive = FULL if first + 32 <= threads else (1 << (threads - first)) - 1
        self.tid = thread_index(machine.launch.block, first)
        self.known = self.known_async = 0
        self.unsynced = self.accessing = 0  # events since all lanes last met at a barrier, and the lanes that made them
        self.apart: list[tuple[int, int]] = []  # since then too: lanes, and events that only they have waited for
        self.withheld = 0  # events that an arrival of some lanes did not hand on, since other lanes made them
        self.segment = -1  # the event of the accesses since the last release
        self.clock = 0
        self.done = False

    def __str__(self) -> str:
        role = self.machine.options.roles(self.index)
        return f"warp {self.index}{f' ({role})' if role else ''} of CTA {self.cta}"

    def event(self) -> int:
        """The event of the accesses that the warp makes now."""
        if self.segment < 0:
            self.segment = self.machine.order.event(WARP, self, False)
            self.known |= 1 << self.segment
            self.unsynced |= 1 << self.segment
        return self.segment

    def catch_up(self, clock: int, number: int, what: str, **facts: Any) -> None:
        """A wait is over that the modelled clock puts at `clock` (an event of the timeline)."""
        if clock > self.clock:
            if self.machine.options.trace:
                self.machine.event("wait", self, number, self.clock, clock, what=what, **facts)
            self.clock = clock

    def synchronise(self) -> None:
        """All lanes have met at a barrier: each knows what the others did; later accesses are a new event."""
        self.segment = -1
        self.unsynced = self.accessing = 0
        if self.apart:
            self.apart.clear()

    def learn(self, known: int, known_async: int) -> None:
        self.known |= known
        self.known_async |= known_async

    def finish(self) -> None:
        self.done = True
        machine, cta = self.machine, self.cta
        cta.cluster.warps -= 1
        for told in machine.program.hooks.at_leave:
            told(self)
        for check in machine.program.hooks.at_exit:
            check(self)
        cta.exit_known |= self.known
        cta.running -= 1
        if not cta.running:
            cta.cluster.left -= 1
            if not cta.cluster.left:
                machine.retire(cta.cluster)


class Warpgroup(Owner):
    """Four warps that follow each other in a CTA, from the warp `first`."""

    def __init__(self, cta: Cta, first: int) -> None:
        super().__init__()
        self.machine, self.cta, self.first = cta.machine, cta, first

    @property
    def warps(self) -> list[Warp]:
        return self.cta.warps[self.first : self.first + 4]


class Cta(Owner):
    """Shared memory and warps of one thread block; offsets are from the start of its shared memory."""

    def __init__(self, machine: Machine, cluster: Cluster, rank: int, ctaid: tuple[int, int, int]) -> None:
        super().__init__()
        self.machine, self.cluster, self.rank, self.ctaid = machine, cluster, rank, ctaid
        self.base = rank << RANK_SHIFT
        self.cluster_ctaid = tuple(i % c for i, c in zip(ctaid, machine.launch.cluster, strict=True))
        self.cluster_id = tuple(i // c for i, c in zip(ctaid, machine.launch.cluster, strict=True))
        size = RESERVED + machine.program.static_bytes + machine.launch.shared_bytes
        self.size = size
        self.bytes: Array = np.zeros((size + CELL - 1) // CELL * CELL, dtype=np.uint8)
        self.bytes[:] = machine.options.garbage  # what is read before it is written shows
        self.chunks = self.bytes.view(np.complex128)
        self.words = {n: self.bytes.view(f"u{n}") for n in (1, 2, 4, 8)}
        self.shadow = Shadow(machine.order, len(self.chunks))
        self.exit_known = 0
        self.warps: list[Warp] = []
        self.running = (machine.launch.threads + 31) // 32

    def __str__(self) -> str:
        return str(self.ctaid)


class Cluster(Owner):
    """CTAs that see each other's shared memory, by rank; `warps` and CTAs `left` that have not ended."""

    def __init__(self, number: int, warps: int) -> None:
        super().__init__()
        self.number, self.warps = number, warps
        self.ctas: list[Cta] = []
        self.left = 0
