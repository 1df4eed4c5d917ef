"""Findings to statuses: every kind has one, the gravest decides, a place is told once."""

from __future__ import annotations

import json

from warpwright.canonical import canonical_json
from warpwright.device.tolerance import Agreement
from warpwright.emulate import KINDS
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.machine.launch import Result
from warpwright.emulate.variant.case import Outcome
from warpwright.emulate.variant.check_plan import Difference
from warpwright.emulate.variant.coverage import Coverage
from warpwright.emulate.variant.verdict import STATUS_OF, weigh
from warpwright.record import STATUSES

NONE = Coverage(0, 0, ())
DIFFERENCE = Difference("ab_full[0]: arrival count", "1", "2")


def outcome(*findings: Finding, case: str = "tiles", seed: int = 1, ratio: float = 0.5) -> Outcome:
    agreement = Agreement(100, 0, ratio, 1e-4)
    return Outcome(case, seed, (Result((), {"warp_instructions": 1000}),), findings, (agreement,))


def test_every_kind_of_finding_has_a_status() -> None:
    assert set(STATUS_OF) >= set(KINDS)
    assert set(STATUS_OF.values()) <= set(STATUSES)


def test_clean_runs_are_correct_and_differences_degrade_them() -> None:
    assert weigh([outcome()], [], NONE, 1.0).status == "correct"
    verdict = weigh([outcome()], [DIFFERENCE], NONE, 1.0)
    assert verdict.status == "degraded"
    assert verdict.figures["findings"] == [
        {"rule": "ab_full[0]: arrival count", "expected": "1", "found": "2"}
    ]  # fmt: skip


def test_the_gravest_finding_decides_and_comes_first() -> None:
    race, hang = Finding("race", "b stage 1", (7,)), Finding("deadlock", "9 warps wait", (8,))
    verdict = weigh([outcome(race), outcome(hang, seed=2)], [DIFFERENCE], NONE, 1.0)
    assert verdict.status == "hang"
    assert verdict.diagnosis.startswith("deadlock: 9 warps wait")
    assert "case tiles, schedule seed 2" in verdict.diagnosis
    assert [d["kind"] for d in verdict.figures["defects"]] == ["deadlock", "race"]


def kinds_told(*outcomes: Outcome) -> list[str]:
    return [d["kind"] for d in weigh(outcomes, [], NONE, 1.0).figures["defects"]]


def test_causes_are_told_before_what_follows_from_them() -> None:
    """The status is that of the gravest, whatever is told first."""
    found = {kind: Finding(kind, "text", (n,)) for n, kind in enumerate(STATUS_OF)}
    stored = [found[kind] for kind in ("exit", "wrong-result", "written-twice")]
    assert kinds_told(outcome(*stored)) == ["written-twice", "exit", "wrong-result"]
    assert weigh([outcome(*stored)], [], NONE, 1.0).status == "crash"
    assert kinds_told(outcome(found["wrong-result"], found["race"])) == ["race", "wrong-result"]
    assert kinds_told(outcome(found["unwritten"], found["exit"])) == ["exit", "unwritten"]
    assert kinds_told(outcome(found["race"], found["global-bounds"])) == ["global-bounds", "race"]
    # a hang where nothing else went wrong leads; one behind a race, or behind a barrier misused, follows from that
    assert kinds_told(outcome(found["race"]), outcome(found["deadlock"], seed=2)) == ["deadlock", "race"]
    assert kinds_told(outcome(found["race"], found["deadlock"])) == ["race", "deadlock"]
    assert kinds_told(outcome(found["mbarrier"], found["deadlock"])) == ["mbarrier", "deadlock"]


def test_a_place_is_told_once_and_a_case_without_a_place_once() -> None:
    race, wrong = Finding("race", "text", (7, 9)), Finding("wrong-result", "text")
    runs = [outcome(race, wrong), outcome(race, wrong, seed=2), outcome(wrong, case="ragged")]
    verdict = weigh(runs, [], NONE, 1.0)
    assert sorted((d.finding.kind, d.case, d.seed) for d in verdict.defects) == [
        ("race", "tiles", 1), ("wrong-result", "ragged", 1), ("wrong-result", "tiles", 1)
    ]  # fmt: skip


def test_figures_are_plain_and_free_of_this_host() -> None:
    finding = Finding("deadlock", "text", (1,), {"waits": [{"loc": ("kernel.py", 3), "cta": (0, 0, 0)}]})
    figures = weigh([outcome(finding, ratio=0.98765), outcome(case="ragged", seed=3)], [], NONE, 3.0).figures
    assert json.loads(canonical_json(figures)) == figures
    assert figures["problems"] == ["ragged", "tiles"]
    assert (figures["runs"], figures["seeds"], figures["warp_instructions"]) == (2, 2, 2000)
    assert (figures["elements"], figures["ratio"]) == (200, 0.99)
