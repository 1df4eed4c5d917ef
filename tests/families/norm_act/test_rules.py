"""Every rule at its boundary: the last legal value, the first illegal one, and what it names as nearest is legal."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

from tests.families.norm_act.points import planned
from warpwright.families import target

NONE: dict[str, Any] = {"specialise": "none"}
PRE: dict[str, Any] = {"specialise": "preprocess"}
AHEAD: dict[str, Any] = {**NONE, "persistent": False, "rows_per_group": 2, "groups": 1}
HELD: dict[str, Any] = {"row": "shared", "warps_per_row": 16, "groups": 1}
#: rule: (field, the rest of the point, legal value, illegal value, nearest as told)
CASES: list[tuple[str, str, dict[str, Any], Any, Any, str]] = [
    ("access", "access_bytes", {}, 16, 8, "16"),
    ("access", "access_bytes", {**NONE, "y": "f32"}, 4, 2, "4"),
    ("producers", "producer_warps", {}, 1, 2, "1"),
    ("producers", "producer_warps", {"groups": 4, "reallocate": True}, 4, 1, "4"),
    ("producers", "producer_warps", NONE, 0, 1, "0"),
    ("producers", "producer_warps", {**PRE, "producer_groups": 2}, 4, 5, "4"),
    ("producers", "producer_warps", {**PRE, "producer_groups": 2}, 2, 0, "2"),
    ("producer_groups", "producer_groups", NONE, 1, 2, "1"),
    ("producer_groups", "producer_groups", {"groups": 4, "reallocate": True, "stages": 20}, 4, 5, "4"),
    ("warps", "groups", {"columns": 1024}, 7, 8, "7"),
    ("warps", "groups", {**PRE, "producer_warps": 6}, 6, 7, "6"),
    ("warps.residency", "ctas_per_sm", {"columns": 1024, "groups": 1}, 12, 13, "12"),
    ("warps.residency", "ctas_per_sm", {**NONE, "columns": 32, "warps_per_row": 1, "groups": 1, "access_bytes": 2,
                                        "weight": None, "bias": None}, 32, 33, "32"),
    ("columns", "columns", {}, 4096, 4095, "4096"),
    ("columns", "columns", {}, 3072, 2049, "3072"),
    ("columns", "columns", {**PRE, "producer_warps": 3, "groups": 1}, 3072, 4096, "6144"),
    ("rows_per_group", "rows_per_group", {}, 1, 2, "1"),
    ("rows_per_group", "rows_per_group", NONE, 1, 2, "1"),
    ("ctas_per_row", "ctas_per_row", {}, 1, 2, "1"),
    ("ctas_per_row", "ctas_per_row", {**AHEAD, "columns": 24576}, 2, 3, "2"),
    ("ctas_per_row", "ctas_per_row", {**AHEAD, "columns": 32768}, 8, 16, "8"),
    ("ctas_per_row.sums", "warps_per_row", {**AHEAD, "columns": 32768, "ctas_per_row": 8}, 4, 8, "4"),
    ("ctas_per_row.sums", "warps_per_row", {**AHEAD, "columns": 24576, "ctas_per_row": 2}, 2, 3, "2"),
    ("row", "row", {**PRE, "groups": 1}, "registers", "shared", "registers"),
    ("row.groups", "groups", {"row": "streamed"}, 1, 2, "1"),
    ("row.stages", "stages", {**HELD, "columns": 65536}, 8, 7, "8"),
    ("registers", "columns", {"groups": 3}, 5120, 6144, "5120"),
    ("registers", "columns", {**NONE, "groups": 4}, 4096, 5120, "4096"),
    ("registers", "columns", {**AHEAD, "warps_per_row": 8, "ctas_per_sm": 4}, 4096, 6144, "4096"),
    ("reallocate", "reallocate", {"groups": 1, "warps_per_row": 3, "columns": 768}, False, True, "false"),
    ("reallocate", "reallocate", PRE, False, True, "false"),
    ("reallocate", "reallocate", {"ctas_per_sm": 2, "groups": 1}, False, True, "false"),
    ("named_barriers", "groups", {"warps_per_row": 2, "columns": 512}, 15, 16, "15"),
    ("named_barriers.ring", "ring", {}, "mbarrier", "named", "mbarrier"),
    ("named_barriers.stages", "stages", {**PRE, "ring": "named", "groups": 1, "columns": 1024}, 7, 8, "7"),
    ("named_barriers.stages", "stages", {**PRE, "ring": "named"}, 6, 9, "6"),
    ("named_barriers.residency", "ctas_per_sm", {**NONE, "warps_per_row": 2, "columns": 512, "groups": 2}, 4, 5, "4"),
    ("persistent", "persistent", {}, True, False, "true"),
    ("scales", "scales", {**NONE, "persistent": False}, "registers", "shared", "registers"),
    ("scales", "scales", {"weight": None, "bias": None}, "registers", "shared", "registers"),
    ("stages", "stages", {"groups": 1}, 2, 1, "2"),
    ("stages", "stages", {"groups": 1, "columns": 1024}, 64, 65, "64"),
    ("stages", "stages", NONE, "auto", 2, "auto"),
    ("stages.turns", "stages", {}, 9, 8, "6"),
    ("stages.turns", "stages", {"producer_groups": 2}, 12, 9, "6"),
    ("stages.turns", "stages", {**PRE, "producer_groups": 2, "columns": 1024}, 6, 4, "6"),
    ("shared_memory", "stages", {"groups": 1}, 28, 29, "28"),
    ("shared_memory", "stages", {}, 27, 30, "27"),
    ("shared_memory", "stages", {**PRE, "groups": 1}, 14, 15, "14"),
]  # fmt: skip


def broken(**choices: Any) -> dict[str, str]:
    return {violation.rule: violation.nearest for violation in planned(**choices).violations}


@pytest.mark.parametrize(("rule", "field", "rest", "good", "bad", "nearest"), CASES)
def test_a_rule_at_its_boundary(rule: str, field: str, rest: dict[str, Any], good: Any, bad: Any, nearest: str) -> None:
    assert rule not in broken(**{**rest, field: good})
    assert broken(**{**rest, field: bad})[rule] == nearest
    assert rule not in broken(**{**rest, field: yaml.safe_load(nearest)})


def test_every_rule_has_a_case_and_a_statement_without_a_table_s_bar() -> None:
    rules = target("norm_act", "sm_90a").rules
    assert [rule.id for rule in rules] == list(dict.fromkeys(case[0] for case in CASES))
    assert all(rule.statement and "|" not in rule.statement for rule in rules)
    assert all(rule.field.startswith("design.") for rule in rules)


def test_what_cannot_be_says_so_in_words() -> None:
    assert broken(columns=65536, groups=1, warps_per_row=16)["registers"] == "12288"
    assert broken(columns=65536, groups=1, warps_per_row=16, stages=2)["shared_memory"].startswith("fewer columns")
    assert broken(columns=65536, **{**HELD, "x": "f32"})["row.stages"].startswith("row: streamed")
    assert broken(columns=65536, **{**HELD, **NONE, "x": "f32"})["shared_memory"].endswith("or row: streamed")
    assert broken(columns=4096, **{**AHEAD, "rows_per_group": 40})["shared_memory"].endswith("fewer rows per group")
    assert broken(columns=1024, warps_per_row=40, groups=1)["warps"] == "fewer warps per row, or fewer producers"
    shared = {**AHEAD, "columns": 24576, "warps_per_row": 32}
    assert broken(**{**shared, "ctas_per_row": 3})["ctas_per_row.sums"] == "8"  # of 10, a power of two
    assert broken(**{**shared, "ctas_per_row": 64})["ctas_per_row.sums"] == "fewer CTAs per row"


@pytest.mark.parametrize("seed", range(300))
def test_the_nearest_value_of_any_violation_would_do(seed: int) -> None:
    """Put in the place of the field, whatever else is wrong with the point: its rule then holds."""
    pick = random.Random(seed).choice
    design = {
        "x": pick(("f16", "f32")),
        "y": pick(("f16", "f32")),
        "weight": pick(("f32", None)),
        "residual": pick((False, True)),
        "specialise": pick(("none", "tma", "preprocess")),
        "columns": pick((1, 32, 1000, 1024, 4096, 16384, 65536)),
        "warps_per_row": pick((1, 2, 3, 4, 16, 40)),
        "groups": pick((1, 2, 3, 8, 16, 33)),
        "producer_warps": pick(("auto", 0, 1, 2, 4, 5, 33)),
        "producer_groups": pick((1, 2, 3, 16)),
        "stages": pick(("auto", 0, 1, 2, 6, 13, 65, 10**6)),
        "ctas_per_sm": pick((1, 2, 4, 33)),
        "persistent": pick((True, True, False)),
        "rows_per_group": pick((1, 1, 3)),
        "row": pick(("registers", "registers", "shared", "streamed")),
        "ring": pick(("mbarrier", "mbarrier", "named")),
        "scales": pick(("registers", "registers", "shared")),
        "reallocate": pick((False, False, True)),
        "access_bytes": pick((2, 4, 8, 16)),
    }
    for violation in planned(**design).violations:
        assert ("; nearest legal: " in violation.message) != ("; instead: " in violation.message)
        if "; nearest legal: " in violation.message:
            changed = {**design, violation.field.removeprefix("design."): yaml.safe_load(violation.nearest)}
            assert violation.rule not in broken(**changed), violation
