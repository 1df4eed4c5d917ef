"""Which of several plans of one kernel to take, by what was measured of them, else by what is predicted."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from warpwright.plan.advice import Advice
from warpwright.plan.prediction import time_text
from warpwright.plan.reasons import WORTH

__all__ = ["Choice", "choose"]

#: Predictions that differ by less than this part are equal: no model of a GPU is better than that.
TIE = 0.01


@dataclass(frozen=True)
class Choice:
    """The plan to take, why, and by label how much longer each one takes, as a part.

    seconds: of each by label: measured, or predicted times what those that were measured took over their predictions.
    worth, compared: whether the fastest with specialised warps is faster than the fastest without, where there are
    both.
    """

    label: str
    why: str
    seconds: dict[str, float]
    behind: dict[str, float]
    worth: bool | None = None
    compared: str = ""


def choose(found: Sequence[Advice]) -> Choice:
    """Choose among plans of one kernel on one problem, whose labels differ. ValueError where there is none.

    The fastest is taken. Of those within 1 % of it that which was measured to be the fastest or, where none was, that
    whose ring has most to spare: what was not foreseen delays it least.
    """
    if not found:
        raise ValueError("there is no plan to choose from")
    ratios = [each.measured / each.predicted.seconds for each in found if each.measured is not None]
    factor = statistics.median(ratios) if ratios else 1.0
    seconds = {a.label: a.predicted.seconds * factor if a.measured is None else a.measured for a in found}
    fastest = min(seconds.values())
    near = [each for each in found if seconds[each.label] <= fastest * (1 + TIE)]
    measured = [each for each in near if each.measured is not None]
    if measured:
        best = min(measured, key=lambda each: seconds[each.label])
    else:
        best = max(near, key=lambda each: (round(each.reserve, 2), -seconds[each.label]))
    behind = {label: time / seconds[best.label] - 1 for label, time in seconds.items()}
    worth, compared = _compared(found, seconds)
    return Choice(best.label, _why(best, near, found, seconds), seconds, behind, worth, compared)


def _compared(found: Sequence[Advice], seconds: dict[str, float]) -> tuple[bool | None, str]:
    """Set the fastest plan whose warps are specialised against the fastest whose are not; None where one is missing."""
    kinds = [[each for each in found if each.specialised == kind] for kind in (True, False)]
    if not all(kinds):
        return None, ""
    with_, without = (min(kind, key=lambda each: seconds[each.label]) for kind in kinds)
    gain = seconds[without.label] / seconds[with_.label] - 1
    verdict = "worth it" if gain >= WORTH else "not worth it"
    told = [f"{time_text(seconds[each.label])} ({_known(each)}) {each.label}" for each in (with_, without)]
    return gain >= WORTH, f"specialised warps are {verdict}: {told[0]}, and without them {told[1]}, {gain:+.1%}"


def _known(each: Advice) -> str:
    return "predicted" if each.measured is None else "measured"


def _why(best: Advice, near: Sequence[Advice], found: Sequence[Advice], seconds: dict[str, float]) -> str:
    told = f"{time_text(seconds[best.label])} {_known(best)}, bound by {best.predicted.bound}"
    if len(found) == 1:
        return f"{told}; there is no other"
    others = sorted(seconds[each.label] for each in found if each not in near)
    next_ = f"the next takes {others[0] / seconds[best.label] - 1:.1%} longer" if others else ""
    if len(near) > 1:
        ties = f"{len(near) - 1} more within {TIE:.0%}"
        spare = f", of which its ring has most to spare: stages come {best.reserve:.1f} times as fast as they are used"
        ties += spare if best.measured is None and best.reserve else ""
        return "; ".join(filter(None, (told, ties, next_)))
    return f"{told}; {next_}"
