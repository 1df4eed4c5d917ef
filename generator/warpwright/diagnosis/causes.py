"""Why the warps of a CTA that hangs stand where they stand: who should have arrived, and what kept it from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpwright.device.marks import LOADS
from warpwright.diagnosis.standing import Standing, barrier_of, consumes
from warpwright.plan.types import Barrier, KernelPlan

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
    if one.ring == LOADS:
        return _not_together(one, others)
    if not one.ring:
        return _FOLLOWS, f"{one}, which the other consumer gives"
    return (_not_full if one.barrier.endswith("_full") else _not_empty)(kernel, one, others)


def _not_full(kernel: KernelPlan, one: Standing, others: Sequence[Standing]) -> tuple[int, str]:
    ring, barrier = one.ring, barrier_of(kernel, one.barrier)
    assert barrier is not None
    loads = [other for other in others if any(name == ring for name, _ in other.rings)
             and (not consumes(kernel, ring, other.role) or other.progress(ring).issued >= 0)]  # fmt: skip
    # Of several that take turns, one loads a round; of the CTAs of a cluster each loads its share.
    loaders = [other for other in loads if other.progress(ring).takes(one.round)] or loads
    done = [other for other in loaders if other.progress(ring).issued >= one.round]
    behind = [other for other in loaders if other.cta not in {each.cta for each in done}]
    if not loaders:
        return _NOT_LANDED, f"{one}: nobody has issued the loads of round {one.round}"
    if done and not behind:
        text = f"{one}: {_have(one, done)} issued the loads, and the phase has not ended"
        why = "fewer bytes land than are announced, or fewer warps arrive than the barrier is initialised for"
        return _NOT_LANDED, _unmet(text, why, barrier)
    if all(other.state == "ended" for other in behind):
        return _ASTRAY, f"{one}: {_have(one, behind)} ended and not loaded round {one.round}"
    text = f"{one}: {_have(one, behind)} not come to load round {one.round}"
    return (_NOT_LANDED if one in behind else _FOLLOWS), text


def _not_together(one: Standing, others: Sequence[Standing]) -> tuple[int, str]:
    """A wait of threads for one another, and for what they load: who has not come to it?"""
    late = [other for other in others if other.cta == one.cta and other.round < one.round and other.state != "ended"
            and other.progress(LOADS).takes(one.round)]  # fmt: skip
    if one.at:
        return (_FOLLOWS if late else _NOT_LANDED), f"{one}: at {one.at}"
    if late:
        return _FOLLOWS, f"{one}: {_have(one, late)} not come to it"
    gone = [other for other in others if other.cta == one.cta and other.progress(LOADS).taken >= one.round]
    if gone:
        return _FOLLOWS, f"{one}: {_have(one, gone)} gone on without waiting for them"
    text = "all of them have come to it: it waits for more threads than there are, or for loads that do not end"
    return _NOT_LANDED, f"{one}: {text}"


def _not_empty(kernel: KernelPlan, one: Standing, others: Sequence[Standing]) -> tuple[int, str]:
    barrier = barrier_of(kernel, one.barrier)
    assert barrier is not None
    due, ring = one.round - one.stages, one.ring
    every = [other for other in others if consumes(kernel, ring, other.role)]
    takers = [other for other in every if other.progress(ring).takes(due)] or every
    kept = [t for t in takers if t.progress(ring).taken >= due > t.progress(ring).through]
    freed = [t for t in takers if t.progress(ring).through >= due]
    if kept and not freed and all(_wants_more(t, ring, due) for t in kept):
        text = f"{one}: {_have(one, kept)} taken round {due}, to be released only once round {kept[0].round} is there"
        stages = f"{one.stages} stage{'s' if one.stages > 1 else ''}"
        return _NOT_RELEASED, f"{text}, for which a ring of {stages} has no room"
    if kept:
        text = f"{one}: {_have(one, kept)} taken round {due} and not released it"
        rest = f"; {_have(one, freed)}" if freed else ""
        stuck = all(t.state == "between" for t in kept)
        return (_FOLLOWS if stuck else _NOT_RELEASED), f"{text}{rest}; {_planned(barrier)}"
    if takers and len(freed) == len(takers):
        text = f"{one}: {_have(one, freed)} released round {due}, and the phase has not ended"
        return _NOT_RELEASED, _unmet(text, "the barrier is initialised for more arrivals than come", barrier)
    return _FOLLOWS, f"{one}: {_have(one, [t for t in takers if t not in freed])} not come to round {due}"


def _unmet(text: str, why: str, barrier: Barrier) -> str:
    """A phase that does not end, though all have done their part: `why`, where it is an mbarrier's."""
    named = "it counts other threads than come, those that wait among them"
    return f"{text}: {named if barrier.kind == 'named' else why}; {_planned(barrier)}"


def _planned(barrier: Barrier) -> str:
    """What a phase of the plan's barrier takes."""
    if barrier.kind == "named":
        return f"planned: {barrier.arrivals} threads a phase, with those that wait ({barrier.arrives})"
    some = f"{barrier.arrivals} arrival{'s' if barrier.arrivals != 1 else ''}"
    bytes_ = f" and {barrier.transaction_bytes} bytes" if barrier.transaction_bytes else ""
    return f"planned: {some}{bytes_} a phase ({barrier.arrives})"


def _wants_more(taker: Standing, ring: str, due: int) -> bool:
    """Whether it has taken nothing after round `due`, and waits for more before it releases that."""
    return (
        taker.progress(ring).taken == due < taker.round and taker.state == "waits" and taker.barrier.endswith("_full")
    )


def _have(one: Standing, several: Sequence[Standing]) -> str:
    """`consumer 0 (warps 0..3), consumer 1 (warps 4..7) of CTA 1 have`: the CTA where it is not that of `one`."""
    if not several:
        return "nobody has"
    names = [each.who + (f" of CTA {each.cta}" if each.cta != one.cta else "") for each in several]
    return f"{', '.join(names)} {'has' if len(several) == 1 else 'have'}"
