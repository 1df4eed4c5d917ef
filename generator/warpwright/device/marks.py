"""What an instrumented twin writes down, and where: one layout for the template, the emulator and the GPU's host.

A twin is rendered from a variant's plan with two more arguments. `notes` says where every warp is (host memory, so that
it can be read while the kernel hangs), `stamps` when it was there. Each warp has a line of 128 bytes of `notes`: one
word per step, with the round that it was last at; and in `stamps` one such line per round, of clocks.

A step belongs to a ring of the plan, or to none. Of a ring: WAIT (the warp begins to wait), GOT (that wait is over),
DONE (a producer has issued its loads, a consumer is through with the stage), RELEASED (a consumer has arrived for the
producer), and, by warps that load and compute, or whose loads pass through registers, BEGUN (loads are issued from here
on). A round counts stages from the first that a CTA loads: round n is in stage n modulo their number. A kernel that has
no ring of barriers is marked as if it had one, LOADS, at whose waits all threads of some kind wait for one another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from warpwright.plan.types import Argument, Plan

__all__ = ["KINDS", "LOADS", "NOTES", "OTHERS", "STAMPED", "STAMPS", "STEPS", "Layout", "Marks", "Note", "cta_number",
           "instrumented", "is_twin", "layout_of", "peers"]  # fmt: skip

NOTES, STAMPS = "notes", "stamps"
#: Words of a line: 128 bytes, so that no two warps write to one line of the memory's.
STEPS = 16
KINDS = ("WAIT", "GOT", "DONE", "RELEASED", "BEGUN")
#: Steps of no ring: a tile's epilogue begins and ends, a warp begins to wait for its turn, a role is at its end.
OTHERS = ("EPILOGUE", "STORED", "TURN", "END")
#: The ring of a kernel that has none.
LOADS = "loads"
_RINGS = (STEPS - len(OTHERS)) // len(KINDS)
#: CTAs that note where they are, CTAs that stamp, and the rounds of each that are stamped.
_NOTED, STAMPED, _ROUNDS = 512, 2, 256


@dataclass(frozen=True)
class Note:
    """Where a warp was last at a step: its round, and the stage and parity that it used.

    turns: its warps take every so-manieth round, others those between.
    """

    round: int
    stage: int
    parity: int
    turns: int = 1


@dataclass(frozen=True)
class Layout:
    """Sizes of a twin's two arguments; `rings` are the plan's, by the name that their barriers begin with, and their
    stages."""

    warps: int
    rings: tuple[str, ...]
    stages: tuple[int, ...]
    noted: int = _NOTED
    stamped: int = STAMPED
    rounds: int = _ROUNDS

    @property
    def stages_of(self) -> dict[str, int]:
        """The planned stages of each ring."""
        return dict(zip(self.rings, self.stages, strict=True))

    @property
    def note_words(self) -> int:
        return self.noted * self.warps * STEPS

    @property
    def light(self) -> bool:
        """Whether warps only stamp: of a twin in which no more CTAs mark than stamp, nobody reads the notes."""
        return self.noted <= self.stamped

    @property
    def stamp_words(self) -> int:
        return self.stamped * self.warps * self.rounds * STEPS

    @cached_property
    def steps(self) -> dict[str, int]:
        """The number of each step by the name that the source gives it: AB_WAIT, ..., EPILOGUE, ..."""
        of_rings = [f"{ring.upper()}_{kind}" for ring in self.rings for kind in KINDS]
        named = {name: number for number, name in enumerate(of_rings)}
        return named | {name: STEPS - len(OTHERS) + number for number, name in enumerate(OTHERS)}


@dataclass(frozen=True)
class Marks:
    """What was written down: `notes` and `stamps` are arrays of 64-bit words, `unset` is what they were before."""

    layout: Layout
    notes: Any
    stamps: Any
    unset: int

    def note(self, cta: int, warp: int, step: str) -> Note | None:
        """Where a warp was last at a step; None where it never was."""
        at = (cta * self.layout.warps + warp) * STEPS + self.layout.steps[step]
        word = int(self.notes[at])
        if word == self.unset:
            return None
        return Note((word >> 16) - 1, word & 0xFF, word >> 8 & 1, 1 + (word >> 9 & 0x7F))

    def stamp(self, cta: int, warp: int, number: int, step: str) -> int | None:
        """The clock at which a warp was at a step in round `number`; None where it was not, or is not stamped."""
        of = self.layout
        if not 0 <= number < of.rounds or cta >= of.stamped:
            return None
        at = ((cta * of.warps + warp) * of.rounds + number) * STEPS + of.steps[step]
        word = int(self.stamps[at])
        return None if word == self.unset else word

    def ctas(self) -> list[int]:
        """The CTAs that have noted anything, in order."""
        per = self.layout.warps * STEPS
        lines = self.notes[: self.layout.note_words].reshape(self.layout.noted, per)
        return [cta for cta in range(self.layout.noted) if bool((lines[cta] != self.unset).any())]


def layout_of(plan: Plan) -> Layout:
    """Return the layout of the marks of a twin, as its arguments say; of another plan, that of its twin."""
    kernel, full = plan.main, "_full"
    rings = [(b.name[: -len(full)], b.stages) for b in kernel.barriers if b.name.endswith(full)]
    if not rings:
        rings = [(LOADS, int(next((one.value for one in plan.constants if one.name == "STAGES"), 1)))]
    names, stages = zip(*rings[:_RINGS], strict=True)
    of, notes = (
        Layout(-(-kernel.threads // 32), names, stages),
        next((a for a in plan.arguments if a.name == NOTES), None),
    )
    return replace(of, noted=int(notes.shape[0]) // (of.warps * STEPS)) if notes else of


def cta_number(cluster: tuple[int, int, int], across: int, x: int, y: int) -> int:
    """The number that a twin's CTA (x, y) goes by, those of a cluster behind one another; `across`: CTAs along x."""
    i, j, _ = cluster
    return (y // j * (across // i) + x // i) * i * j + y % j * i + x % i


def peers(cluster: tuple[int, int, int], cta: int) -> list[int]:
    """The numbers of the other CTAs of a CTA's cluster."""
    size = cluster[0] * cluster[1]
    return [other for other in range(cta // size * size, cta // size * size + size) if other != cta]


def instrumented(plan: Plan, noted: int = _NOTED) -> Plan:
    """Return the plan of a variant's twin: the same with two workspaces more, exported under a name of its own.

    noted: how many CTAs mark at all. Where it is no more than stamp, the others run as the kernel does.
    """
    of = replace(layout_of(plan), noted=noted)
    more = tuple(
        Argument(name, "vector", "i64", (str(words),), str(words), "workspace", meaning=meaning)
        for name, words, meaning in (
            (NOTES, of.note_words, "where every warp is"),
            (STAMPS, of.stamp_words, "when it was there"),
        )
    )
    return replace(plan, arguments=(*plan.arguments, *more), symbol=f"{plan.symbol}_twin_{noted}")


def is_twin(plan: Plan) -> bool:
    """Whether a plan is that of an instrumented twin."""
    return any(argument.name == STAMPS for argument in plan.arguments)
