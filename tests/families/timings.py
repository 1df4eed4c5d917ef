"""Times that were measured, as they are committed, beside what is predicted for the same plans and problems."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpwright import resources
from warpwright.families import target
from warpwright.plan import plan
from warpwright.plan.prediction import extents_of
from warpwright.plan.types import Plan
from warpwright.record import read_ledger
from warpwright.spec import load

__all__ = ["Fit", "Timing", "fit", "of_the_ledger", "of_the_raw_file"]

CHECKOUT = resources.checkout() or Path()
LEDGER = CHECKOUT / "out" / "ledger"


@dataclass(frozen=True)
class Timing:
    """One plan at one problem: the median of launches with a cold L2, in microseconds."""

    plan: Plan
    problem: str  # as JSON
    microseconds: float

    def predicted(self, wrong: Callable[[Plan], Plan] = lambda planned: planned) -> float:
        """Microseconds by the family's own prediction; `wrong` makes another plan of the right one first."""
        extents = extents_of(json.loads(self.problem))
        return 1e6 * target(self.plan.family, self.plan.arch).predict(wrong(self.plan), extents).seconds


@dataclass(frozen=True)
class Fit:
    """How predictions compare with times: Spearman's rank correlation; predicted over measured, by its typical factor
    away from 1 (geometric mean), its smallest and its largest."""

    count: int
    rank: float
    typical: float
    smallest: float
    largest: float

    def within(self, rank: float, typical: float, smallest: float, largest: float) -> bool:
        near = self.typical <= typical and smallest <= self.smallest and self.largest <= largest
        return self.rank >= rank and near


def fit(timings: Iterable[Timing], wrong: Callable[[Plan], Plan] = lambda planned: planned) -> Fit:
    listed = list(timings)
    predicted = np.array([timing.predicted(wrong) for timing in listed])
    measured = np.array([timing.microseconds for timing in listed])
    ratio = predicted / measured
    rank = float(np.corrcoef(_ranks(predicted), _ranks(measured))[0, 1])
    return Fit(len(listed), rank, float(np.exp(np.abs(np.log(ratio)).mean())), float(min(ratio)), float(max(ratio)))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, those of equal values their mean."""
    return np.array([(np.sum(values < value) + np.sum(values <= value) - 1) / 2 for value in values])


def of_the_ledger(family: str) -> dict[str, list[Timing]]:
    """What the ledger holds of each shipped configuration of a family, by problem; what it holds of plans that are
    no more is left out."""
    found: dict[str, list[Timing]] = {}
    for file in sorted((CHECKOUT / "configs").glob("*.yaml")):
        plans = {planned.label: planned for planned in map(plan, load(file).points())}
        if {planned.family for planned in plans.values()} != {family}:
            continue
        for line in read_ledger(LEDGER / f"{file.stem}.jsonl"):
            planned = plans.get(line.label)
            if line.evidence.method != "benchmarked" or planned is None or planned.identity != line.identity:
                continue
            for timed in line.evidence.figures["problems"]:
                key = json.dumps(timed["problem"], sort_keys=True)
                found.setdefault(key, []).append(Timing(planned, key, timed["cold_us"]["median"]))
    return found


def of_the_raw_file(name: str, from_label: Callable[[str], Plan]) -> Iterator[Timing]:
    """Every time of a file of results that belong to no configuration; `from_label` makes the plan of a label."""
    for text in (LEDGER / "raw" / name).read_text(encoding="utf-8").splitlines():
        result = json.loads(text)
        if result.get("method") != "benchmarked":
            continue
        planned = from_label(result["variant"].rsplit("-", 1)[0])
        assert planned.legal, (result["variant"], planned.violations)
        yield Timing(planned, json.dumps(result["problem"], sort_keys=True), result["figures"]["cold_us"]["median"])
