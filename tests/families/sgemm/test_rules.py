"""Every rule at its boundary: the last legal value, the first illegal one, and what it names as nearest is legal."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml

from tests.families.sgemm.points import legal, planned
from warpwright.families import target

SMALL = {"thread": {"m": 8, "n": 8}}
NONE = {"specialise": "none"}


def grid(m: int, n: int) -> dict[str, int]:
    return {"m": m, "n": n}


#: rule: (field, the rest of the point, legal value, illegal value, nearest as told)
CASES: list[tuple[str, str, dict[str, Any], Any, Any, str]] = [
    ("a.major", "a", NONE, "m", "k", "m"),
    ("b.major", "b", NONE, "n", "k", "n"),
    ("producer_warps", "producer_warps", {}, 4, 5, "4"),
    ("producer_warps", "producer_warps", NONE, "auto", 1, "auto"),
    ("warps", "warps", {**SMALL, "registers": "none"}, grid(31, 1), grid(32, 1), "31"),
    ("warps", "warps", {**NONE, **SMALL}, grid(16, 2), grid(17, 2), "16"),
    ("warps.residency", "ctas_per_sm", {**SMALL, **NONE, "warps": grid(4, 4)}, 4, 5, "4"),
    ("tile.m", "warps", SMALL, grid(4, 1), grid(5, 1), "4"),
    ("tile.m", "warps", {}, grid(4, 1), grid(5, 1), "4"),
    ("tile.n", "warps", SMALL, grid(1, 8), grid(1, 9), "8"),
    ("tile.k", "tile_k", {"a": "k", "stages": 2}, 32, 64, "32"),
    ("loads", "tile_k", {**NONE, **SMALL, "warps": grid(4, 4)}, 16, 8, "16"),
    ("unroll", "unroll", {"tile_k": 8}, 8, 16, "8"),
    ("unroll", "unroll", {"a": "k"}, 4, 2, "4"),
    ("unroll", "unroll", {"b": "k"}, 8, 4, "8"),
    ("unroll", "unroll", {"a": "k", "b": "k"}, 4, 8, "4"),
    ("registers.specialise", "registers", NONE, "auto", {"producer": 40, "consumer": 232}, "auto"),
    ("registers.specialise", "registers", {**SMALL, "warps": grid(2, 1)}, "auto", {"producer": 24, "consumer": 240},
     "auto"),
    ("registers.values", "registers", {}, {"producer": 40, "consumer": 232}, {"producer": 42, "consumer": 228}, "auto"),
    ("registers.values", "registers", {}, {"producer": 24, "consumer": 240}, {"producer": 16, "consumer": 240}, "auto"),
    ("registers.pool", "registers", {}, {"producer": 40, "consumer": 232}, {"producer": 48, "consumer": 232}, "auto"),
    # 80 registers at entry of each of 12 warps: what was waited for for ever.
    ("registers.pool", "registers", {**SMALL, "warps": grid(2, 4), "ctas_per_sm": 2},
     {"producer": 24, "consumer": 104}, {"producer": 24, "consumer": 112}, "auto"),
    ("registers.thread", "thread", {}, {"m": 8, "n": 16}, {"m": 16, "n": 16}, "8"),
    ("stages", "stages", {}, 2, 1, "2"),
    ("stages", "stages", {}, 6, 7, "6"),
    ("stages.producers", "producer_warps", {"stages": 3}, 3, 4, "3"),
    ("shared_memory", "stages", {"tile_k": 32}, 4, 5, "4"),
]  # fmt: skip
#: Fields of which a part is named.
PARTS = {"warps": "m", "thread": "m"}


def broken(**given: Any) -> dict[str, str]:
    return {violation.rule: violation.nearest for violation in planned(**given).violations}


@pytest.mark.parametrize(("rule", "field", "rest", "good", "bad", "nearest"), CASES)
def test_a_rule_at_its_boundary(rule: str, field: str, rest: dict[str, Any], good: Any, bad: Any, nearest: str) -> None:
    assert rule not in broken(**rest, **{field: good})
    assert broken(**rest, **{field: bad})[rule] == nearest
    value = yaml.safe_load(nearest)
    if field in PARTS:
        part = "n" if rule == "tile.n" else "m"
        value = {**bad, part: value}
    assert rule not in broken(**rest, **{field: value})


def test_every_rule_has_a_case_and_a_statement_without_a_table_s_bar() -> None:
    rules = target("sgemm", "sm_90a").rules
    assert {rule.id for rule in rules} == {case[0] for case in CASES}
    assert all(rule.statement and "|" not in rule.statement for rule in rules)


def test_no_warp_waits_for_registers_that_nobody_gives_up() -> None:
    """Whatever the plan chooses: all warps together hold no more than the CTA was launched with."""
    found = 0
    for m, n, ctas, producers in ((4, 2, 1, 1), (4, 4, 1, 1), (2, 4, 2, 1), (2, 2, 2, 2), (3, 4, 1, 1), (2, 4, 1, 4)):
        plan = planned(warps=grid(m, n), ctas_per_sm=ctas, producer_warps=producers, **SMALL)
        if not plan.legal or plan.design.consumer_registers is None:
            continue
        held = sum(role.warps * (role.registers or 0) for role in plan.main.roles)
        assert held <= plan.main.threads // 32 * plan.main.entry_registers
        assert all(role.warps % 4 == 0 or role.name != "consumer" for role in plan.main.roles)
        found += 1
    assert found >= 4
    assert (legal().design.producer_registers, legal().design.consumer_registers) == (40, 232)
    assert legal(warps=grid(2, 4), ctas_per_sm=2, **SMALL).design.consumer_registers == 104


def test_what_cannot_fit_says_so_in_words() -> None:
    assert broken(warps=grid(1, 33), **SMALL)["warps"] == "fewer warps along N"
    assert "fewer CTAs per SM" in broken(ctas_per_sm=8, **SMALL)["registers.thread"]
    assert "other warps" in broken(warps=grid(1, 7), tile_k=8, **NONE)["loads"]


@pytest.mark.parametrize("seed", range(200))
def test_the_nearest_value_of_any_violation_would_do(seed: int) -> None:
    """Put in the place of the field, whatever else is wrong with the point: its rule then holds."""
    pick = random.Random(seed).choice
    point: dict[str, Any] = {
        "a": pick("mk"),
        "b": pick("nk"),
        "specialise": pick(("producer", "none")),
        "warps": {"m": pick((1, 2, 4, 5, 9, 40)), "n": pick((1, 2, 3, 8, 33))},
        "thread": {"m": pick((8, 16)), "n": pick((8, 16))},
        "lanes_m": pick(("auto", 4, 8)),
        "tile_k": pick((8, 16, 32)),
        "unroll": pick(("auto", 2, 4, 16, 32)),
        "stages": pick(("auto", 1, 2, 6, 7, 10**9)),
        "producer_warps": pick(("auto", 1, 2, 4, 5)),
        "registers": pick(("auto", "none", {"producer": 40, "consumer": 232}, {"producer": 20, "consumer": 300})),
        "ctas_per_sm": pick((1, 2, 3, 40)),
    }
    for violation in planned(**point).violations:
        assert ("; nearest legal: " in violation.message) != ("; instead: " in violation.message)
        if "; nearest legal: " not in violation.message:
            continue
        changed, value = dict(point), yaml.safe_load(violation.nearest)
        _, field, *part = violation.field.split(".")
        if violation.field.startswith("kernel."):
            changed[field] = value
        else:
            changed[field] = {**changed[field], part[0]: value} if part else value
        assert violation.rule not in broken(**changed), violation
