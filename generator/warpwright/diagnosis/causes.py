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


def causes(kernel: KernelPlan, standing: Sequence[Standing]) -> list[Cause]:
    """Say what keeps the warps of one CTA from going on, causes before what follows from them."""
    found = [_cause(kernel, one, standing) for one in standing if one.odd or one.state in ("waits", "between")]
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
    done = [other for other in loaders if other.progress(one.ring).through >= one.round]
    barrier = barrier_of(kernel, one.barrier)
    if done:
        planned = f"planned: {barrier.arrivals} arrival and {barrier.transaction_bytes} bytes ({barrier.arrives})"
        text = f"{one}: {_names(done)} has issued its loads, and the phase has not ended: fewer bytes land than are"
        return _NOT_LANDED, f"{text} announced, or fewer warps arrive than the barrier is initialised for; {planned}"
    return _FOLLOWS, f"{one}: {_names(loaders) or 'nobody'} has not come to load round {one.round}"


def _not_empty(kernel: KernelPlan, one: Standing, others: Sequence[Standing]) -> tuple[int, str]:
    barrier = barrier_of(kernel, one.barrier)
    due, ring = one.round - one.stages, one.ring
    takers = [other for other in others if consumes(kernel, ring, other.role)]
    kept = [t for t in takers if t.progress(ring).taken >= due > t.progress(ring).through]
    freed = [t for t in takers if t.progress(ring).through >= due]
    planned = f"planned: {barrier.arrivals} arrivals a phase ({barrier.arrives})"
    if kept and not freed and all(t.state == "waits" and t.barrier.endswith("_full") and t.round > due for t in kept):
        text = f"{one}: {_names(kept)} have taken round {due} and release it only once round {kept[0].round} is there"
        stages = f"{one.stages} stage{'s' if one.stages > 1 else ''}"
        return _NOT_RELEASED, f"{text}, for which a ring of {stages} has no room"
    if kept:
        text = f"{one}: {_names(kept)} has taken round {due} and not released it"
        rest = f"; {_names(freed)} has" if freed else ""
        stuck = all(t.state == "between" for t in kept)
        return (_FOLLOWS if stuck else _NOT_RELEASED), f"{text}{rest}; {planned}"
    if takers and len(freed) == len(takers):
        text = f"{one}: {_names(freed)} have released round {due}, and the phase has not ended"
        return _NOT_RELEASED, f"{text}: the barrier is initialised for more arrivals than come; {planned}"
    behind = [t for t in takers if t not in freed]
    return _FOLLOWS, f"{one}: {_names(behind) or 'nobody'} has not come to round {due}"


def _names(several: Sequence[Standing]) -> str:
    return ", ".join(one.who for one in several)
