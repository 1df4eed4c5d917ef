"""Times side by side: what stands in the tables of `bench` and of a bundle's run.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.device.plans import make_plan
from warpwright.canonical import canonical_json
from warpwright.device.bench import figures
from warpwright.device.times import Timed, tables, to_unspecialised
from warpwright.plan.types import Plan, Role

MODES = "MNKL"
PROBLEM = {"m": 64, "n": 32, "k": 16, "l": 1}
ROLES = (Role("producer", 0, 1, 40, "loads"), Role("consumer", 1, 4, 232, "computes"))


def plan(roles: bool, **made: Any) -> Plan:
    made_plan = make_plan(**made)
    return replace(made_plan, kernels=(replace(made_plan.main, roles=ROLES if roles else ()),))


def timed(
    name: str, of: Plan, cold: float, shared: str = "", peers: tuple[str, ...] = ("torch", "plain copy")
) -> Timed:
    samples = {"cold_us": [cold, cold, cold + 8], "sustained_us": [], "peer_cold_us": [40.0] * 3}
    samples |= {"peer_again_us": [40.0] * 3, "peer_sustained_us": [], "peer2_cold_us": [10.0] * 3}
    samples |= {"peer2_again_us": [10.0] * 3, "peer2_sustained_us": []}
    return Timed(name, of, figures(of, PROBLEM, samples, [], peers, shared))


def test_each_stands_beside_every_peer_and_the_fastest_without_roles() -> None:
    found = [
        timed("specialised", plan(True), 20.0),
        timed("slow", plan(False), 50.0),
        timed("baseline", plan(False), 25.0),
        timed("another kernel", plan(True, epilogue=("relu",)), 16.0),
    ]
    (table,) = tables(found, MODES)
    assert table.problem == "64x32x16"
    assert table.columns[1:4] == ("median us", "p95", "p99")
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert list(rows) == ["specialised", "slow", "baseline", "torch", "plain copy", "another kernel"]
    first = rows["specialised"]
    assert (first["median us"], first["p95"], first["p99"]) == ("20.0", "27.2", "27.8")
    assert (first["vs torch"], first["vs plain copy"], first["vs unspecialised"]) == ("2.000", "0.500", "1.250")
    assert rows["baseline"]["vs unspecialised"] == "1.000"
    assert rows["another kernel"]["vs unspecialised"] == ""
    assert (rows["plain copy"]["median us"], rows["plain copy"]["vs torch"]) == ("10.0", "")
    lines = list(table.lines())
    assert [line.split("  ")[0] for line in lines[1:]] == list(rows)
    assert lines[1].endswith("1.250")
    assert len({len(line) for line in lines[1:4]}) == 1, "columns of numbers are aligned to the right"


def test_what_was_not_alone_on_its_gpu_is_set_against_nothing() -> None:
    found = [timed("one", plan(True), 20.0), timed("other", plan(False), 25.0, shared="somebody else")]
    assert to_unspecialised(found) == {}
    (table,) = tables(found, MODES)
    assert "vs unspecialised" not in table.columns
    assert [row[-2:] for row in table.rows[:2]] == [("2.000", "0.500"), ("shared", "shared")]


def test_other_problems_and_gpus_are_not_compared() -> None:
    one, other = timed("one", plan(True), 20.0), timed("other", plan(False), 25.0)
    assert to_unspecialised([one, other]) == {
        ("one", canonical_json(PROBLEM)): 1.25,
        ("other", canonical_json(PROBLEM)): 1.0,
    }
    assert to_unspecialised([one, replace(other, where="another GPU")]) == {}
    larger = replace(other, figures={**other.figures, "problem": {**PROBLEM, "m": 128}})
    assert to_unspecialised([one, larger]) == {}
    assert [table.problem for table in tables([one, larger], MODES)] == ["64x32x16", "128x32x16"]


def test_ratios_are_of_medians_theirs_over_mine() -> None:
    """Of samples whose medians all differ, so that who is taken for whom shows."""
    samples = {"cold_us": [20.0, 1.0, 90.0], "sustained_us": [16.0], "peer_cold_us": [40.0], "peer_again_us": [44.0],
               "peer_sustained_us": [24.0], "peer2_cold_us": [10.0], "peer2_again_us": [10.5],
               "peer2_sustained_us": [8.0]}  # fmt: skip
    found = figures(plan(True), PROBLEM, samples, [], ("torch", "plain copy"))
    told = [[peer[key] for key in ("name", "ratio", "noise", "tie", "sustained_ratio")]
            for peer in (found["peer"], *found["further_peers"])]  # fmt: skip
    assert told == [["torch", 2.0, 0.1, False, 1.5], ["plain copy", 0.5, 0.05, False, 0.5]]
    assert found["speed"] / found["peer"]["speed"] == pytest.approx(2, rel=1e-3)
    assert found["sustained_speed"] / found["speed"] == pytest.approx(1.25, rel=1e-3)


@pytest.mark.parametrize(
    ("mine", "theirs", "again", "tie"),
    [(20.0, 22.0, 24.1, False), (20.0, 22.0, 24.3, True), (22.0, 20.0, 21.8, False), (22.0, 20.0, 18.1, True)],
)
def test_a_tie_is_within_what_a_peer_differs_from_itself(mine: float, theirs: float, again: float, tie: bool) -> None:
    """As parts of the peer's own time, whoever is the faster."""
    samples = {"cold_us": [mine], "sustained_us": [], "peer_cold_us": [theirs], "peer_again_us": [again]}
    found = figures(plan(True), PROBLEM, {**samples, "peer_sustained_us": []}, [], ("torch",))
    assert found["peer"]["tie"] == tie


def test_old_figures_of_one_peer_are_shown() -> None:
    (table,) = tables([timed("one", plan(True), 20.0, peers=("torch",))], MODES)
    assert table.columns[-1] == "vs torch"
    (table,) = tables([timed("one", plan(True), 20.0, peers=("",))], MODES)
    assert table.columns[-1] == "speed"
