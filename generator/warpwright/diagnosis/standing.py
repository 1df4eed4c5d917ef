"""Where each warp of a kernel stands that does not end: what it waits for, at which stage and in which phase.

Read off the marks of an instrumented twin, emulated or on a GPU, and the plan. A producer in round n waits until round
n - S (of a ring of S stages) is released; a consumer in round n until it is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from warpwright.device.marks import LOADS, Marks, Note
from warpwright.plan.types import Barrier, KernelPlan, Role

__all__ = ["Progress", "Standing", "barrier_of", "consumes", "sides", "standings"]


@dataclass(frozen=True)
class Progress:
    """How far a warp is in a ring: the last round that it took, that it was through with, and of which loads were
    issued, by it or, where all warps of its role do the same, by one of them (-1: none).

    A consumer is through with a round when it has released it, a producer when it has issued its loads.
    turns: it takes every so-manieth round, `some` being one of them.
    """

    taken: int = -1
    through: int = -1
    issued: int = -1
    turns: int = 1
    some: int = 0

    def takes(self, number: int) -> bool:
        """Whether a round is one of those that it takes."""
        return (number - self.some) % self.turns == 0


@dataclass(frozen=True)
class Standing:
    """Where the `warps` of a role stand in one CTA.

    state: `waits` (at a barrier of the plan: `barrier`, its `stage`, the number of the `phase` that must end, and the
    `parity` that the warp waits with), `between` (past its last mark, at nothing
    that the plan has a mark for), `ended`, or `silent` (it never came to a mark). round: the one that it is in, counted
    in stages. rings: its progress by the name of the ring.
    """

    role: str
    cta: int
    state: str
    ring: str = ""
    barrier: str = ""
    stage: int = 0
    phase: int = 0
    parity: int = 0
    round: int = -1
    stages: int = 0  # of the ring, as the marks show it
    odd: str = ""  # what is wrong with the phases that it waits for, wherever it stands
    after: str = ""  # of `between`: the last mark, in words
    at: str = ""  # of `between`: what it waits for, where that is known
    rings: tuple[tuple[str, Progress], ...] = ()
    warps: tuple[int, ...] = ()

    @property
    def who(self) -> str:
        """`producer (warp 8)`."""
        return f"{self.role} ({_warps(self.warps)})"

    @property
    def place(self) -> str:
        """`ab_empty[0], phase 0`."""
        if self.ring == LOADS:
            return f"what round {self.round} loads, and for those that wait with it"
        return f"{self.barrier}[{self.stage}], phase {self.phase}" if self.ring else self.barrier

    def progress(self, ring: str) -> Progress:
        """How far it is in a ring."""
        return dict(self.rings).get(ring, Progress())

    def __str__(self) -> str:
        if self.state == "waits":
            where = f" (round {self.round}, parity {self.parity})" if self.ring and self.ring != LOADS else ""
            return f"{self.who} waits for {self.place}{where}"
        if self.state == "between":
            where = f"waits for {self.at}" if self.at else "stands at nothing that the plan has a mark for"
            return f"{self.who} is past {self.after} and {where}"
        return f"{self.who} {'has ended' if self.state == 'ended' else 'has come to no mark'}"


def standings(kernel: KernelPlan, marks: Marks, cta: int, at: Mapping[int, str] = {}) -> list[Standing]:
    """Return where the warps of a CTA stand, those of a role together that stand alike.

    `at`: what warps are known to wait for that have no mark for it, by warp, in words.
    Roles that wait at no ring (idle warps, say) have no marks and are left out.
    """
    found: dict[Standing, list[int]] = {}
    stages = {ring: _stages(marks, cta, ring, planned) for ring, planned in marks.layout.stages_of.items()}
    for role in kernel.roles:
        for warp in range(role.first_warp, role.first_warp + role.warps):
            own = [_Side(ring, side, stages[ring]) for ring, side in sides(kernel, marks, role)]
            if own:
                one = _standing(kernel, marks, cta, role, warp, own)
                one = replace(one, at=at.get(warp, "") if one.state == "between" or one.ring == LOADS else "")
                found.setdefault(one, []).append(warp)
    return [replace(one, warps=tuple(warps)) for one, warps in found.items()]


@dataclass(frozen=True)
class _Side:
    """The side of a ring that a role waits for; `stages` as the kernel has them."""

    ring: str
    side: str
    stages: int

    def phase(self, number: int) -> int:
        """The phase that must end for round `number`; -1 is the one before a barrier's first."""
        return number // self.stages - (self.side == "empty")


def _stages(marks: Marks, cta: int, ring: str, planned: int) -> int:
    """How many stages a ring has: as planned, unless rounds lie in other stages; the most with which they do not."""
    steps = [f"{ring.upper()}_{kind}" for kind in ("WAIT", "GOT", "RELEASED")]
    notes = [note for warp in range(marks.layout.warps) for step in steps if (note := marks.note(cta, warp, step))]
    fitting = (n for n in range(planned, 0, -1) if all(note.round % n == note.stage for note in notes))
    return next(fitting, planned)


def _standing(kernel: KernelPlan, marks: Marks, cta: int, role: Role, warp: int, own: Sequence[_Side]) -> Standing:
    rings = tuple((each.ring, _progress(kernel, marks, cta, role, warp, each)) for each in own)
    odd = next((text for each in own if (text := _odd(marks, cta, warp, each))), "")
    blank = Standing(role.name, cta, "silent", odd=odd, rings=rings)
    if marks.note(cta, warp, "END"):
        return replace(blank, state="ended")
    found = blank
    for each in own:
        wait, got = (marks.note(cta, warp, f"{each.ring.upper()}_{kind}") for kind in ("WAIT", "GOT"))
        if wait is None:
            continue
        at = replace(blank, ring=each.ring, barrier=f"{each.ring}_{each.side}", stage=wait.stage, round=wait.round,
                     phase=each.phase(wait.round), parity=wait.parity, stages=each.stages)  # fmt: skip
        if got is None or got.round < wait.round:
            return replace(at, state="waits")
        if found is blank:
            place = f"the wait of round {wait.round}" if each.ring == LOADS else f"{at.barrier}[{wait.stage}]"
            place += f" (round {wait.round})" if each.ring != LOADS else ""
            found = replace(at, state="between", after=place)
    turn, first = marks.note(cta, warp, "TURN"), marks.note(cta, warp, f"{own[0].ring.upper()}_WAIT")
    if turn and (first is None or first.round < turn.round):
        return replace(blank, state="waits", barrier="its turn", round=turn.round)
    begun, stored = marks.note(cta, warp, "EPILOGUE"), marks.note(cta, warp, "STORED")
    if found.state == "between" and begun and (stored is None or stored.round < begun.round):
        return replace(found, after="the beginning of its epilogue")
    return found


def _odd(marks: Marks, cta: int, warp: int, each: _Side) -> str:
    """What is wrong with the parity of a warp's last wait, "" where nothing is."""
    wait = marks.note(cta, warp, f"{each.ring.upper()}_WAIT")
    due = each.phase(wait.round) & 1 if wait else 0
    if wait is None or wait.parity == due or each.ring == LOADS:
        return ""
    place = f"{each.ring}_{each.side}[{wait.stage}]"
    return f"in round {wait.round} it waits for {place} with parity {wait.parity}, where {due} is right"


def _progress(kernel: KernelPlan, marks: Marks, cta: int, role: Role, warp: int, each: _Side) -> Progress:
    """A warp's own; where one warp of a role releases a stage for all of them, what that one did."""
    wait, got = (marks.note(cta, warp, f"{each.ring.upper()}_{kind}") for kind in ("WAIT", "GOT"))
    every = range(role.first_warp, role.first_warp + role.warps)

    def last(warps: Sequence[int], *kinds: str) -> int:
        return max((note.round for note in _notes(marks, cta, warps, each.ring, kinds)), default=-1)

    empty = barrier_of(kernel, f"{each.ring}_empty")
    if each.side == "empty":
        through = issued = last([warp], "DONE")
    elif empty is None:
        # Warps that load and compute: nobody is told that they are through.
        through, issued = last([warp], "DONE"), last(every, "BEGUN")
    else:
        turns = wait.turns if wait else 1
        enough = empty.arrivals * turns >= _readers(kernel, each.ring) * prod(kernel.cluster)
        alone = enough or sum(last([one], "RELEASED") >= 0 for one in every) > 1
        through, issued = last([warp] if alone else every, "RELEASED"), -1
    taken = got.round if got else -1
    return Progress(taken, through, issued, wait.turns if wait else 1, wait.round if wait else 0)


def _notes(marks: Marks, cta: int, warps: Sequence[int], ring: str, kinds: Sequence[str]) -> Iterator[Note]:
    for warp in warps:
        for kind in kinds:
            note = marks.note(cta, warp, f"{ring.upper()}_{kind}")
            if note:
                yield note


def _readers(kernel: KernelPlan, ring: str) -> int:
    """How many warps take the stages of a ring."""
    return sum(role.warps for role in kernel.roles if consumes(kernel, ring, role.name))


def sides(kernel: KernelPlan, marks: Marks, role: Role) -> Iterator[tuple[str, str]]:
    """The rings that a role has to do with, and the side that it waits for."""
    for ring in marks.layout.rings:
        for side in ("full", "empty"):
            barrier = barrier_of(kernel, f"{ring}_{side}")
            if role.name.startswith(barrier.waits) if barrier else (ring, side) == (LOADS, "full"):
                yield ring, side


def consumes(kernel: KernelPlan, ring: str, role: str) -> bool:
    """Whether a role takes the stages of a ring, as against filling them."""
    barrier = barrier_of(kernel, f"{ring}_full")
    return barrier is None or role.startswith(barrier.waits)


def barrier_of(kernel: KernelPlan, name: str) -> Barrier | None:
    """The plan's barrier of that name; None where there is none."""
    return next((barrier for barrier in kernel.barriers if barrier.name == name), None)


def _warps(warps: Sequence[int]) -> str:
    if len(warps) == 1:
        return f"warp {warps[0]}"
    runs = warps == tuple(range(warps[0], warps[-1] + 1))
    return f"warps {warps[0]}..{warps[-1]}" if runs else f"warps {', '.join(map(str, warps))}"
