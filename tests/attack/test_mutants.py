"""Every mutant of every small kernel: it is caught, or it is known why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.mutants import ATTACKED, missed, survivors
from warpwright.emulate.mutants.trials import mutants_of
from warpwright.emulate.variant import harness


@pytest.mark.parametrize(("family", "form"), [(family, form) for family, forms in ATTACKED.items() for form in forms])
def test_each_mutant_is_caught_or_has_a_reason_not_to_be(
    family: str, form: str, small_kernels: Callable[[str], Mapping[str, Path]]
) -> None:
    subject = harness.load(small_kernels(family)[form])
    assert sorted(missed(subject, mutants_of(subject))) == sorted(survivors(family, form, subject.plan.label))
