"""What is said where nobody has run or measured anything, and that it is not said elsewhere."""

from __future__ import annotations

import dataclasses

import pytest

from warpwright import archs
from warpwright.archs import B200, H200, device
from warpwright.cli.untried import predicted_for, run_by_none
from warpwright.record import Evidence, Judgement, Subject


def judged(*methods: str) -> Judgement:
    subject = Subject("", "sm_100a", {})
    return Judgement("", "correct", valid=tuple(Evidence(method, "correct", subject) for method in methods))


def test_predictions_say_what_stands_in_for_measurements() -> None:
    told = "NVIDIA B200 (by a model of others' figures: no such GPU has run a kernel of this project)"
    assert predicted_for(["sm_90a"]) == "NVIDIA H200"
    assert predicted_for(["sm_100a", "sm_100a"]) == told
    assert predicted_for(["sm_90a", "sm_100a"]) == f"{told} and NVIDIA H200"


def test_a_gpu_that_was_measured_is_told_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (device("sm_90a"), H200.hearsay) == (H200, "")
    monkeypatch.setitem(archs._DEVICES, "sm_100a", dataclasses.replace(B200, hearsay=""))
    assert predicted_for(["sm_100a"]) == "NVIDIA B200"


def test_what_no_gpu_has_run_is_told_for_each_target() -> None:
    said = "no GPU has run any of these variants for {}; one of compute capability {} can"
    built, ran = judged("built", "emulated"), judged("built", "gpu-validated")
    assert run_by_none([("sm_100a", built), ("sm_100a", built)]) == [said.format("sm_100a", "10.0")]
    assert run_by_none([("sm_90a", built), ("sm_100a", built), ("sm_90a", ran)]) == [said.format("sm_100a", "10.0")]
    assert run_by_none([("sm_90a", ran)]) == []
    assert run_by_none([("sm_100a", judged())]) == []  # nothing is built, and so nothing is asked of a GPU yet
    assert run_by_none([("sm_100a", judged("built", "compared"))]) == []
