"""A case of which some clusters of the grid run: what is due is what the plan gives to them, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warpwright.device.problem import Case
from warpwright.emulate import EmulatorError, parse
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.harness import Subject


@pytest.fixture
def walk(cooperative: Path) -> tuple[Subject, Case]:
    subject = harness.load(cooperative)
    return subject, next(case for case in subject.cases() if case.only)


def test_elements_of_the_clusters_that_run_are_due_and_compared(walk: tuple[Subject, Case]) -> None:
    subject, case = walk
    (outcome,) = subject.outcomes(subject.prepare(case), subject.module)
    assert outcome.clean
    assert outcome.results[0].statistics["clusters"] == len(case.only) == 1
    (agreement,) = outcome.agreements
    extents = case.problem.extents
    assert 0 < agreement.elements < extents["M"] * extents["N"] / 4


def test_what_other_clusters_compute_is_not_theirs_to_write(walk: tuple[Subject, Case]) -> None:
    """Another cluster runs in place of the one that is due: the right numbers, in tiles that are not its own."""
    subject, case = walk
    prepared = subject.prepare(case)
    options = [replace(each, only=((case.only[0] + 1) % case.clusters,)) for each in subject.options_for(case)]
    outcome = prepared.run(subject.module, 1, options)
    assert [finding.kind for finding in outcome.findings] == ["unwritten"]
    assert "by the plan" in outcome.findings[0].message


def test_a_wrong_number_is_told_by_its_place_in_the_whole_output(walk: tuple[Subject, Case]) -> None:
    subject, case = walk
    prepared = subject.prepare(case)
    module = parse(subject.ptx.replace("p, 1,  1,", "p, -1,  1,"))  # A is negated
    (outcome, *_) = subject.outcomes(prepared, module)
    (extents, boxes) = (case.problem.extents, [part.modes for part in prepared.parts])
    assert {finding.kind for finding in outcome.findings} == {"wrong-result"}
    assert len(outcome.findings) == len(boxes)
    last = max(boxes, key=lambda box: (box["L"].start, box["M"].start, box["N"].start))
    assert any(
        f"d[{last['L'].start}, {last['M'].start}, {last['N'].start}" in finding.message for finding in outcome.findings
    ), extents


def test_a_cluster_that_the_grid_does_not_have_is_an_error(walk: tuple[Subject, Case]) -> None:
    subject, case = walk
    prepared = subject.prepare(case)
    with pytest.raises(EmulatorError, match=r"only \[999999999\]: the grid has \d+ clusters"):
        prepared.run(subject.module, 1, subject.options_for(replace(case, only=(0, 999999999))))
