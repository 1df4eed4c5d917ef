"""Every rule at its boundary: the last legal value, the first illegal one, and what it names as nearest is legal."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

from tests.families.copy.points import planned
from warpwright.families import target

#: rule: (field, the rest of the design, legal value, illegal value, nearest as told)
CASES: list[tuple[str, str, dict[str, Any], int, int, str]] = [
    ("warps", "consumer_warps", {"producer_warps": 2, "stage_bytes": 15360 * 32, "ctas_per_sm": 1}, 30, 31, "30"),
    ("warps.residency", "ctas_per_sm", {"consumer_warps": 15, "stage_bytes": 7680}, 4, 5, "4"),
    ("stage_bytes", "stage_bytes", {}, 2048, 2047, "2048"),
    ("stage_bytes", "stage_bytes", {"consumer_warps": 8}, 8192, 8192 + 2047, "8192"),
    ("stage_bytes", "stage_bytes", {"consumer_warps": 8}, 12288, 8192 + 2049, "12288"),
    ("registers.vectors", "stage_bytes", {"consumer_warps": 1, "ctas_per_sm": 4}, 13824, 14336, "13824"),
    ("stages", "stages", {}, 2, 1, "2"),
    ("stages.producers", "producer_warps", {"stages": 3}, 3, 4, "3"),
    ("slots", "slots", {"store": "tma"}, 8, 9, "8"),
    ("shared_memory", "stages", {}, 13, 14, "13"),
    ("shared_memory", "stages", {"store": "tma"}, 11, 12, "11"),
    ("shared_memory", "stages", {"ctas_per_sm": 1, "stage_bytes": 32768, "consumer_warps": 8}, 7, 8, "7"),
]


def broken(**design: Any) -> dict[str, str]:
    return {violation.rule: violation.nearest for violation in planned(**design).violations}


@pytest.mark.parametrize(("rule", "field", "rest", "good", "bad", "nearest"), CASES)
def test_a_rule_at_its_boundary(rule: str, field: str, rest: dict[str, Any], good: int, bad: int, nearest: str) -> None:
    assert rule not in broken(**rest, **{field: good})
    assert broken(**rest, **{field: bad})[rule] == nearest
    assert rule not in broken(**rest, **{field: int(nearest)})


def test_every_rule_has_a_case_and_a_statement_without_a_table_s_bar() -> None:
    rules = target("copy", "sm_90a").rules
    assert [rule.id for rule in rules] == list(dict.fromkeys(case[0] for case in CASES))
    assert all(rule.statement and "|" not in rule.statement for rule in rules)
    assert all(rule.field.startswith("design.") for rule in rules)


def test_the_direct_way_has_no_slots() -> None:
    assert broken(store="direct", slots=2) == {"slots": "auto"}
    assert broken(store="direct") == {}


def test_what_cannot_fit_says_so_in_words() -> None:
    assert broken(stage_bytes=65536, consumer_warps=16)["shared_memory"] == "smaller stages, or fewer CTAs per SM"
    assert broken(ctas_per_sm=9, consumer_warps=7, stage_bytes=512 * 7 * 8)["registers.vectors"] == "fewer CTAs per SM"
    assert broken(ctas_per_sm=32, consumer_warps=1, stage_bytes=512, stages=20)["shared_memory"] == "11"


@pytest.mark.parametrize("seed", range(200))
def test_the_nearest_value_of_any_violation_would_do(seed: int) -> None:
    """Put in the place of the field, whatever else is wrong with the point: its rule then holds."""
    pick = random.Random(seed).choice
    design = {
        "stage_bytes": pick((1, 512, 1000, 4096, 16384, 65536, 10**9)),
        "stages": pick(("auto", 1, 2, 4, 13, 10**9)),
        "consumer_warps": pick((1, 3, 4, 8, 31, 40)),
        "producer_warps": pick((1, 2, 5, 32)),
        "ctas_per_sm": pick((1, 2, 4, 9, 33)),
        "store": pick(("tma", "direct")),
        "slots": pick(("auto", 1, 8, 9)),
    }
    for violation in planned(**design).violations:
        assert ("; nearest legal: " in violation.message) != ("; instead: " in violation.message)
        if "; nearest legal: " in violation.message:
            changed = {**design, violation.field.removeprefix("design."): yaml.safe_load(violation.nearest)}
            assert violation.rule not in broken(**changed), violation
