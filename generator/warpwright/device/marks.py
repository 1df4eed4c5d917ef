"""What an instrumented twin writes down, and where: one layout for the template, the emulator and the GPU's host.

A twin is rendered from a variant's plan with two more arguments. `notes` says where every warp is (host memory, so that
it can be read while the kernel hangs), `stamps` when it was there. Each warp has a line of 128 bytes of `notes`: one
word per step, with the round that it was last at; and in `stamps` one such line per round, of clocks.

A step belongs to a ring of the plan, or to none. Of a ring: WAIT (the warp begins to wait), GOT (that wait is over),
DONE (a producer has issued its loads, a consumer is through with the stage), RELEASED (a consumer has arrived for the
producer). A round counts stages from the first that a CTA loads: round n is in stage n modulo their number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from warpwright.plan.types import Argument, KernelPlan, Plan

__all__ = ["KINDS", "NOTES", "OTHERS", "STAMPED", "STAMPS", "STEPS", "Layout", "Marks", "Note", "instrumented",
           "is_twin", "layout", "layout_of"]  # fmt: skip

NOTES, STAMPS = "notes", "stamps"
#: Words of a line: 128 bytes, so that no two warps write to one line of the memory's.
STEPS = 16
KINDS = ("WAIT", "GOT", "DONE", "RELEASED")
#: Steps of no ring: a tile's epilogue begins and ends, a warp begins to wait for its turn, a role is at its end.
OTHERS = ("EPILOGUE", "STORED", "TURN", "END")
_RINGS = (STEPS - len(OTHERS)) // len(KINDS)
#: CTAs that note where they are, CTAs that stamp, and the rounds of each that are stamped.
_NOTED, STAMPED, _ROUNDS = 512, 2, 256


@dataclass(frozen=True)
class Note:
    """Where a warp was last at a step: its round, and the stage and parity that it used."""

    round: int
    stage: int
    parity: int


@dataclass(frozen=True)
class Layout:
    """Sizes of a twin's two arguments; `rings` are the plan's, by the name that their two barriers begin with."""

    warps: int
    rings: tuple[str, ...]
    noted: int = _NOTED
    stamped: int = STAMPED
    rounds: int = _ROUNDS

    @property
    def note_words(self) -> int:
        return self.noted * self.warps * STEPS

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
        return None if word == self.unset else Note((word >> 16) - 1, word & 0xFF, word >> 8 & 0xFF)

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


def layout(kernel: KernelPlan) -> Layout:
    """Return the layout of a kernel's marks."""
    full = "_full"
    names = tuple(b.name[: -len(full)] for b in kernel.barriers if b.kind == "mbarrier" and b.name.endswith(full))
    return Layout(-(-kernel.threads // 32), names[:_RINGS])


def layout_of(plan: Plan) -> Layout:
    """Return the layout of the marks of a twin, as its arguments say; of another plan, that of its twin."""
    of, notes = layout(plan.main), next((a for a in plan.arguments if a.name == NOTES), None)
    return replace(of, noted=int(notes.shape[0]) // (of.warps * STEPS)) if notes else of


def instrumented(plan: Plan, noted: int = _NOTED) -> Plan:
    """Return the plan of a variant's twin: the same with two workspaces more, exported under a name of its own.

    noted: how many CTAs mark at all. Where it is no more than stamp, the others run as the kernel does.
    """
    of = replace(layout(plan.main), noted=noted)
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
