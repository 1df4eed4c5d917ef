"""mbarrier objects, as the PTX ISA defines them.

A phase ends when its pending arrivals and its transaction count are both zero; the pending count
then starts again from the initial one. What arrivals release becomes known to waiters when the phase ends.
Functions that the translated code calls take the fiber and the number of the instruction first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.machine.addresses import locate
from warpwright.emulate.machine.cells import place_of
from warpwright.emulate.machine.order import WARP
from warpwright.emulate.machine.people import arrivals, counted
from warpwright.emulate.machine.state import Cta, Fiber, Warp
from warpwright.emulate.units.barriers.released import Fenced, handed_on

COUNT_LIMIT = (
    1 << 20
) - 1  # of arrivals, and of bytes: PTX ISA, "Tracking asynchronous operations by the mbarrier object"


class MBarriers:
    """The mbarriers of a CTA, by offset."""

    def __init__(self, _cta: Cta) -> None:
        self.at: dict[int, MBarrier] = {}


class MBarrier:
    """`tx` is the transaction count: bytes expected less bytes landed, negative when they land first."""

    def __init__(self, cta: Cta, offset: int, count: int, event: int, number: int) -> None:
        self.cta, self.offset, self.count, self.event, self.number = cta, offset, count, event, number
        self.pending, self.tx, self.phase = count, 0, 0
        self.known = self.known_async = 0  # of completed phases
        self.coming = self.coming_async = 0  # of the phase in progress
        self.far = 0  # of `known` and `coming`, what arrivals of other CTAs alone released
        self.waiting: list[Fiber] = []
        self.clock = self.coming_clock = 0
        seen = cta.machine.observed["mbarriers"]
        none = {"counts": set(), "arrivals": set(), "bytes": set(), "ranks": set(), "phases": 0}
        self.seen = seen.setdefault(offset, none)
        self.seen["counts"].add(count)
        self.landed = self.arrived = 0
        self.arrivers: list[tuple[Warp, int, int]] = []  # of the phase in progress: warp, instruction, arrivals

    def __str__(self) -> str:
        return f"mbarrier {self.cta.machine.place(self.cta, self.offset)}"

    def state(self) -> str:
        """`phase 3 (parity 1): 4 of 5 arrivals have come, 16 bytes are missing`."""
        parity = "" if self.phase < 2 else f" (parity {self.phase & 1})"
        come = self.count - self.pending
        if not come:
            arrived = f"none of {self.count} arrivals has come" if self.count > 1 else "its one arrival has not come"
        elif not self.pending:
            arrived = f"all {self.count} arrivals have come" if self.count > 1 else "its one arrival has come"
        else:
            arrived = f"{come} of {self.count} arrivals {'has' if come == 1 else 'have'} come"
        landed = f" ({self.landed} have landed)" if self.landed else ""
        if self.tx > 0:
            arrived += f", {counted(self.tx, 'byte')} {'is' if self.tx == 1 else 'are'} missing{landed}"
        elif self.tx < 0:
            arrived += f", {-self.tx} bytes more than expected so far have landed"
        elif self.landed:
            arrived += f", no byte is missing{landed}"
        return f"phase {self.phase}{parity}: {arrived}"

    def history(self) -> str:
        """Lines of a report: the count, where it was set, what the plan says, and who has arrived."""
        machine = self.cta.machine
        text = f"\n    initialised for {counted(self.count, 'arrival')}\n      {machine.line(self.number)}"
        return text + machine.planned(machine.name(self.offset)) + arrivals(machine, self.arrivers)

    def arrive(self, f: Fiber, number: int, count: int, expect: int = 0, relaxed: bool = False,
               local: bool = False) -> None:  # fmt: skip
        warp = f.warp
        peer = warp.cta is not self.cta
        known, known_async = handed_on(f, relaxed, local, peer)
        if peer:
            self.far |= known & ~(self.coming | self.known)
        elif self.far:
            self.far &= ~known
        self.coming |= known
        self.coming_async |= known_async
        self.coming_clock = max(self.coming_clock, warp.clock)
        if expect:
            self.expect(warp, number, expect)
        self._count(warp, number, count)

    def arrive_async(
        self, warp: Warp, number: int, known: int, clock: int, count: int = 1, generic: bool = False
    ) -> None:
        """Arrivals by the completion of asynchronous operations, which makes `known` known; `generic`: of operations of
        the generic proxy, which the asynchronous one does not see by that."""
        self.coming |= known
        self.coming_async |= 0 if generic else known
        self.coming_clock = max(self.coming_clock, clock)
        self._count(warp, number, count)

    def raise_pending(self, warp: Warp, number: int, count: int) -> None:
        """`count` more arrivals end the phase in progress: those that its asynchronous operations will make."""
        if self.pending + count > COUNT_LIMIT:
            text = f"{self}: {self.pending + count} pending arrivals: at most {COUNT_LIMIT} ({self.state()})"
            warp.machine.fault("mbarrier", warp, number, text, fatal=True)
        self.pending += count

    def _count(self, warp: Warp, number: int, count: int) -> None:
        if count > self.pending:
            text = (
                f"{self}: {counted(count, 'arrival')} here: more arrivals than the phase has; it is in {self.state()}"
                f"{self.history()}\n"
                "    either a wait is missing before this arrival (for the phase's end, or for what follows it and lets"
                " this warp\n    come round again), or the count is too small"
            )
            warp.machine.fault("mbarrier", warp, number, text, fatal=True)
        self.pending -= count
        self.arrived += count
        self.arrivers.append((warp, number, count))
        self._advance()

    def expect(self, warp: Warp, number: int, count: int) -> None:
        self.tx += count
        if self.tx > COUNT_LIMIT:
            text = f"{self}: transaction count {self.tx} exceeds {COUNT_LIMIT}"
            warp.machine.fault("mbarrier", warp, number, text, fatal=True)

    def complete(self, warp: Warp, number: int, count: int, event: int, clock: int, generic: bool = False) -> None:
        """`count` bytes of the asynchronous operation `event` have landed; `generic`: of one of the generic proxy."""
        self.coming |= 1 << event
        self.coming_async |= 0 if generic else 1 << event
        self.coming_clock = max(self.coming_clock, clock)
        self.tx -= count
        self.landed += count
        if self.tx < 0 and (not self.pending or self.tx < -COUNT_LIMIT):
            text = f"{self}: {count} bytes landed, {-self.tx} more than expected{self.history()}\n"
            text += "    either expect_tx announces too little, or a copy too many completes here"
            warp.machine.fault("mbarrier", warp, number, text)
        self._advance()

    def _advance(self) -> None:
        if self.pending or self.tx:
            return
        self.phase += 1
        self.pending = self.count
        self.known |= self.coming
        self.known_async |= self.coming_async
        self.coming = self.coming_async = 0
        self.clock = self.coming_clock
        self.seen["arrivals"].add(self.arrived)
        self.seen["bytes"].add(self.landed)
        self.seen["ranks"].add(self.cta.rank & 1)
        self.seen["phases"] += 1
        self.landed = self.arrived = 0
        self.arrivers.clear()
        if self.waiting:
            woken, self.waiting = self.waiting, []
            for fiber in woken:
                self.cta.machine.ready(fiber)


def mbarrier_of(f: Fiber, number: int, address: int, cluster: bool = False) -> MBarrier:
    """The barrier at a shared address."""
    cta, offset = locate(f, number, address, cluster, 8, 8)
    return lookup(f.warp, number, cta, offset, f.warp.known)


def lookup(warp: Warp, number: int, cta: Cta, offset: int, known: int) -> MBarrier:
    """The barrier at `offset` of `cta`, its initialisation checked against what is `known`."""
    machine = warp.machine
    barrier = cta.own(MBarriers).at.get(offset)
    if barrier is None:
        text = f"no mbarrier is initialised at {machine.place(cta, offset)}"
        machine.fault("mbarrier", warp, number, text, fatal=True)
        raise AssertionError
    if not known >> barrier.event & 1:
        text = (
            f"{barrier}: its mbarrier.init is not ordered before this use\n    {machine.line(barrier.number)}\n  what"
            " would order them: fence.mbarrier_init (or fence.proxy.async), then a barrier to this warp"
        )
        lines = (machine.program.instructions[number].line, machine.program.instructions[barrier.number].line)
        machine.report.add("race", f"{text}\n  {warp}\n  {machine.line(number)}", lines)
    return barrier


def mbarrier_init(f: Fiber, number: int, addresses: Any, count: int) -> None:
    """Each active lane initialises one; `addresses` is one address or 32."""
    shared = isinstance(addresses, int)
    every = [addresses] * f.mask.bit_count() if shared else addresses[f.lanes].tolist()
    for address in sorted(set(every)):
        _init(f, number, address, count, every.count(address))


def _init(f: Fiber, number: int, address: int, count: int, lanes: int) -> None:
    warp = f.warp
    cta, offset = locate(f, number, address, False, 8, 8)
    if not 1 <= count <= COUNT_LIMIT:
        warp.machine.fault("mbarrier", warp, number, f"an arrival count of {count}: it must be 1..{COUNT_LIMIT}", True)
    barriers, mine, shadow = cta.own(MBarriers).at, warp.own(Fenced), cta.shadow
    if lanes > 1:
        text = (
            f"{lanes} lanes initialise mbarrier {warp.machine.place(cta, offset)} at once: the first one makes it an"
            " mbarrier,\n  which none of the others may initialise again\n"
            "  what would mend it: one lane that does it (elect.sync)"
        )
        warp.machine.fault("mbarrier", warp, number, text)
    if offset in barriers:
        text = f"{barriers[offset]} is initialised again ({barriers[offset].state()})"
        warp.machine.fault("mbarrier", warp, number, text)
    if mine.event < 0:
        mine.event = warp.machine.order.event(WARP, warp, False)
        warp.known |= 1 << mine.event
    if shadow.is_used(offset):  # a data buffer was here: its accesses must be over
        place = place_of(np.array([offset]), 8)
        bad = shadow.write_place(place, mine.event, warp.known, place.entries(number, True))
        warp.machine.check_order(bad, cta, mine.event, warp, number, True, False)
    shadow.hold(offset, "mbarrier", "a live mbarrier")
    barriers[offset] = MBarrier(cta, offset, count, mine.event, number)


def mbarrier_inval(f: Fiber, number: int, address: int) -> None:
    cta, offset = locate(f, number, address, False, 8, 8)
    barrier = mbarrier_of(f, number, address)
    if barrier.waiting:
        f.warp.machine.fault("mbarrier", f.warp, number, f"{barrier} is invalidated while warps wait for it")
    del cta.own(MBarriers).at[offset]
    cta.shadow.let_go(offset)
