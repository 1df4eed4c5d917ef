"""Named barriers of a CTA and the cluster barrier, as the PTX ISA defines them.

Functions that the translated code calls take the fiber and the number of the instruction first.
"""

from __future__ import annotations

from typing import Any

from warpwright.emulate.machine.people import warps_of
from warpwright.emulate.machine.scheduler import Machine
from warpwright.emulate.machine.state import Cluster, Cta, Fiber, Warp
from warpwright.emulate.units.barriers.released import PEERS, Fenced

#: A rule that can be left out: a warp comes to a named barrier once in a phase. The hardware counts arrivals, whoever
#: makes them, and production kernels give a group of warps its first turn by arrivals of its own.
TWICE = "named-barrier-twice"


class NamedBarrier:
    """One of the 16 barriers of a CTA (PTX ISA, "bar, barrier"); counts threads, in whole warps.

    everyone: no thread count was given, so that all warps take part that have not ended. parts: the lanes of a warp
    that have come to a barrier without .aligned, which waits for the rest of the warp.
    """

    def __init__(self) -> None:
        self.expected = self.arrived = 0
        self.everyone = False
        self.known = self.known_async = self.clock = 0  # what the arrivals of this phase release
        self.waiting: list[Fiber] = []
        self.members: dict[Warp, int] = {}  # who has arrived, by which instruction
        self.parts: dict[Warp, Part] = {}
        self.votes = [0, 0]  # of the phase: threads for which the predicate of bar.red holds, threads that gave one

    def due(self, cta: Cta) -> int:
        """How many threads the phase waits for."""
        return 32 * sum(not warp.done for warp in cta.warps) if self.everyone else self.expected

    def advance(self, machine: Machine, cta: Cta) -> bool:
        """End the phase if all have arrived; also called when a warp ends, which may count no longer."""
        if not self.arrived or self.arrived < self.due(cta):
            return False
        for fiber in self.waiting:
            fiber.token = self.known, self.known_async, self.clock
            machine.ready(fiber)
        self.arrived, self.members, self.waiting, self.votes = 0, {}, [], [0, 0]
        self.known = self.known_async = self.clock = 0
        return True


class Part:
    """Of a warp at a barrier without .aligned: its lanes that have come, those among them that do not wait."""

    def __init__(self) -> None:
        self.lanes = 0
        self.going: list[Fiber] = []
        self.staying: list[Fiber] = []
        self.number = 0


class NamedBarriers:
    """Those of a CTA, by number."""

    def __init__(self, _cta: Cta) -> None:
        self.at: dict[int, NamedBarrier] = {}


class ClusterBarrier:
    """barrier.cluster: counts the warps of all CTAs of a cluster that are still alive."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.arrived = self.generation = 0
        self.known = self.known_async = self.coming = self.coming_async = 0
        self.clock = self.coming_clock = 0
        self.waiting: list[Fiber] = []

    def advance(self, machine: Machine) -> None:
        """End the phase if all have arrived; also called when a warp ends, which counts no longer."""
        if not self.arrived or self.arrived < self.cluster.warps:
            return
        self.generation += 1
        self.arrived = 0
        self.known, self.known_async, self.clock = self.coming, self.coming_async, self.coming_clock
        self.coming = self.coming_async = self.coming_clock = 0
        woken, self.waiting = self.waiting, []
        for fiber in woken:
            machine.ready(fiber)


class ClusterPhase:
    """Of a warp: the generation of the cluster barrier that it has arrived at and not waited for, None without one; the
    lanes that have come to arrive, and those that have waited."""

    def __init__(self, warp: Warp) -> None:
        self.warp = warp
        self.phase: int | None = None
        self.come = self.gone = 0
        self.eager = False  # an arrival that was not relaxed

    def arrive(self, barrier: ClusterBarrier) -> None:
        """All lanes of the warp have come: it counts from here on."""
        warp = self.warp
        if self.eager:
            warp.synchronise()
            barrier.coming |= warp.known
            barrier.coming_async |= warp.known_async
        else:
            fenced = warp.own(Fenced)
            barrier.coming |= fenced.released | (fenced.sent if PEERS in warp.machine.options.without else 0)
            barrier.coming_async |= fenced.released_async
        barrier.coming_clock = max(barrier.coming_clock, warp.clock)
        self.phase, self.come, self.eager = barrier.generation, 0, False
        barrier.arrived += 1
        barrier.advance(warp.machine)


def _name(machine: Machine, identifier: int) -> str:
    """What a report calls a named barrier: `named barrier 4 (mma_order)`."""
    name = machine.options.named(identifier)
    return f"named barrier {identifier}{f' ({name})' if name else ''}"


def bar_sync(f: Fiber, number: int, identifier: int, threads: int, wait: bool, aligned: bool) -> bool:
    """bar.sync, or bar.arrive where not `wait`; True when the fiber goes on. `threads` 0: all of the CTA."""
    warp, machine = f.warp, f.warp.machine
    if f.token is not None:  # what the phase that this fiber waited for released
        known, known_async, clock = f.token
        f.token = None
        warp.learn(known, known_async)
        warp.catch_up(clock, number, "named", barrier=identifier)
        return True
    whole = f.mask == warp.alive
    if aligned and not whole:
        text = f"{_name(machine, identifier)}: only lanes {f.mask:#010x} of {warp.alive:#010x} take part"
        machine.fault("named-barrier", warp, number, text, fatal=True)
    everyone = not threads
    threads = threads or 32 * len(warp.cta.warps)
    if not 0 <= identifier < 16 or threads % 32:
        text = f"{_name(machine, identifier)} of {threads} threads: there are barriers 0..15, of whole warps"
        machine.fault("named-barrier", warp, number, text, fatal=True)
    barriers = warp.cta.own(NamedBarriers).at
    barrier = barriers.get(identifier)
    if barrier is None:
        barrier = barriers[identifier] = NamedBarrier()
    if barrier.expected != threads:
        machine.observed["named"].setdefault(identifier, set()).add(threads)
    if barrier.arrived and barrier.expected != threads:
        others = "".join(f"\n    there: {w}\n      {machine.line(n)}" for w, n in [*barrier.members.items()][:1])
        text = f"{_name(machine, identifier)}: {threads} threads here, {barrier.expected} for those already there"
        text += f"{machine.planned(machine.options.named(identifier))}{others}"
        machine.fault("named-barrier", warp, number, text, fatal=True)
    if warp in barrier.members and TWICE not in machine.options.without:
        missing, planned = barrier.expected - barrier.arrived, machine.planned(machine.options.named(identifier))
        text = (
            f"{_name(machine, identifier)}: the warp arrives twice in one phase, of which"
            f" {missing} of {barrier.expected} threads have not arrived{planned}\n"
            f"    arrived in this phase: {warps_of([*barrier.members])}; this warp by\n"
            f"      {machine.line(barrier.members[warp])}\n"
            "    those that are missing do not come to it, or this warp does not wait for the phase's end before"
        )
        machine.fault("named-barrier", warp, number, text, fatal=True)
    barrier.everyone = everyone and (barrier.everyone or not barrier.arrived)
    barrier.expected = threads
    if not whole:
        part = barrier.parts.setdefault(warp, Part())
        part.number = number
        part.lanes |= f.mask
        if part.lanes != warp.alive:
            (part.staying if wait else part.going).append(f)
            return machine.block(f, "named", number, (identifier, barrier))
        del barrier.parts[warp]
        _gather(barrier, part, machine)
    if _arrive(barrier, identifier, warp, number, wait) or not wait:
        return True
    barrier.waiting.append(f)
    return machine.block(f, "named", number, (identifier, barrier))


def _gather(barrier: NamedBarrier, part: Part, machine: Machine) -> None:
    """The warp is complete at the barrier: those of its lanes that only arrive go on, the others wait on."""
    for fiber in part.going:
        fiber.token = 0, 0, 0
        machine.ready(fiber)
    barrier.waiting += part.staying


def _arrive(barrier: NamedBarrier, identifier: int, warp: Warp, number: int, wait: bool) -> bool:
    """A warp has arrived; True when that ends the phase. One that waits learns what the others released."""
    barrier.arrived += 32
    barrier.members[warp] = number
    warp.synchronise()
    barrier.known |= warp.known
    barrier.known_async |= warp.known_async
    barrier.clock = max(barrier.clock, warp.clock)
    known, known_async, clock = barrier.known, barrier.known_async, barrier.clock
    if not barrier.advance(warp.machine, warp.cta):
        return False
    if wait:
        warp.learn(known, known_async)
        warp.catch_up(clock, number, "named", barrier=identifier)
    return True


def cluster_arrive(f: Fiber, number: int, relaxed: bool, aligned: bool) -> None:
    """barrier.cluster.arrive: a relaxed one carries only what a fence released before."""
    warp, barrier, own = f.warp, f.warp.cta.cluster.own(ClusterBarrier), f.warp.own(ClusterPhase)
    machine = warp.machine
    if aligned and f.mask != warp.alive:
        machine.fault("convergence", warp, number, "barrier.cluster needs all lanes of the warp", fatal=True)
    if own.phase is not None or own.come & f.mask:
        machine.fault("convergence", warp, number, "a second barrier.cluster.arrive without a wait", fatal=True)
    own.come |= f.mask
    own.eager |= not relaxed
    if own.come == warp.alive:
        own.arrive(barrier)


def cluster_wait(f: Fiber, number: int, aligned: bool) -> bool:
    """barrier.cluster.wait: True when the fiber goes on."""
    warp, barrier, own = f.warp, f.warp.cta.cluster.own(ClusterBarrier), f.warp.own(ClusterPhase)
    if aligned and f.mask != warp.alive:
        warp.machine.fault("convergence", warp, number, "barrier.cluster needs all lanes of the warp", fatal=True)
    if own.phase is None and f.mask & ~own.come:
        warp.machine.fault("convergence", warp, number, "barrier.cluster.wait without an arrive", fatal=True)
    if own.phase is None or barrier.generation == own.phase:
        barrier.waiting.append(f)
        return warp.machine.block(f, "cluster", number, barrier)
    own.gone |= f.mask
    if not warp.alive & ~own.gone:
        own.phase, own.gone = None, 0
    warp.learn(barrier.known, barrier.known_async)
    warp.catch_up(barrier.clock, number, "cluster")
    return True


def leave(warp: Warp) -> None:
    """Lanes of a warp have ended, or all of it: barriers count and wait for them no longer."""
    machine, cta = warp.machine, warp.cta
    barriers = cta.owned(NamedBarriers)
    for identifier, barrier in barriers.at.items() if barriers is not None else ():
        part = barrier.parts.get(warp)
        if part is not None and not warp.alive & ~part.lanes:
            del barrier.parts[warp]
            _gather(barrier, part, machine)
            # Those of its lanes that wait learn when they are woken.
            _arrive(barrier, identifier, warp, part.number, False)
        if warp.done:
            barrier.advance(machine, cta)
    clustered = cta.cluster.owned(ClusterBarrier)
    if clustered is None:
        return
    if warp.done:
        clustered.advance(machine)
        return
    own = warp.own(ClusterPhase)
    if own.phase is None and own.come and not warp.alive & ~own.come:
        own.arrive(clustered)


def explain_named(fiber: Fiber, detail: Any) -> tuple[str, dict[str, Any]]:
    """What a bar.sync waits for."""
    machine, cta = fiber.warp.machine, fiber.warp.cta
    identifier, named = detail
    due = named.due(cta)
    facts = {"named": identifier, "arrived": named.arrived, "expected": due}
    text = f"{_name(machine, identifier)}: {due - named.arrived} of {due} threads have not arrived"
    text += machine.planned(machine.options.named(identifier))
    text += f"\n    arrived in this phase: {warps_of([*named.members]) if named.members else 'nobody'}"
    part = named.parts.get(fiber.warp)
    if part is not None:
        text += f"\n    of {fiber.warp} itself lanes {fiber.warp.alive & ~part.lanes:#010x} have not come"
    return text, facts


def explain_cluster(_fiber: Fiber, barrier: ClusterBarrier) -> tuple[str, dict[str, Any]]:
    """What a barrier.cluster.wait waits for."""
    warps = barrier.cluster.warps
    text = f"the cluster barrier: {warps - barrier.arrived} of {warps} warps have not arrived"
    return text, {"arrived": barrier.arrived, "expected": warps}
