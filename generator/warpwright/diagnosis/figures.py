"""What a trace comes to: how much loads and compute overlap, who waits how long for what, how full the ring is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from warpwright.device.marks import LOADS
from warpwright.diagnosis.spans import Ring, Span, Trace

__all__ = ["Figures", "figures_of"]

#: Part of the shorter of loading and computing that goes on while the other does, below which they take turns.
_TURNS = 0.15
#: Part of the time in which more than one stage is in use, below which the ring does nothing.
_DEEP = 0.1
#: Rounds below which a CTA says nothing of overlap, and what is said then.
_ENOUGH = 3
_BRIEF = (
    "too brief",
    "a CTA has so few rounds that nothing can overlap in it; what others on its SM do is not seen here",
)
#: Part of the time that loads must take for it to matter when they do.
_SEEN = 0.02
#: Part of its time that a side must wait for the other one to be called the faster one.
_WAITS = 0.1


@dataclass(frozen=True)
class Figures:
    """Parts of the time (0 to 1) from the first stage that is taken to the last that is computed.

    clocks: of that time. rounds: of the ring that were seen. both, loads, compute, neither: what went on, `loads` and
    `compute` alone. overlap: of the shorter of loading and computing, what went on beside the other. deep: how long
    more than one stage was being loaded, full or read.
    stalls: by role and what it waits for. lead: by how many stages are loaded and not released, the part of the time;
    `stages` is the ring's. verdict: lock-step, load-bound, compute-bound, balanced or too brief, and `why` in words.
    seen: whether loads were on their way long enough to be seen.
    """

    clocks: int
    rounds: int
    stages: int
    both: float
    loads: float
    compute: float
    neither: float
    overlap: float
    deep: float
    stalls: Mapping[str, Mapping[str, float]]
    lead: Mapping[int, float]
    verdict: str
    why: str
    seen: bool = True
    notes: tuple[str, ...] = field(default=())

    @property
    def mean_lead(self) -> float:
        """Stages that are loaded and not released, on average."""
        return sum(level * part for level, part in self.lead.items())


def figures_of(trace: Trace) -> Figures | None:
    """Return the figures of a trace; None where it has no round that was loaded and computed."""
    computed = [span for span in trace.spans if span.kind == "compute"]
    loaded = [span for span in trace.spans if span.kind == "load"]
    if not computed or not loaded or not trace.rings:
        return None
    ring = trace.rings[0]
    first, last = min(s.start for s in computed), max(s.end for s in computed)
    if last <= first:
        return None
    time = last - first
    loads, compute = (_union(_within(each, first, last)) for each in (loaded, computed))
    both = _length(_common(loads, compute))
    shorter = min(_length(loads), _length(compute))
    overlap = both / shorter if shorter else 0.0
    stalls = _stalls(trace.spans, first, last)
    lead = _levels(ring.landed, ring.freed, first, last)
    used = _levels(ring.issued, ring.freed, first, last)
    deep = sum(part for level, part in used.items() if level > 1)
    rounds = len(ring.freed)
    verdict, why = (
        _BRIEF if rounds < _ENOUGH else _verdict(overlap, stalls, lead, deep, ring, _length(loads) >= _SEEN * time)
    )
    notes = () if rounds >= 4 * ring.stages else (
        f"only {rounds} rounds of a ring of {ring.stages} stages were seen: filling and draining it weigh in",
    )  # fmt: skip
    return Figures(
        clocks=time,
        rounds=rounds,
        stages=ring.stages,
        both=both / time,
        loads=(_length(loads) - both) / time,
        compute=(_length(compute) - both) / time,
        neither=1 - (_length(loads) + _length(compute) - both) / time,
        overlap=overlap,
        deep=deep,
        stalls=stalls,
        lead=lead,
        verdict=verdict,
        why=why,
        seen=_length(loads) >= _SEEN * time,
        notes=notes,
    )


def _verdict(
    overlap: float,
    stalls: Mapping[str, Mapping[str, float]],
    lead: Mapping[int, float],
    deep: float,
    ring: Ring,
    waited: bool,
) -> tuple[str, str]:
    for_loads, for_room = (
        max((part for waits in stalls.values() for what, part in waits.items() if what.endswith(side)), default=0.0)
        for side in (("_full", LOADS), ("_empty",))
    )
    alone = not any(what.endswith("_empty") for waits in stalls.values() for what in waits)
    low = sum(part for level, part in lead.items() if level <= 1)
    of = f"of {ring.stages} stages" if ring.stages > 1 else "stage"
    if waited and (deep < _DEEP or overlap < _TURNS):
        return "lock-step", (
            f"loads and compute take turns: {1 - deep:.0%} of the time at most one {of} is being"
            f" loaded, full or read; {overlap:.0%} of the shorter of loading and computing goes on beside the other"
        )
    if for_loads >= _WAITS:
        room = f"; the producer waits {for_room:.0%} of it for room, so that all stages are on their way: the ring is"
        room += " too short for the latency of a load, or the memory delivers no more"
        who = "its warps" if alone else "the consumers"
        return "load-bound", (
            f"{who} wait {for_loads:.0%} of the time for loads, and {low:.0%} of it at most one stage is full"
            + room * (for_room >= _WAITS)
        )
    if alone:
        return (
            "compute-bound",
            f"its warps wait {for_loads:.0%} of the time for loads: they are there when they are wanted",
        )
    if for_room >= _WAITS:
        return "compute-bound", (
            f"the consumers wait {for_loads:.0%} of the time for loads, the producer {for_room:.0%} of it for room:"
            " loads are there when they are wanted"
        )
    return "balanced", "neither side waits for the other more than a tenth of the time"


def _stalls(spans: Sequence[Span], first: int, last: int) -> dict[str, dict[str, float]]:
    """By role and barrier, the part of its warps' time; a warp whose MMAs go on while it waits is not stalled."""
    found: dict[str, dict[str, float]] = {}
    busy: dict[int, list[tuple[int, int]]] = {}
    warps: dict[str, set[int]] = {}
    for span in spans:
        warps.setdefault(span.role, set()).add(span.warp)
        if span.kind == "compute":
            busy.setdefault(span.warp, []).append((span.start, span.end))
    for span in (span for span in spans if span.kind in ("wait", "turn")):
        own = _within([span], first, last)
        near = [each for each in busy.get(span.warp, ()) if each[1] > span.start and each[0] < span.end]
        of_role, what = found.setdefault(span.role, {}), span.what.partition("[")[0]
        of_role[what] = of_role.get(what, 0.0) + _length(own) - _length(_common(own, _union(near)))
    return {role: {what: clocks / (len(warps[role]) * (last - first)) for what, clocks in waits.items()}
            for role, waits in found.items()}  # fmt: skip


def _levels(begun: Mapping[int, int], ended: Mapping[int, int], first: int, last: int) -> dict[int, float]:
    """By how many rounds have begun and not ended, the part of the time."""
    changes = sorted([(clock, 1) for clock in begun.values()] + [(clock, -1) for clock in ended.values()])
    found: dict[int, int] = {}
    level, since = 0, first
    for clock, change in changes:
        if clock > last:
            break
        if clock > first:
            found[level] = found.get(level, 0) + clock - since
            since = clock
        level += change
    found[level] = found.get(level, 0) + last - since
    return {level: clocks / (last - first) for level, clocks in sorted(found.items()) if clocks}


def _within(spans: Iterable[Span], first: int, last: int) -> list[tuple[int, int]]:
    return [(max(s.start, first), min(s.end, last)) for s in spans if s.end > first and s.start < last]


def _union(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found = list[tuple[int, int]]()
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif end > start:
            found.append((start, end))
    return found


def _common(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return [(start, end) for start, end in pairs if end > start]


def _length(spans: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)
