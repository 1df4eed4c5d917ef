"""Arrivals at mbarriers, and waits on them: what the translated code calls, and what a wait that never ends says.

Functions take the fiber and the number of the instruction first. A state (of waits without a parity) holds the phase in
its low and the pending count in its high half.
"""

from __future__ import annotations

from typing import Any

from warpwright.emulate.machine.addresses import reach
from warpwright.emulate.machine.order import WARP
from warpwright.emulate.machine.people import ranges
from warpwright.emulate.machine.scheduler import Machine
from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.units.barriers.mbarriers import COUNT_LIMIT, MBarrier, MBarriers, mbarrier_of
from warpwright.emulate.units.barriers.released import Fenced

_HALF = 32  # bits


def mbarrier_arrive(f: Fiber, number: int, addresses: Any, count: int, expect: int, cluster: bool,
                    relaxed: bool = False, local: bool = False, drop: bool = False, still: bool = False,
                    ) -> int:  # fmt: skip
    """One arrival of `count` per active lane; `addresses` is one address or 32. The state before it.

    local: the scope is said to be .cta. drop: the later phases expect as many fewer. still: .noComplete, which must
    not complete the phase.
    """
    warp = f.warp
    if isinstance(addresses, int):
        groups = {addresses: bin(f.mask).count("1")}
    else:
        groups = {}
        for address in addresses[f.lanes].tolist():
            groups[address] = groups.get(address, 0) + 1
    if not 1 <= count <= COUNT_LIMIT:
        text = f"an arrival of count {count}: it must be 1..{COUNT_LIMIT}"
        warp.machine.fault("mbarrier", warp, number, text, fatal=True)
    state = 0
    for address, lanes in groups.items():
        barrier = mbarrier_of(f, number, address, cluster)
        state = barrier.phase | barrier.pending << _HALF
        if barrier.cta is not warp.cta:
            event = warp.machine.order.event(WARP, warp, False)  # the arrival itself: who sees the phase end knows it
            reach(warp, number, barrier.cta, event)
            barrier.coming |= 1 << event
            warp.known |= 1 << event  # what the warp releases later comes after its arrival
            warp.own(Fenced).sent |= 1 << event
        if drop:
            barrier.count -= min(count * lanes, barrier.count)
        before = barrier.phase
        barrier.arrive(f, number, count * lanes, expect * lanes, relaxed, local)
        if still and barrier.phase != before:
            text = f"{barrier}: an arrival with .noComplete completes the phase"
            warp.machine.fault("mbarrier", warp, number, text, fatal=True)
    return state


def mbarrier_expect(f: Fiber, number: int, address: int, count: int, cluster: bool) -> None:
    mbarrier_of(f, number, address, cluster).expect(f.warp, number, count * bin(f.mask).count("1"))


def phase_parity(f: Fiber, number: int, address: int, state: int) -> int:
    """The parity of the phase in a state, which must be the barrier's current phase or the one before."""
    barrier = mbarrier_of(f, number, address)
    phase = state & ((1 << _HALF) - 1)
    if phase not in (barrier.phase, barrier.phase - 1):
        text = f"{barrier}: a wait with the state of phase {phase}; it is in phase {barrier.phase}"
        text += "\n  a state tells of the current phase and of the one before"
        f.warp.machine.fault("mbarrier", f.warp, number, text, fatal=True)
    return phase & 1


def mbarrier_wait(f: Fiber, number: int, address: int, parity: int, acquire: bool, cluster: bool,
                  local: bool = False) -> bool:  # fmt: skip
    """A wait loop on the phase of `parity`: True once it is over, else the fiber is suspended."""
    barrier = mbarrier_of(f, number, address, cluster)
    if (barrier.phase & 1) == (parity & 1):
        if f.token is not None and f.token != barrier.phase:
            _missed(f, number, barrier)
        f.token = barrier.phase
        barrier.waiting.append(f)
        return f.warp.machine.block(f, "mbarrier", number, (barrier, parity & 1))
    f.token = None
    _woken(f, number, barrier, acquire, local)
    return True


def _missed(f: Fiber, number: int, barrier: MBarrier) -> None:
    text = (
        f"{barrier}: phase {f.token} that this waits for is over, and the next one as well, before it looked again: by"
        " its parity it\n  takes the present phase for the one it waits for, and waits on\n"
        "  what would prevent it: nobody may complete a phase before all who wait for the one before have seen it"
    )
    f.warp.machine.fault("mbarrier", f.warp, number, text)


def _woken(f: Fiber, number: int, barrier: MBarrier, acquire: bool, local: bool) -> None:
    warp = f.warp
    known, known_async = barrier.known, barrier.known_async
    if local and barrier.far:  # a scope of .cta does not reach what other CTAs released
        known, known_async = known & ~barrier.far, known_async & ~barrier.far
    if acquire:
        f.learn(known, known_async)
    else:
        warp.own(Fenced).see(known, known_async)
    warp.catch_up(barrier.clock, number, "mbarrier", offset=barrier.offset, phase=barrier.phase - 1)


def mbarrier_test(f: Fiber, number: int, address: int, parity: int, acquire: bool, cluster: bool,
                  local: bool = False) -> int:  # fmt: skip
    """A peek: 1 if the phase is over, but sometimes 0 even then, as time limits and lost races make it on hardware."""
    barrier = mbarrier_of(f, number, address, cluster)
    machine: Machine = f.warp.machine
    if (barrier.phase & 1) == (parity & 1) or machine.rng.random() < machine.options.peek_failure:
        return 0
    _woken(f, number, barrier, acquire, local)
    return 1


def explain(fiber: Fiber, detail: Any) -> tuple[str, dict[str, Any]]:
    """What a wait on an mbarrier waits for."""
    barrier, parity = detail
    machine = fiber.warp.machine
    facts = {"cta": barrier.cta.ctaid, "offset": barrier.offset, "parity": parity, "phase": barrier.phase}
    facts |= {"pending_arrivals": barrier.pending, "pending_bytes": barrier.tx}
    whose = "its CTA" if barrier.cta is fiber.warp.cta else f"CTA {barrier.cta}"
    text = f"the phase of parity {parity} of mbarrier {machine.name(barrier.offset)} of {whose}"
    text += f"\n    it is in {barrier.state()}"
    return text + _siblings(barrier) + barrier.history(), facts


def _siblings(barrier: MBarrier) -> str:
    """A line of a report: in which phases the other stages of the barrier are, where that tells an odd one out."""
    machine, phases = barrier.cta.machine, dict[int, list[int]]()
    name = machine.name(barrier.offset).partition("[")[0]
    for offset, other in barrier.cta.own(MBarriers).at.items():
        head, _, stage = machine.name(offset).partition("[")
        if head == name and stage.rstrip("]").isdigit() and other is not barrier:
            phases.setdefault(other.phase, []).append(int(stage.rstrip("]")))
    if set(phases) <= {barrier.phase}:
        return ""
    told = ", ".join(f"[{ranges(stages)}] in phase {phase}" for phase, stages in sorted(phases.items()))
    return f"\n    its other stages: {told}"
