"""Why the warps of a CTA that hangs stand where they stand: who should have arrived, and what kept it from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpwright.diagnosis.standing import Standing, barrier_of, consumes
from warpwright.plan.types import KernelPlan

__all__ = ["Cause", "causes"]

#: What explains most comes first: a wait that follows from another is told behind it.
_WRONG_PHASE, _ASTRAY, _NOT_RELEASED, _NOT_LANDED, _FOLLOWS = range(5)


@dataclass(frozen=True)
class Cause:
    """A sentence about a group of warps; `rank`: the less, the more it explains."""

    rank: int
    text: str


def causes(kernel: KernelPlan, standing: Sequence[Standing], peers: Sequence[Standing] = ()) -> list[Cause]:
    """Say what keeps the warps of one CTA from going on, causes before what follows from them.

    peers: where the warps of the other CTAs of its cluster stand, which load for it and release stages to it.
    """
    others = [*standing, *peers]
    found = [_cause(kernel, one, others) for one in standing if one.odd or one.state in ("waits", "between")]
    return [Cause(*each) for each in sorted(found, key=lambda each: each[0])]


def _cause(kernel: KernelPlan, one: Standing, others: Sequence[Standing]) -> tuple[int, str]:
    if one.odd:
        return _WRONG_PHASE, f"{one}: {one.odd}: its phase starts wrong"
    if one.state == "between":
        unknown = ": a barrier of all threads inside one role, say, or a wait too many"
        return _ASTRAY, f"{one}{'' if one.at else unknown}"
    if not one.ring:
        return _FOLLOWS, f"{one}, which the other consumer gives"
    return (_not_full if one.barrier.endswith("_full") else _not_empty)(kernel, one, others)


def _not_full(kernel: KernelPlan, one: Standing, others: Sequence[Standing]) -> tuple[int, str]:
    loaders = [other for other in others if any(ring == one.ring for ring, _ in other.rings)
               and not consumes(kernel, one.ring, other.role)]  # fmt: skip
    # Of several that take turns, one loads a round; of the CTAs of a cluster each loads its share.
    done = [other for other in loaders if other.progress(one.ring).through >= one.round]
    behind = [other for other in loaders if other.cta not in {each.cta for each in done}]
    barrier = barrier_of(kernel, one.barrier)
    if done and not behind:
        planned = f"planned: {barrier.arrivals} arrival and {barrier.transaction_bytes} bytes ({barrier.arrives})"
        text = f"{one}: {_have(one, done)} issued the loads, and the phase has not ended: fewer bytes land than are"
        return _NOT_LANDED, f"{text} announced, or fewer warps arrive than the barrier is initialised for; {planned}"
    return _FOLLOWS, f"{one}: {_have(one, behind)} not come to load round {one.round}"


def _not_empty(kernel: KernelPlan, one: Standing, others: Sequence[Standing]) -> tuple[int, str]:
    barrier = barrier_of(kernel, one.barrier)
    due, ring = one.round - one.stages, one.ring
    takers = [other for other in others if consumes(kernel, ring, other.role)]
    kept = [t for t in takers if t.progress(ring).taken >= due > t.progress(ring).through]
    freed = [t for t in takers if t.progress(ring).through >= due]
    planned = f"planned: {barrier.arrivals} arrivals a phase ({barrier.arrives})"
    if kept and not freed and all(t.state == "waits" and t.barrier.endswith("_full") and t.round > due for t in kept):
        text = f"{one}: {_have(one, kept)} taken round {due}, to be released only once round {kept[0].round} is there"
        stages = f"{one.stages} stage{'s' if one.stages > 1 else ''}"
        return _NOT_RELEASED, f"{text}, for which a ring of {stages} has no room"
    if kept:
        text = f"{one}: {_have(one, kept)} taken round {due} and not released it"
        rest = f"; {_have(one, freed)}" if freed else ""
        stuck = all(t.state == "between" for t in kept)
        return (_FOLLOWS if stuck else _NOT_RELEASED), f"{text}{rest}; {planned}"
    if takers and len(freed) == len(takers):
        text = f"{one}: {_have(one, freed)} released round {due}, and the phase has not ended"
        return _NOT_RELEASED, f"{text}: the barrier is initialised for more arrivals than come; {planned}"
    return _FOLLOWS, f"{one}: {_have(one, [t for t in takers if t not in freed])} not come to round {due}"


def _have(one: Standing, several: Sequence[Standing]) -> str:
    """`consumer 0 (warps 0..3), consumer 1 (warps 4..7) of CTA 1 have`: the CTA where it is not that of `one`."""
    if not several:
        return "nobody has"
    names = [each.who + (f" of CTA {each.cta}" if each.cta != one.cta else "") for each in several]
    return f"{', '.join(names)} {'has' if len(several) == 1 else 'have'}"
