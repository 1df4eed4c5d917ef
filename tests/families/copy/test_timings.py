"""A copy's predicted times against the times that are committed: of designs that were explored, and of the ledger."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

import pytest

from tests.families.copy.points import legal
from tests.families.timings import Timing, fit, of_the_ledger, of_the_raw_file
from warpwright.families.copy.sm_90a import prediction
from warpwright.plan.types import Plan

LABEL = re.compile(
    r"(?P<x>\w+?)(\.(?P<y>\w+))?-(?P<k>\d+)k-s(?P<stages>\d+)-c(?P<warps>\d+)-x(?P<ctas>\d+)-(?P<store>direct|tma)(-p\d+)?"
)


def from_label(label: str) -> Plan:
    found = LABEL.fullmatch(label)
    assert found, label
    number = {name: int(found[name]) for name in ("k", "stages", "warps", "ctas")}
    return legal(
        found["x"],
        found["y"] or found["x"],
        stage_bytes=1024 * number["k"],
        stages=number["stages"],
        consumer_warps=number["warps"],
        ctas_per_sm=number["ctas"],
        store=found["store"],
    )


@functools.cache
def explored() -> dict[str, list[Timing]]:
    found: dict[str, list[Timing]] = {}
    for name in ("copy_explored-1.jsonl", "copy_explored-2.jsonl"):
        for timing in of_the_raw_file(name, from_label):
            found.setdefault(timing.problem, []).append(timing)
    return found


@functools.cache
def shipped() -> dict[str, list[Timing]]:
    return of_the_ledger("copy")


LARGE, SMALL = '{"n": 268435456}', '{"n": 16777216}'
#: Limits: rank correlation, typical factor, smallest and largest predicted over measured. What was explored never
#: changes; the times of the ledger are measured anew now and then, which moves a time by 3 %.
EXPLORED = {LARGE: (0.9, 1.015, 0.92, 1.08), SMALL: (0.85, 1.06, 0.89, 1.01)}
SHIPPED = {LARGE: (0.7, 1.03, 0.92, 1.1), SMALL: (0.7, 1.08, 0.83, 1.03)}


def test_what_was_explored_is_predicted_nearly_and_ranks_alike() -> None:
    fits = {problem: fit(timings) for problem, timings in explored().items()}
    assert {problem: found.count for problem, found in fits.items()} == {LARGE: 108, SMALL: 52}
    for problem, limits in EXPLORED.items():
        assert fits[problem].within(*limits), (problem, fits[problem])


def test_what_the_ledger_holds_is_predicted_nearly_and_ranks_alike() -> None:
    fits = {problem: fit(timings) for problem, timings in shipped().items()}
    for problem, limits in SHIPPED.items():
        assert fits[problem].count >= 20
        assert fits[problem].within(*limits), (problem, fits[problem])


@pytest.mark.parametrize("factor", [0.1, 0.9, 1.1])
@pytest.mark.parametrize("constant", ["LOAD_LATENCY", "LOADED_RATE"])
def test_a_wrong_constant_shows(monkeypatch: pytest.MonkeyPatch, constant: str, factor: float) -> None:
    monkeypatch.setattr(prediction, constant, factor * getattr(prediction, constant))
    assert not fit(explored()[LARGE]).within(*EXPLORED[LARGE])


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_a_wrong_rate_of_dram_shows(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    device = prediction.H200
    wrong = replace(device, dram_bytes_per_second=factor * device.dram_bytes_per_second)
    monkeypatch.setattr(prediction.predict, "__defaults__", (wrong,))
    assert not fit(explored()[LARGE]).within(*EXPLORED[LARGE])


@pytest.mark.parametrize("seconds", [0.0, 5e-6])
def test_a_wrong_time_to_launch_shows(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    wrong = replace(prediction.H200, launch_seconds=seconds)
    monkeypatch.setattr(prediction.predict, "__defaults__", (wrong,))
    assert not fit(explored()[SMALL]).within(*EXPLORED[SMALL])
