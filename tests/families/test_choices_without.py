"""What `advise` would take of the ledger's sweeps of families that have kernels with specialised warps and without.

By prediction alone, beside the measured times of the ledger as it is now; docs/advise.md has the numbers of one run.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.families.norm_act.points import legal as norm_act
from tests.families.sgemm.points import legal as sgemm
from tests.families.timings import LEDGER
from warpwright import pipeline
from warpwright.canonical import canonical_json
from warpwright.families.norm_act.sm_90a import prediction as of_rows
from warpwright.families.sgemm.sm_90a import prediction as of_sgemm
from warpwright.plan.advice import Advice, advise
from warpwright.plan.choosing import Choice, choose
from warpwright.plan.prediction import extents_of
from warpwright.plan.types import Plan
from warpwright.record import read_ledger

FAMILIES = ("sgemm", "norm_act")


@dataclass(frozen=True)
class Sweep:
    """Plans of one kernel that were timed on one problem: microseconds by identity."""

    problem: str
    plans: Mapping[str, Plan]
    times: Mapping[str, float]

    def advice(self) -> list[Advice]:
        extents = extents_of(dict(zip("mnkl", map(int, self.problem.split("x")), strict=False)))
        return [replace(advise(self.plans[each], extents), label=each) for each in self.times]

    def choice(self) -> Choice:
        return choose(self.advice())

    def part(self, identity: str) -> float:
        """A plan's time over the fastest one."""
        return self.times[identity] / min(self.times.values())

    def gain(self) -> float | None:
        """How much longer the fastest one without specialised warps takes, as a part; None without both kinds."""
        kinds = {s: [self.times[a.label] for a in self.advice() if a.specialised is s] for s in (True, False)}
        return min(kinds[False]) / min(kinds[True]) - 1 if all(kinds.values()) else None


@functools.cache
def sweeps() -> tuple[Sweep, ...]:
    """Of three points or more. What the ledger has of plans that ship no more is left out."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    plans: dict[str, Plan] = {}
    for file in sorted(LEDGER.glob("*.jsonl")):
        if file.stem.startswith(FAMILIES):
            shipped = {v.identity: v.plan for v in pipeline.plan(file.stem, Path("out")).variants if v.plan.legal}
            plans |= shipped
            for line in read_ledger(file):
                if line.evidence.method != "benchmarked" or line.identity not in shipped:
                    continue
                kernel = canonical_json(shipped[line.identity].kernel)
                for figures in line.evidence.figures["problems"]:
                    problem = "x".join(str(figures["problem"][mode]) for mode in "mnkl" if mode in figures["problem"])
                    found.setdefault((kernel, problem), {})[line.identity] = figures["cold_us"]["median"]
    return tuple(Sweep(problem, plans, times) for (_, problem), times in found.items() if len(times) > 2)


def good(within: float) -> float:
    """The part of all sweeps of which one so near the fastest is chosen."""
    return statistics.mean(sweep.part(sweep.choice().label) <= 1 + within for sweep in sweeps())


def by_chance(within: float) -> float:
    return statistics.mean(statistics.mean(s.part(each) <= 1 + within for each in s.times) for s in sweeps())


@pytest.fixture
def times() -> None:
    if len(sweeps()) < 6:
        pytest.skip("the ledger has no times for these plans now: designs or templates have changed")


@pytest.mark.usefixtures("times")
def test_a_point_as_fast_as_the_fastest_is_named() -> None:
    assert good(0.035) >= 0.75
    assert good(0.06) == 1
    assert by_chance(0.035) < 0.6, "which says how hard that is"


@pytest.mark.usefixtures("times")
def test_whether_specialised_warps_pay_is_mostly_foreseen() -> None:
    right = []
    for sweep in sweeps():
        gain, worth = sweep.gain(), sweep.choice().worth
        if gain is not None:
            right.append(worth is (gain >= 0.03))
    assert len(right) >= 6
    assert statistics.mean(right) >= 0.6


def splits() -> Iterator[float]:
    """Of each point whose producers work themselves: its sweep's time of the split that is nearest to the one it asks
    for, over that of the best split."""
    for sweep in sweeps():
        found = {a.label: a for a in sweep.advice() if a.phases and a.phases.producer_work and a.phases.consumer_work}
        share = {
            each: a.phases.producer_warps / (a.phases.producer_warps + a.phases.consumer_warps)
            for each, a in found.items()
            if a.phases and sweep.plans[each].design.specialise == "preprocess"
        }
        fastest = {part: min(sweep.times[e] for e in share if share[e] == part) for part in set(share.values())}
        for each in share if len(fastest) > 1 else ():
            producers, consumers = found[each].split or (1, 1)
            asked = producers / (producers + consumers)
            yield fastest[min(fastest, key=lambda part: abs(part - asked))] / min(fastest.values())


@pytest.mark.usefixtures("times")
def test_the_split_that_is_asked_for_is_the_fastest() -> None:
    found = list(splits())
    assert len(found) >= 6
    assert max(found) <= 1.03


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (
            {"specialise": "preprocess", "producer_warps": 4},
            "4 producer warps are the short side: a stage takes 1866 clo",
        ),
        ({"groups": 3}, "12 consumer warps are the short side"),
        ({"columns": 1024, "warps_per_row": 1, "groups": 12}, "1 producer warp is the short side"),
        ({"groups": 4, "reallocate": True, "scales": "shared"}, "CTAs per SM whose warps all do the same take 1"),
    ],
)
def test_who_is_the_short_side_is_said(choices: dict[str, Any], words: str) -> None:
    plan = norm_act(**choices)
    found = advise(plan, {"M": 1 << 15, "N": plan.design.columns})
    assert found.worth is False
    assert words in found.verdict
    assert {way.specialised for way in found.alternatives} == {True, False}


def test_what_all_warps_pay_for_loading_is_the_gain_of_a_producer() -> None:
    """The family's own kernels without one, and no others."""
    found = advise(sgemm(tile_k=16, stages=3), {"M": 4096, "N": 4096, "K": 4096, "L": 1})
    without = advise(sgemm(tile_k=16, stages=3, specialise="none"), found.extents)
    assert found.worth is True
    assert [way.seconds for way in found.alternatives if not way.specialised] == [without.predicted.seconds] * 2
    assert found.gain == without.predicted.seconds / found.predicted.seconds - 1
    assert without.verdict == "no warps are specialised"


@pytest.mark.usefixtures("times")
def test_producers_that_are_taken_for_quick_ask_for_the_wrong_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_rows, "PRODUCED", 0.0)
    monkeypatch.setattr(of_rows, "PRODUCED_ELEMENT", 0.0)
    monkeypatch.setattr(of_rows, "_NORM", {"layer": 0.0, "rms": 0.0})
    assert max(splits()) > 1.1


@pytest.mark.usefixtures("times")
def test_a_wrong_model_chooses_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """That stages cost nothing, nor that all warps load."""

    def loss() -> float:
        return statistics.mean(sweep.part(sweep.choice().label) for sweep in sweeps())

    right = loss()
    monkeypatch.setattr(of_sgemm, "PER_STAGE", -900)
    monkeypatch.setattr(of_sgemm, "PER_STAGE_OF_ALL", -3000)
    assert loss() > right + 0.002
