"""mbarrier objects, as the PTX ISA defines them.

A phase ends when its pending arrivals and its transaction count are both zero; the pending count
then starts again from the initial one. What arrivals release becomes known to waiters when the phase ends.
Functions that the translated code calls take the fiber and the number of the instruction first.
"""

from __future__ import annotations

from typing import Any

from .machine import Machine
from .order import BARRIER
from .people import arrivals, counted
from .state import RANK_SHIFT, RESERVED, SHARED_WINDOW, Cta, Fiber, Warp

_TX_LIMIT = (1 << 20) - 1  # PTX ISA, "Tracking asynchronous operations by the mbarrier object"
_OFFSET = (1 << RANK_SHIFT) - 1


def release(warp: Warp, mask: int) -> tuple[int, int]:
    """What an arrival of the lanes in `mask` makes known; the warp's later accesses are a new event.

    Accesses that other lanes made are not carried unless bar.warp.sync, or a barrier of all lanes, came between.
    """
    warp.segment = -1
    if warp.accessing & ~mask:
        return warp.known & ~warp.unsynced, warp.known_async & ~warp.unsynced
    return warp.known, warp.known_async


class MBarrier:
    """`tx` is the transaction count: bytes expected less bytes landed, negative when they land first."""

    def __init__(self, cta: Cta, offset: int, count: int, event: int, number: int) -> None:
        self.cta, self.offset, self.count, self.event, self.number = cta, offset, count, event, number
        self.pending, self.tx, self.phase = count, 0, 0
        self.known = self.known_async = 0  # of completed phases
        self.coming = self.coming_async = 0  # of the phase in progress
        self.waiting: list[Fiber] = []
        self.clock = self.coming_clock = 0
        seen = cta.machine.observed["mbarriers"]
        self.seen = seen.setdefault(offset, {"counts": set(), "arrivals": set(), "bytes": set(), "phases": 0})
        self.seen["counts"].add(count)
        self.landed = self.arrived = 0
        self.arrivers: list[tuple[Warp, int, int]] = []  # of the phase in progress: warp, instruction, arrivals

    def __str__(self) -> str:
        return f"mbarrier {self.cta.machine.place(self.cta, self.offset)}"

    def state(self) -> str:
        parity = "" if self.phase < 2 else f" (parity {self.phase & 1})"
        arrivals = counted(self.count, "arrival")
        landed = f" ({self.landed} have landed)" if self.landed else ""
        return f"phase {self.phase}{parity}, {self.pending} of {arrivals} and {self.tx} bytes pending{landed}"

    def history(self) -> str:
        """Lines of a report: the count, where it was set, what the plan says, and who has arrived."""
        machine = self.cta.machine
        text = f"\n    initialised for {counted(self.count, 'arrival')}\n      {machine.line(self.number)}"
        return text + machine.planned(machine.name(self.offset)) + arrivals(machine, self.arrivers)

    def arrive(self, warp: Warp, number: int, mask: int, count: int, expect: int = 0) -> None:
        known, known_async = release(warp, mask)
        self.coming |= known
        self.coming_async |= known_async
        self.coming_clock = max(self.coming_clock, warp.clock)
        self.expect(warp, number, expect)
        self._count(warp, number, count)

    def arrive_async(self, warp: Warp, number: int, known: int, clock: int) -> None:
        """One arrival by the completion of asynchronous operations, which makes `known` known."""
        self.coming |= known
        self.coming_async |= known
        self.coming_clock = max(self.coming_clock, clock)
        self._count(warp, number, 1)

    def _count(self, warp: Warp, number: int, count: int) -> None:
        if count > self.pending:
            text = (
                f"{self}: {counted(count, 'arrival')} here: more arrivals than the phase has; it is in {self.state()}"
                f"{self.history()}\n"
                "    either a wait for the phase's end is missing before this arrival, or the count is too small"
            )
            warp.machine.fault("mbarrier", warp, number, text, fatal=True)
        self.pending -= count
        self.arrived += count
        self.arrivers.append((warp, number, count))
        self._advance()

    def expect(self, warp: Warp, number: int, count: int) -> None:
        self.tx += count
        if self.tx > _TX_LIMIT:
            text = f"{self}: transaction count {self.tx} exceeds {_TX_LIMIT}"
            warp.machine.fault("mbarrier", warp, number, text, fatal=True)

    def complete(self, warp: Warp, number: int, count: int, event: int, clock: int) -> None:
        """`count` bytes of the asynchronous operation `event` have landed."""
        self.coming |= 1 << event
        self.coming_async |= 1 << event
        self.coming_clock = max(self.coming_clock, clock)
        self.tx -= count
        self.landed += count
        if self.tx < 0 and (not self.pending or self.tx < -_TX_LIMIT):
            text = f"{self}: {count} bytes landed, {-self.tx} more than expected ({self.state()}){self.history()}"
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
        self.seen["phases"] += 1
        self.landed = self.arrived = 0
        self.arrivers.clear()
        if self.waiting:
            woken, self.waiting = self.waiting, []
            for fiber in woken:
                self.cta.machine.ready(fiber)


def locate(f: Fiber, number: int, address: int, cluster: bool, size: int, align: int) -> tuple[Cta, int]:
    """The CTA and offset that a shared address means; reports what is out of bounds, misaligned or not ours."""
    warp = f.warp
    if address >= SHARED_WINDOW:
        address -= SHARED_WINDOW
    rank, offset = address >> RANK_SHIFT, address & _OFFSET
    ctas = warp.cta.cluster.ctas
    if rank >= len(ctas) or offset < RESERVED or offset + size > ctas[rank].size:
        text = f"shared address {address:#x}, {size} bytes: outside the {warp.cta.size - RESERVED} bytes of the CTA"
        warp.machine.fault("shared-bounds", warp, number, text, fatal=True)
    if rank != warp.cta.rank and not cluster:
        text = f"shared address {address:#x} is in the CTA of rank {rank}, but the instruction is .shared::cta"
        warp.machine.fault("shared-bounds", warp, number, text, fatal=True)
    if offset % align:
        text = f"shared offset {offset - RESERVED} is not a multiple of {align}"
        warp.machine.fault("misaligned", warp, number, text, fatal=True)
    return ctas[rank], offset


def _mbarrier(f: Fiber, number: int, address: int, cluster: bool = False) -> MBarrier:
    cta, offset = locate(f, number, address, cluster, 8, 8)
    return lookup(f.warp, number, cta, offset, f.warp.known)


def lookup(warp: Warp, number: int, cta: Cta, offset: int, known: int) -> MBarrier:
    """The barrier at `offset` of `cta`, its initialisation checked against what is `known`."""
    machine = warp.machine
    barrier = cta.mbarriers.get(offset)
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


def mbarrier_init(f: Fiber, number: int, address: int, count: int) -> None:
    warp = f.warp
    cta, offset = locate(f, number, address, False, 8, 8)
    if not 1 <= count <= _TX_LIMIT:
        warp.machine.fault("mbarrier", warp, number, f"an arrival count of {count}: it must be 1..{_TX_LIMIT}", True)
    if offset in cta.mbarriers:
        text = f"{cta.mbarriers[offset]} is initialised again ({cta.mbarriers[offset].state()})"
        warp.machine.fault("mbarrier", warp, number, text)
    if warp.inits < 0:
        warp.inits = warp.machine.order.event("", warp, False)
        warp.known |= 1 << warp.inits
    cells = slice(offset >> 4, (offset >> 4) + 1)
    beside = cta.tensor is not None and offset ^ 8 in cta.tensor.slots  # the cell's other half, still in use
    if cta.shadow.state[offset >> 4] > 0 and not beside:  # a data buffer was here: its accesses must be over
        bad = cta.shadow.write(cells, warp.inits, warp.known, number)
        warp.machine.check_order(bad, cta, warp.inits, warp, number, True, False)
    cta.shadow.state[offset >> 4] = BARRIER
    cta.mbarriers[offset] = MBarrier(cta, offset, count, warp.inits, number)


def mbarrier_inval(f: Fiber, number: int, address: int) -> None:
    cta, offset = locate(f, number, address, False, 8, 8)
    barrier = _mbarrier(f, number, address)
    if barrier.waiting:
        f.warp.machine.fault("mbarrier", f.warp, number, f"{barrier} is invalidated while warps wait for it")
    del cta.mbarriers[offset]
    cta.shadow.state[offset >> 4] = BARRIER if offset ^ 8 in cta.mbarriers else 0


def mbarrier_arrive(f: Fiber, number: int, addresses: Any, count: int, expect: int, cluster: bool) -> int:
    """One arrival per active lane; `addresses` is one address or 32. The state before it (for non-parity waits)."""
    warp = f.warp
    if isinstance(addresses, int):
        groups = {addresses: bin(f.mask).count("1")}
    else:
        groups = {}
        for address in addresses[f.lanes].tolist():
            groups[address] = groups.get(address, 0) + 1
    state = 0
    for address, lanes in groups.items():
        barrier = _mbarrier(f, number, address, cluster)
        state = barrier.phase
        if barrier.cta is not warp.cta:
            event = warp.machine.order.event("", warp, False)  # the arrival itself: who sees the phase end knows it
            _reach(warp, number, barrier.cta, event)
            barrier.coming |= 1 << event
            warp.known |= 1 << event  # what the warp releases later comes after its arrival
        barrier.arrive(warp, number, f.mask, count * lanes, expect * lanes)
    return state


def mbarrier_expect(f: Fiber, number: int, address: int, count: int, cluster: bool) -> None:
    _mbarrier(f, number, address, cluster).expect(f.warp, number, count * bin(f.mask).count("1"))


def _reach(warp: Warp, number: int, cta: Cta, event: int) -> None:
    """Note that `warp` reaches into a peer: the peer must not be able to end before that."""
    if not cta.running:
        text = f"CTA {cta} has ended when its peer reaches into its shared memory"
        warp.machine.fault("exit", warp, number, text)
    warp.machine.remote.append((event, cta, warp, number))


reach = _reach


def mbarrier_wait(f: Fiber, number: int, address: int, parity: int, acquire: bool, cluster: bool) -> bool:
    """A wait loop on the phase of `parity`: True once it is over, else the fiber is suspended."""
    barrier = _mbarrier(f, number, address, cluster)
    if (barrier.phase & 1) == (parity & 1):
        barrier.waiting.append(f)
        return f.warp.machine.block(f, "mbarrier", number, (barrier, parity & 1))
    _woken(f, number, barrier, acquire)
    return True


def mbarrier_wait_state(f: Fiber, number: int, address: int, state: int, acquire: bool, cluster: bool) -> bool:
    """The same on the phase of a state that an arrival returned."""
    return mbarrier_wait(f, number, address, state & 1, acquire, cluster)


def _woken(f: Fiber, number: int, barrier: MBarrier, acquire: bool) -> None:
    warp = f.warp
    if acquire:
        warp.known |= barrier.known
        warp.known_async |= barrier.known_async
    warp.catch_up(barrier.clock, number, "mbarrier", offset=barrier.offset, phase=barrier.phase - 1)


def mbarrier_test(f: Fiber, number: int, address: int, parity: int, acquire: bool, cluster: bool) -> int:
    """A peek: 1 if the phase is over, but sometimes 0 even then, as time limits and lost races make it on hardware."""
    barrier = _mbarrier(f, number, address, cluster)
    machine: Machine = f.warp.machine
    if (barrier.phase & 1) == (parity & 1) or machine.rng.random() < machine.options.peek_failure:
        return 0
    _woken(f, number, barrier, acquire)
    return 1
