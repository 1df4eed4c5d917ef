"""Built GEMMs for sm_100a, one of each form: they pass every case, and take every way that there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.emulate.small_tensor import FORMS
from warpwright.emulate.variant import harness

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_correct(form: str, small_kernels: Callable[[str], Mapping[str, Path]]) -> None:
    folder = small_kernels("gemm_sm100a")[form]
    verdict = harness.emulate(harness.load(folder))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
    # A CTA without any tile is not launched: the loop of each role begins.
    missed = [branch["what"] for branch in verdict.figures["coverage"]["missed"]]
    assert missed == ["this branch is never taken"] * len(missed)
    assert len(missed) <= 4
    assert 0 < verdict.figures["ratio"] <= 1
