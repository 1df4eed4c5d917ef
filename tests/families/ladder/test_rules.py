"""Every rule at its boundary: the last legal value, the first illegal one, and what it names as nearest is legal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.families.ladder.points import RUNGS, legal, planned
from warpwright.families import target
from warpwright.families.ladder.sm_90a.solution import as_gemm
from warpwright.plan import plan

#: rule: (field, the rest of the point, legal value, illegal value, nearest as told)
CASES: list[tuple[str, str, dict[str, Any], int, int, str]] = [
    ("tile.m", "m", {"rung": 1}, 64, 32, "64"),
    ("tile.m", "m", {"rung": 5}, 128, 192, "128"),
    ("tile.m", "m", {"rung": 8}, 128, 64, "128"),
    ("tile.n", "n", {"rung": 2}, 128, 160, "128"),
    ("tile.n", "n", {"rung": 2}, 32, 16, "32"),
    ("tile.k", "k", {"rung": 1}, 64, 128, "64"),
    ("tile.k", "k", {"rung": 9}, 32, 16, "32"),
    ("stages", "stages", {"rung": 3}, 1, 2, "auto"),
    ("stages", "stages", {"rung": 4}, 2, 1, "2"),
    ("shared_memory", "stages", {"rung": 4}, 6, 7, "6"),
    ("shared_memory", "stages", {"rung": 9, "k": 32}, 13, 14, "13"),
]


def broken(**given: Any) -> dict[str, str]:
    return {violation.rule: violation.nearest for violation in planned(**given).violations}


@pytest.mark.parametrize(("rule", "field", "rest", "good", "bad", "nearest"), CASES)
def test_a_rule_at_its_boundary(rule: str, field: str, rest: dict[str, Any], good: int, bad: int, nearest: str) -> None:
    assert broken(**rest, **{field: good}) == {}
    assert broken(**rest, **{field: bad})[rule] == nearest
    assert rule not in broken(**rest, **{field: nearest if nearest == "auto" else int(nearest)})


def test_every_rule_has_a_case() -> None:
    assert [rule.id for rule in target("ladder", "sm_90a").rules] == list(dict.fromkeys(case[0] for case in CASES))


@pytest.mark.parametrize("rung", [rung for rung in RUNGS if rung >= 5])
def test_what_the_ladder_allows_is_a_legal_gemm(rung: int) -> None:
    from tests.families.ladder.points import point

    for m in (64, 128):
        for n in (32, 64, 96, 128):
            for k in (32, 64):
                for stages in ("auto", 2):
                    if m == 64 and rung == 8:
                        continue
                    assert legal(rung, m, n, k, stages=stages).main.threads
                    assert plan(as_gemm(point(rung, m, n, k, stages=stages))).legal
