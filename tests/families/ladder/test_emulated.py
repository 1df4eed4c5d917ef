"""Built rungs of one role on the emulator: right ones pass every case, and what is taken out of them is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.emulate.mutants.trials import mutants_of, read_reasons, trials
from warpwright.emulate.variant import harness

pytestmark = pytest.mark.slow


def test_a_right_kernel_is_correct(built: Path) -> None:
    verdict = harness.emulate(harness.load(built))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
    assert 0 < verdict.figures["ratio"] <= 1
    guards = {f"guards_{at}" for at in range(8)}
    assert guards <= set(verdict.figures["problems"]) or "tma" in built.name or "ring" in built.name


@pytest.mark.parametrize("built", [2, 4], indirect=True)
def test_each_mutant_is_caught_or_has_a_reason_not_to_be(built: Path) -> None:
    """Of threads that load, and of a ring: the first rung and the third have nothing that these have not."""
    subject = harness.load(built)
    survivors = [trial.mutant.name for trial in trials(subject, mutants_of(subject)) if trial.survived]
    assert sorted(survivors) == sorted(read_reasons(Path(__file__).with_name("mutants"), subject.plan.label))
