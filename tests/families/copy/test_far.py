"""Copies of more elements than 32 bits count: a few chunks run, and offsets computed in 32 bits show."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.build import BuildJob, build
from warpwright.device.problem import Case
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.case import Outcome
from warpwright.emulate.variant.harness import Subject

pytestmark = pytest.mark.slow

#: Each computes where a chunk begins.
FIRST = "Int64(chunk) * STAGE_ELEMENTS"
PLANTED = {
    "elements": "Int64(Int32(chunk) * STAGE_ELEMENTS)",
    "without a sign": "Int64(cutlass.Uint32(chunk) * cutlass.Uint32(STAGE_ELEMENTS))",
}


def far(subject: Subject) -> tuple[Case, Outcome]:
    (case,) = (case for case in subject.cases() if case.problem.name == "far")
    (outcome,) = subject.outcomes(subject.prepare(case), subject.module)
    return case, outcome


def test_a_right_copy_is_right_far_away(built: Path) -> None:
    subject = harness.load(built)
    case, outcome = far(subject)
    size = subject.plan.design.stage_elements
    first = [cta * size for cta in case.only]
    assert first[0] == 0
    assert 2**31 < 2**32 - first[1] < 3 * 2**30  # what is left from there on: 32 bits with a sign do not hold it
    assert 2**31 <= first[2] < 2**31 + 2 * size
    assert 2**32 <= first[3] < first[4] < 2**32 + 3 * size
    assert (outcome.findings, outcome.complete) == ((), True)
    assert outcome.agreements[0].elements == 4 * size + case.problem.extents["N"] - first[4]


@pytest.mark.parametrize("fault", PLANTED)
def test_offsets_computed_in_32_bits_are_found(built: Path, tmp_path: Path, fault: str) -> None:
    source = (built / "kernel.py").read_text()
    assert source.count(FIRST) == 2  # for the producer and for the consumers
    folder = tmp_path / "planted"
    (artifact,) = build([BuildJob(source.replace(FIRST, PLANTED[fault]), harness.load(built).plan, folder)])
    assert artifact.built, artifact.failure
    (folder / "plan.json").write_text((built / "plan.json").read_text())
    _, outcome = far(harness.load(folder))
    assert {finding.kind for finding in outcome.findings} & {"global-bounds", "unwritten", "written-twice"}
