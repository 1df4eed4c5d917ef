"""The verdict on specialised warps, and its reasons, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from warpwright.archs import Device
from warpwright.plan.prediction import time_text

if TYPE_CHECKING:
    from warpwright.plan.advice import Advice, Alternative
    from warpwright.plan.phases import Phases

__all__ = ["WORTH", "largest", "reasons", "verdict"]

#: What specialised warps must gain to be worth their trouble: times differ by as much from run to run.
WORTH = 0.03
#: A measured time that is off its prediction by this factor says that the parts are off, too. Of the
#: shipped kernels' times one in six is.
_OFF = 1.2
#: From which part of the time on launching, not the kernel, is what takes long.
_LAUNCH = 0.5
#: By which factor phases differ, where even complete overlap gains a tenth at most.
_TENFOLD = 10
#: From which factor on one side's own work is that of the short side.
_SHORT = 1.2
#: A part of the SMs' time that the last round leaves idle, from which on it is worth saying.
_IDLE = 0.1


def verdict(a: Advice, device: Device) -> tuple[bool | None, str]:
    """Return whether specialised warps are worth it (None: not known), and say so with the reason that decides."""
    if not a.specialised:
        return None, "no warps are specialised"
    if a.launch_share >= _LAUNCH:
        took = f"the kernel takes {time_text(a.seconds)}, and launching it is {a.launch_share:.0%} of that"
        return False, f"not worth it: {took}"
    if a.phases is None or a.gain is None or a.without is None:
        return None, "not known: the family does not tell what loading and computing a stage take"
    if a.measured is not None and _times(a.measured, a.predicted.seconds) >= _OFF:
        told = f"it took {time_text(a.measured)}, and {time_text(a.predicted.seconds)} are predicted"
        return None, f"not known: {told} ({a.predicted.bound}), so what is said of its parts does not hold"
    way = f"{_buffers(a.without)} that all warps load and compute"
    if a.gain >= WORTH:
        longer = f"{a.gain:.0%} longer" if a.gain < 1 else f"{1 + a.gain:.1f} times as long"
        return True, f"worth it: with {way} it takes {longer}"
    return False, f"not worth it{_why_not(a, a.phases, a.without, device)}"


def _why_not(a: Advice, phases: Phases, without: Alternative, device: Device) -> str:
    deeper = max((way for way in a.alternatives if way.specialised), key=lambda way: way.gain, default=None)
    if deeper is not None and deeper.gain >= WORTH:
        gain = without.seconds / deeper.seconds - 1
        way = f"{_buffers(without)} that all warps load"
        told = f"gains {gain:.0%} over {way}" if gain >= WORTH else f"takes as long as {way}"
        return f" with {_stages(phases.stages)}, too few to hide a load: with {deeper.name} it {told}"
    producers, consumers = phases.sides()
    least, most = sorted((producers, consumers))
    if phases.pace is not None and least and most >= _SHORT * least and most > phases.hardware(device):
        short, other = ("producer", "consumer") if producers > consumers else ("consumer", "producer")
        warps = {"producer": phases.producer_warps, "consumer": phases.consumer_warps}
        few = f"{warps[short]} {short} warp" + ("s are" if warps[short] > 1 else " is")
        told = f"{few} the short side: a stage takes {most:.0f} clocks of theirs"
        return f": {told}, and {least:.0f} of the other side's, {warps[other]} {other} warp{'s' * (warps[other] > 1)}"
    (load, _), (compute, _) = largest(a.load), largest(a.compute)
    if max(load, compute) >= _TENFOLD * min(load, compute):
        slow, fast = ("loading", "computing") if load > compute else ("computing", "loading")
        return f": phases differ {_times(load, compute):.0f}-fold: {slow} takes nearly all the time, {fast} would idle"
    if phases.without and without.resident > phases.resident:
        return f": {without.resident} CTAs per SM whose warps all do the same take {time_text(without.seconds)}"
    if without.resident > phases.resident:
        lost, more = without.resident - phases.resident, phases.stages - without.buffers
        cost = f"; {_more(more, phases)} cost {lost} of them" if more else ""
        shared = f"{without.resident} CTAs with {_buffers(without)} each share an SM and hide each other's loads"
        return f": {shared}{cost}"
    return f": {a.predicted.bound} takes as long where all warps load and compute, with {_buffers(without)}"


def reasons(a: Advice, device: Device) -> Iterator[str]:
    """Yield what speaks for and against, a sentence each: phases, warps, ring, residency, launch, L2, rounds."""
    if a.phases is not None:
        yield _phases(a)
        yield _warps(a, a.phases)
        yield _ring(a, a.phases, device)
        yield from _residency(a, a.phases)
        yield f"L2 serves {a.phases.from_l2:.0%} of the traffic, DRAM the rest"
    known = "predicted" if a.measured is None else f"measured, {time_text(a.predicted.seconds)} predicted"
    took = f"{time_text(a.seconds)} ({known}), bound by {a.predicted.bound}"
    yield f"it takes {took}; launching is {a.launch_share:.0%} of that"
    if a.phases is not None:
        yield _rounds(a, a.phases)


def _phases(a: Advice) -> str:
    (load, loads), (compute, computes) = largest(a.load), largest(a.compute)
    ratio = f"1 : {compute / load:.2g}" if load and compute >= load else f"{load / max(compute, 1e-9):.2g} : 1"
    idle = "; one side idles nine tenths of the time" if max(load, compute) >= _TENFOLD * min(load, compute) else ""
    return f"load : compute = {ratio} ({load:.0f} clocks a stage, {loads}, to {compute:.0f}, {computes}){idle}"


def _warps(a: Advice, phases: Phases) -> str:
    planned = phases.producer_warps, phases.consumer_warps
    producers, consumers = a.split or planned
    if not phases.producer_work and not phases.consumer_work:
        more = "" if planned[0] == 1 else f"; {planned[0]} gain nothing"
        return f"no warp's own work limits either side: 1 producer warp that issues loads is enough{more}"
    asked = f"the work asks for {producers} producer and {consumers} consumer warps"
    if (producers, consumers) == planned:
        return f"{asked}, as planned"
    enough = producers <= planned[0] and consumers <= planned[1]
    return f"{asked}; {planned[0]} and {planned[1]} are planned" + (", which is enough" if enough else "")


def _ring(a: Advice, phases: Phases, device: Device) -> str:
    waits = time_text(phases.latency / phases.clock(device))
    ctas = f" in each of {phases.resident} CTAs of an SM" if phases.resident > 1 else ""
    if a.needed_stages is None:
        return (
            f"a load takes {waits}, and no ring hides it: each on its way delays the next by as much as a stage takes"
        )
    kept = (a.needed_stages - phases.held) * phases.stage_bytes * phases.resident
    verdict = "enough" if phases.stages >= a.needed_stages else "too few"
    room = f"{a.fitting_stages} fit" if a.fitting_stages > phases.stages else "more do not fit"
    return (
        f"hiding a load of {waits} takes {a.needed_stages} stages{ctas}, {_bytes(kept)} on their way to an SM; "
        f"{phases.stages} are {verdict}, {room}"
    )


def _residency(a: Advice, phases: Phases) -> Iterator[str]:
    allowed = ", ".join(f"{name} {ctas}" for name, ctas in a.rooms.items())
    ctas = min(a.rooms.values(), default=phases.resident)
    yield f"{ctas} CTA{'' if ctas == 1 else 's'} per SM (allowed by {allowed})"
    one = next((way for way in a.alternatives if not way.specialised), None)
    if one is not None and one.resident > phases.resident and not phases.without:
        lost = one.resident - phases.resident
        cost = f"{_more(phases.stages - 1, phases)} cost {lost} resident CTA{'s' if lost > 1 else ''}"
        yield f"{cost}: {phases.resident} per SM, and {one.resident} with one buffer and no producers"
    for way in a.alternatives:
        if way.specialised and way.resident < phases.resident:
            lost = phases.resident - way.resident
            cost = _more(way.buffers - phases.stages, phases)
            yield f"{cost} would cost {lost} of {phases.resident} resident CTAs"
            return


def _rounds(a: Advice, phases: Phases) -> str:
    piece, *_, rounds = a.predicted.counts
    plural = "" if phases.rounds == 1 else "s"
    full = phases.pieces - (phases.rounds - 1) * phases.slots
    told = f"{phases.pieces} {piece}s in {phases.rounds} {rounds}{plural} of {phases.slots}"
    if phases.idle < _IDLE:
        return f"{told}, {phases.idle:.0%} of the places in them empty"
    where = f"the last has {full}" if phases.rounds > 1 else f"of {phases.slots} places, {full} are taken"
    return f"{told}, and {where}: {phases.idle:.0%} of the SMs' time is idle; smaller pieces would fill it"


def largest(terms: Mapping[str, float]) -> tuple[float, str]:
    """Return the clocks and the name of the largest of some terms."""
    name = max(terms, key=lambda term: terms[term], default="")
    return (terms[name], name) if name else (0.0, "nothing")


def _times(one: float, other: float) -> float:
    return max(one, other) / max(min(one, other), 1e-9)


def _stages(number: int) -> str:
    return f"{number} stage{'' if number == 1 else 's'}"


def _buffers(way: Alternative) -> str:
    return f"{way.buffers} buffer{'' if way.buffers == 1 else 's'}"


def _more(number: int, phases: Phases) -> str:
    return f"{number} buffer{'' if number == 1 else 's'} of {_bytes(phases.stage_bytes)} more"


def _bytes(number: int) -> str:
    return f"{number // 1024} KiB" if number % 1024 == 0 else f"{number:,} B"
