"""Named barriers of a CTA and the cluster barrier, as the PTX ISA defines them.

Functions that the translated code calls take the fiber and the number of the instruction first.
"""

from __future__ import annotations

from typing import Any

from warpwright.emulate.machine.people import warps_of
from warpwright.emulate.machine.scheduler import Machine
from warpwright.emulate.machine.state import Cluster, Cta, Fiber, Warp
from warpwright.emulate.units.barriers.mbarriers import Fenced


class NamedBarrier:
    """One of the 16 barriers of a CTA (PTX ISA, "bar, barrier"); counts threads, in whole warps."""

    def __init__(self) -> None:
        self.expected = self.arrived = 0
        self.known = self.known_async = self.clock = 0  # what the arrivals of this phase release
        self.waiting: list[Fiber] = []
        self.members: dict[Warp, int] = {}  # who has arrived, by which instruction


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
    """The generation of the cluster barrier that a warp has arrived at and not waited for, None if there is none."""

    def __init__(self, _warp: Warp) -> None:
        self.phase: int | None = None


def _name(machine: Machine, identifier: int) -> str:
    """What a report calls a named barrier: `named barrier 4 (mma_order)`."""
    name = machine.options.named(identifier)
    return f"named barrier {identifier}{f' ({name})' if name else ''}"


def bar_sync(f: Fiber, number: int, identifier: int, threads: int, wait: bool = True) -> bool:
    """bar.sync, or bar.arrive where not `wait`; True when the fiber goes on. `threads` 0: all of the CTA."""
    warp, machine = f.warp, f.warp.machine
    if f.token is not None:  # what the phase that this fiber waited for released
        known, known_async, clock = f.token
        f.token = None
        warp.learn(known, known_async)
        warp.catch_up(clock, number, "named", barrier=identifier)
        return True
    if f.mask != warp.alive:
        text = f"{_name(machine, identifier)}: only lanes {f.mask:#010x} of {warp.alive:#010x} take part"
        machine.fault("named-barrier", warp, number, text, fatal=True)
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
    if warp in barrier.members:
        text = f"{_name(machine, identifier)}: the warp arrives twice in one phase"
        machine.fault("named-barrier", warp, number, text, fatal=True)
    barrier.expected = threads
    barrier.arrived += 32
    barrier.members[warp] = number
    warp.synchronise()
    barrier.known |= warp.known
    barrier.known_async |= warp.known_async
    barrier.clock = max(barrier.clock, warp.clock)
    if barrier.arrived < threads:
        if not wait:
            return True
        barrier.waiting.append(f)
        return machine.block(f, "named", number, (identifier, barrier))
    for fiber in barrier.waiting:
        fiber.token = barrier.known, barrier.known_async, barrier.clock
        machine.ready(fiber)
    if wait:
        warp.learn(barrier.known, barrier.known_async)
        warp.catch_up(barrier.clock, number, "named", barrier=identifier)
    barrier.arrived, barrier.members, barrier.waiting = 0, {}, []
    barrier.known = barrier.known_async = barrier.clock = 0
    return True


def cluster_arrive(f: Fiber, number: int, relaxed: bool) -> None:
    """barrier.cluster.arrive: a relaxed one carries only what a fence released before."""
    warp, barrier, own = f.warp, f.warp.cta.cluster.own(ClusterBarrier), f.warp.own(ClusterPhase)
    if f.mask != warp.alive:
        warp.machine.fault("convergence", warp, number, "barrier.cluster needs all lanes of the warp", fatal=True)
    if own.phase is not None:
        warp.machine.fault("convergence", warp, number, "a second barrier.cluster.arrive without a wait", fatal=True)
    if relaxed:
        fenced = warp.own(Fenced)
        barrier.coming |= fenced.released
        barrier.coming_async |= fenced.released_async
    else:
        warp.synchronise()
        barrier.coming |= warp.known
        barrier.coming_async |= warp.known_async
    barrier.coming_clock = max(barrier.coming_clock, warp.clock)
    own.phase = barrier.generation
    barrier.arrived += 1
    barrier.advance(warp.machine)


def cluster_wait(f: Fiber, number: int) -> bool:
    """barrier.cluster.wait: True when the fiber goes on."""
    warp, barrier, own = f.warp, f.warp.cta.cluster.own(ClusterBarrier), f.warp.own(ClusterPhase)
    if own.phase is None:
        warp.machine.fault("convergence", warp, number, "barrier.cluster.wait without an arrive", fatal=True)
    if barrier.generation == own.phase:
        barrier.waiting.append(f)
        return warp.machine.block(f, "cluster", number, barrier)
    own.phase = None
    warp.learn(barrier.known, barrier.known_async)
    warp.catch_up(barrier.clock, number, "cluster")
    return True


def leave(warp: Warp) -> None:
    """A warp has ended: the cluster barrier counts it no longer."""
    barrier = warp.cta.cluster.owned(ClusterBarrier)
    if barrier is not None:
        barrier.advance(warp.machine)


def explain_named(fiber: Fiber, detail: Any) -> tuple[str, dict[str, Any]]:
    """What a bar.sync waits for."""
    machine = fiber.warp.machine
    identifier, named = detail
    facts = {"named": identifier, "arrived": named.arrived, "expected": named.expected}
    missing = named.expected - named.arrived
    text = f"{_name(machine, identifier)}: {missing} of {named.expected} threads have not arrived"
    text += machine.planned(machine.options.named(identifier))
    text += f"\n    arrived in this phase: {warps_of([*named.members])}"
    return text, facts


def explain_cluster(_fiber: Fiber, barrier: ClusterBarrier) -> tuple[str, dict[str, Any]]:
    """What a barrier.cluster.wait waits for."""
    warps = barrier.cluster.warps
    text = f"the cluster barrier: {warps - barrier.arrived} of {warps} warps have not arrived"
    return text, {"arrived": barrier.arrived, "expected": warps}
