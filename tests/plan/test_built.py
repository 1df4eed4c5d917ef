"""The plan against the built kernel, over a seeded sample of the space: shared memory to the byte, and no finding.

Some of the sample, with every choice once at least; tests/attack/test_built.py builds all of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.space import legal_plans
from tests.plan.spanning import CHOICES, check_built, choices_of, spanning
from warpwright.plan.types import Plan

COUNT = 24
SEED = 43


@pytest.fixture(scope="module")
def sample() -> list[Plan]:
    return spanning(legal_plans(SEED, COUNT))


def test_the_sample_spans_the_space(sample: list[Plan]) -> None:
    """Every branch of planner and template is in it; choose another seed when the space changes."""
    assert frozenset().union(*map(choices_of, sample)) == CHOICES
    assert len(sample) < COUNT / 2


@pytest.mark.slow
def test_the_built_kernels_are_what_the_plans_say(sample: list[Plan], tmp_path: Path) -> None:
    check_built(sample, tmp_path)
