"""Marks written by hand, round by round, as arrays and as a file for the double of a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpwright.device.marks import STEPS, Marks, layout_of
from warpwright.plan.types import Plan

__all__ = ["UNSET", "Written", "one_never_releases"]

UNSET = -1


class Written:
    """Marks of a plan's kernel, of CTA 0 or, of notes, of whichever."""

    def __init__(self, plan: Plan) -> None:
        of = layout_of(plan)
        self.marks = Marks(of, np.full(of.note_words, UNSET), np.full(of.stamp_words, UNSET), UNSET)

    def stamp(self, warp: int, number: int, **clocks: int) -> None:
        """Say when a warp was at steps of round `number`."""
        of = self.marks.layout
        for step, clock in clocks.items():
            self.marks.stamps[(warp * of.rounds + number) * STEPS + of.steps[step]] = clock

    def note(self, warp: int, step: str, number: int, stage: int, parity: int, cta: int = 0) -> None:
        """Say where a warp is."""
        of = self.marks.layout
        self.marks.notes[(cta * of.warps + warp) * STEPS + of.steps[step]] = number + 1 << 16 | parity << 8 | stage

    def save(self, path: Path, hangs: bool = False, wrong: bool = False) -> Path:
        """Write the file that the double of a device plays."""
        np.savez(path, notes=self.marks.notes, stamps=self.marks.stamps, hangs=hangs, wrong=wrong)
        return path


def one_never_releases(plan: Plan, stages: int) -> Written:
    """The notes of a GEMM of two consumers, of which the second never releases a stage: the producer fills the ring."""
    written = Written(plan)
    written.note(8, "AB_WAIT", stages, 0, 0)
    written.note(8, "AB_GOT", stages - 1, stages - 1, 1)
    written.note(8, "AB_DONE", stages - 1, stages - 1, 1)
    for warp in range(8):
        written.note(warp, "AB_WAIT", stages, 0, 1)
        written.note(warp, "AB_GOT", stages - 1, stages - 1, 0)
        written.note(warp, "AB_DONE", stages - 2, stages - 2, 0)
    written.note(0, "AB_RELEASED", stages - 2, stages - 2, 0)
    return written
