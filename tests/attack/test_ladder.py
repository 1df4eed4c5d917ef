"""Rungs of one role on random problems, by the hundred: threads that load and rings that fill end where they should."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.families.ladder.small import FORMS
from warpwright.device.problem import Case
from warpwright.emulate.variant import harness
from warpwright.families.products.problems import multiplication

PROBLEMS = 250
FILLS: Sequence[str] = ("integer", "integer", "normal", "nonfinite", "extreme")


@pytest.fixture
def subjects(small_kernels: Callable[[str], Mapping[str, Path]]) -> list[harness.Subject]:
    return [harness.load(folder) for folder in small_kernels("ladder").values()]


def random_case(pick: random.Random, number: int) -> Case:
    """Extents of a few tiles of 64 x 32 x 32, one below and above multiples of what divides them, and anything."""

    def extent(*units: int) -> int:
        if pick.random() < 0.4:
            return pick.randrange(1, 3 * max(units))
        return max(1, pick.choice(units) * pick.randrange(1, 4) + pick.choice((-1, 0, 1)))

    problem = multiplication(
        f"random_{number}",
        extent(1, 8, 16, 64),
        extent(1, 8, 32),
        pick.choice((0, extent(1, 8, 32, 96), extent(8, 32))),
        pick.choice((1, 1, 2, 3)),
        fill=pick.choice(FILLS),  # type: ignore[arg-type]
        padding=pick.choice((0, 0, 1, 5)),
    )
    return Case(problem, 4, pick.choice((0, 1, 2)), (pick.randrange(1000),))


def test_random_problems_are_computed_as_they_should(
    subjects: list[harness.Subject], rng: random.Random, seed: int
) -> None:
    assert len(subjects) == len(FORMS)
    for number in range(PROBLEMS):
        case = random_case(rng, number)
        for subject in subjects:
            if subject.plan.arch != "sm_90a" and number % 5:  # whose tiles have twice the rows
                continue
            prepared = subject.prepare(case)
            (outcome,) = subject.outcomes(prepared, subject.module)
            wrong = [*outcome.findings, *prepared.differences]
            assert outcome.complete
            assert wrong == [], f"ATTACK_SEED={seed}: {subject.plan.label}: {case}"
