"""A variant is what was resolved: every choice that was left open, written out as it was made, is the same variant."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.plan.space import likely_point, model, point, written_out
from warpwright.canonical import canonical_json
from warpwright.plan import folder_name, identified, plan
from warpwright.render import render

seeds = st.integers(0, 2**32).map(lambda seed: random.Random(seed).choice)
legal_plans = seeds.map(likely_point).map(plan).filter(lambda planned: planned.legal)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(legal_plans)
def test_every_choice_written_out_gives_the_same_variant(planned):
    explicit = plan(model({"kernel": planned.kernel, "design": written_out(planned.design)}))
    assert explicit.legal, explicit.violations
    assert canonical_json(explicit) == canonical_json(planned)
    assert explicit.identity == planned.identity
    assert folder_name(explicit) == folder_name(planned)
    assert render(explicit) == render(planned)


PING = {"design.schedule": "pingpong", "design.tile": {"m": 128, "n": 208, "k": 64}}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({}, {"design.stages": 6}),
        ({}, {"design.registers": {"producer": 40, "consumer": 232}}),
        (PING, {**PING, "design.registers": {"producer": 24, "consumer": 240}}),
        ({"design.consumer_warps": 4}, {"design.consumer_warps": 4, "design.registers": "none"}),
        ({}, {"design.epilogue_n": 32}),
        ({}, {"design.epilogue_n": 32, "design.epilogue_stages": 2}),
    ],
)
def test_two_spellings_are_one_variant(left, right):
    assert folder_name(plan(point(left))) == folder_name(plan(point(right)))


@pytest.mark.parametrize(
    "changes",
    [
        {"design.stages": 5},
        {"design.registers": "none"},
        {"design.registers": {"producer": 24, "consumer": 240}},
        {"design.epilogue_n": 16},
        {"design.epilogue_stages": 1},
        {"design.store": "direct"},
        {"design.scheduler": {"kind": "one_tile"}},
        {"design.scheduler": {"group": 4}},
        {"kernel.epilogue": ["relu"]},
    ],
)
def test_another_choice_is_another_variant_and_says_so(changes):
    usual, other = plan(point()), plan(point(changes))
    assert usual.identity != other.identity
    assert usual.label != other.label


@pytest.mark.parametrize("part", ["family", "arch"])
def test_the_same_numbers_of_another_family_or_arch_are_another_variant(part):
    usual = plan(point())
    other = identified(dataclasses.replace(usual, **{part: "other"}))
    assert usual.identity != other.identity
    assert usual.symbol != other.symbol
