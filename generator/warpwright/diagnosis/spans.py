"""What the warps of one CTA do when: spans of waiting, loading, computing and storing, from the stamps of a twin.

Clocks are the SM's, or the emulator's modelled ones. What no warp can see is estimated: a load has landed when a
consumer's wait for it ends; one for which nobody waited, when it has taken as long as those usually take that somebody
waited for. An asynchronous MMA ends as the plan's rate says where its warps wait for the next stage meanwhile. What
passes through registers has landed when its warps go on to the stage that it is for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from warpwright.archs import H200
from warpwright.device.marks import LOADS, Marks
from warpwright.diagnosis.standing import consumes, sides
from warpwright.plan.types import KernelPlan, Role

__all__ = ["Ring", "Span", "Trace", "trace_of"]

#: Clocks between two marks with nothing to wait for between them, at most: on an H200 140 to 180 around a wait, and 180
#: to 310 where MMAs are issued too. And those beyond the shortest seen from which on a warp is said to have waited.
_AT_ONCE, _ISSUE, _WAITED = 200, 400, 64


@dataclass(frozen=True)
class Span:
    """From `start` to `end` a warp did something: kind is wait, turn, load, compute or store. what: in words."""

    kind: str
    role: str
    warp: int
    start: int
    end: int
    what: str
    round: int


@dataclass(frozen=True)
class Ring:
    """When each round of a ring was issued, had landed, and was released by all who read it; by its number.

    readers: how many roles read it. loads: who loads it when, as spans.
    """

    name: str
    stages: int
    issued: dict[int, int]
    landed: dict[int, int]
    freed: dict[int, int]
    readers: dict[int, int]
    loads: tuple[Span, ...]


@dataclass(frozen=True)
class Trace:
    """All spans of a CTA, and its rings, that of most rounds first."""

    cta: int
    spans: tuple[Span, ...]
    rings: tuple[Ring, ...]


def trace_of(kernel: KernelPlan, marks: Marks, cta: int = 0) -> Trace:
    """Return what a CTA's stamps say; nothing where it has none."""
    spans = list[Span]()
    rings = []
    for name in marks.layout.rings:
        warps = [(role, warp) for role in kernel.roles if any(ring == name for ring, _ in sides(kernel, marks, role))
                 for warp in range(role.first_warp, role.first_warp + role.warps)]  # fmt: skip
        ring = _ring(kernel, marks, cta, name, warps)
        rings.append(ring)
        spans += ring.loads
        for role, warp in warps:
            spans += _of_warp(kernel, marks, cta, ring, role, warp)
    for role in kernel.roles:
        for warp in range(role.first_warp, role.first_warp + role.warps) if rings else ():
            spans += _others(marks, cta, role, warp)
    spans = [span for span in spans if span.start <= span.end]  # what was cut short may hold stamps of two launches
    rings.sort(key=lambda ring: -len(ring.issued))
    return Trace(cta, tuple(sorted(spans, key=lambda span: (span.start, span.end, span.warp))), tuple(rings))


def _ring(kernel: KernelPlan, marks: Marks, cta: int, name: str, warps: Sequence[tuple[Role, int]]) -> Ring:
    upper, rounds = name.upper(), range(marks.layout.rounds)
    readers = [warp for role, warp in warps if consumes(kernel, name, role.name)]
    writers = [warp for role, warp in warps if not consumes(kernel, name, role.name)]

    def stamps(of: Sequence[int], number: int, kind: str) -> list[int]:
        found = (marks.stamp(cta, warp, number, f"{upper}_{kind}") for warp in of)
        return [clock for clock in found if clock is not None]

    begun = {n: min(found) for n in rounds if (found := stamps(writers or readers, n, "BEGUN"))}
    issued = begun or {n: min(found) for n in rounds if (found := stamps(writers, n, "DONE"))}
    freed = {n: max(found) for n in rounds if (found := stamps(readers, n, "RELEASED") or stamps(readers, n, "DONE"))}
    waits = {n: [(w, g) for warp in readers
                 if (w := marks.stamp(cta, warp, n, f"{upper}_WAIT")) is not None
                 and (g := marks.stamp(cta, warp, n, f"{upper}_GOT")) is not None] for n in issued}  # fmt: skip
    shortest = min((got - wait for pairs in waits.values() for wait, got in pairs), default=0)
    shortest = min(shortest, _AT_ONCE)  # in lock step every wait is a long one
    seen = {n: min(got for _, got in pairs) for n, pairs in waits.items()
            if pairs and all(got - wait > shortest + _WAITED for wait, got in pairs)}  # fmt: skip
    usual = int(median(seen[n] - issued[n] for n in seen)) if seen else 0
    # Nobody issues a load while another is on its way, or used: a warp that loads stands still until it has.
    in_turn = not writers and all(issued[n] >= freed.get(n - 1, 0) for n in issued)
    landed = {}
    for n, pairs in waits.items():
        if writers and begun:
            landed[n] = max(stamps(writers, n, "DONE"), default=issued[n])
        elif in_turn and pairs:
            landed[n] = max(issued[n], min(got for _, got in pairs))
        elif n in seen:
            landed[n] = seen[n]
        elif pairs:
            landed[n] = min(max(issued[n], min(got for _, got in pairs)), issued[n] + usual)
    roles = {role.name: role.first_warp for role, _ in warps if consumes(kernel, name, role.name)}
    took = {n: sum(bool(stamps([first], n, "GOT")) for first in roles.values()) for n in issued}
    stages_of = marks.layout.stages_of[name]
    times = {n: (issued[n], landed[n]) for n in landed}
    loads = tuple(_loads(marks, cta, name, stages_of, warps, times, begun if writers else {}))
    return Ring(name, stages_of, issued, landed, freed, took, loads)


def _loads(
    marks: Marks,
    cta: int,
    ring: str,
    stages: int,
    warps: Sequence[tuple[Role, int]],
    times: Mapping[int, tuple[int, int]],
    begun: Mapping[int, int],
) -> Iterator[Span]:
    """The loads of a ring, by whoever was the first to issue them; `begun`: when, where they pass through registers,
    from which they are stored as soon as there is room."""
    upper = ring.upper()
    for n, (issued, landed) in times.items():
        what = f"{ring} stage {n % stages}"
        for role, warp in warps:
            done, wait, got = (marks.stamp(cta, warp, n, f"{upper}_{kind}") for kind in ("DONE", "WAIT", "GOT"))
            if n in begun:
                if marks.stamp(cta, warp, n, f"{upper}_BEGUN") == begun[n] and wait is not None and got is not None:
                    yield Span("load", role.name, warp, begun[n], wait, what, n)
                    yield Span("load", role.name, warp, got, landed, what, n)
                    break
            elif issued in (done, marks.stamp(cta, warp, n, f"{upper}_BEGUN")):
                yield Span("load", role.name, warp, issued, max(issued, landed), what, n)
                break


def _of_warp(kernel: KernelPlan, marks: Marks, cta: int, ring: Ring, role: Role, warp: int) -> Iterator[Span]:
    """Waits of a warp at a ring, and its loads or what it computes."""
    reads = consumes(kernel, ring.name, role.name)
    side, upper = "full" if reads else "empty", ring.name.upper()
    place = LOADS if ring.name == LOADS else f"{ring.name}_{side}"
    stamps = [
        [marks.stamp(cta, warp, n, f"{upper}_{kind}") for kind in ("WAIT", "GOT", "DONE")]
        for n in range(marks.layout.rounds)
    ]
    for n, (_, _, done) in enumerate(stamps):
        released = marks.stamp(cta, warp, n, f"{upper}_RELEASED")
        if done is not None and released is not None and not kernel.mmas:  # what it read it has computed with
            stamps[n][2] = max(done, released)
    for n, (wait, got, _) in enumerate(stamps):
        if wait is not None and got is not None:
            yield Span("wait", role.name, warp, wait, got, f"{place}[{n % ring.stages}]", n)
    for n, start, end in _computed(stamps, ring, _clocks(kernel)) if reads else ():
        yield Span("compute", role.name, warp, start, end, f"{ring.name} stage {n % ring.stages}", n)


def _computed(stamps: Sequence[Sequence[int | None]], ring: Ring, clocks: int) -> Iterator[tuple[int, int, int]]:
    """(round, start, end) of what a warp computes; `clocks`: those of one warpgroup's MMAs of a stage.

    It is through with a stage when it says so, or, where it first waits for the next and its MMAs go on meanwhile: when
    it says so, if it had to wait for them after that; else after the clocks that they take, beside those of others.
    Without MMAs nothing goes on while it waits: of a stage that it keeps, what it does later is told of the last one.
    """
    after = dict[int, int]()
    for n in range(len(stamps) - 1):
        through, next_one = stamps[n][2], stamps[n + 1][1]
        if through is not None and next_one is not None and next_one < through:
            after[n] = through - next_one
    shortest = min(after.values(), default=0)
    before = 0
    for n, (_, got, done) in enumerate(stamps):
        if got is None or done is None:
            continue
        end = done
        if n in after and (not clocks or after[n] <= min(shortest, _ISSUE) + _WAITED):
            begun = max(got, before)
            end = min(done, max(stamps[n + 1][0] or done, begun + ring.readers.get(n, 1) * clocks))
        before = end
        yield n, got, end


def _clocks(kernel: KernelPlan) -> int:
    """Clocks of one warpgroup's MMAs of a stage, were they alone on the tensor cores."""
    return int(sum(2 * mma.m * mma.n * mma.k * mma.per_stage for mma in kernel.mmas) / H200.flop_per_clock)


def _others(marks: Marks, cta: int, role: Role, warp: int) -> Iterator[Span]:
    """Epilogues, and waits for a turn."""
    first = f"{marks.layout.rings[0].upper()}_WAIT"
    for n in range(marks.layout.rounds):
        begun, stored = (marks.stamp(cta, warp, n, step) for step in ("EPILOGUE", "STORED"))
        if begun is not None and stored is not None:
            yield Span("store", role.name, warp, begun, stored, "epilogue", n)
        turn, wait = marks.stamp(cta, warp, n, "TURN"), marks.stamp(cta, warp, n, first)
        if turn is not None and wait is not None:
            yield Span("turn", role.name, warp, turn, wait, "its turn", n)
