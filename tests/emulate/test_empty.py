"""A problem in which there is nothing to do: nothing is launched, and that is right."""

from __future__ import annotations

import re
from pathlib import Path

from warpwright.device.problem import Case
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.check_plan import Seen
from warpwright.families.products.problems import multiplication


def test_nothing_is_launched_and_nothing_is_missed(cooperative: Path) -> None:
    subject = harness.load(cooperative)
    case = Case(multiplication("m_zero", 0, 32, 64), 1, 1, (1, 2))
    seen = Seen.of(subject.plan)
    outcomes = list(subject.outcomes(subject.prepare(case), subject.module))
    assert [(o.results, o.findings, o.complete) for o in outcomes] == [((), (), True)] * 2
    assert [agreement.elements for outcome in outcomes for agreement in outcome.agreements] == [0, 0]
    for outcome in outcomes:
        subject.note(seen, case, outcome)
    assert (seen.kernels[0].mbarriers, seen.kernels[0].boxes) == ({}, {})


def test_a_launch_too_many_or_too_few_is_named(cooperative: Path) -> None:
    subject = harness.load(cooperative)
    full = Case(multiplication("some", 64, 32, 64), 1, 1, (1,))
    launches = subject.host(subject.prepare(full).operands.values(subject.plan, 1))
    subject.host = lambda values: ()  # type: ignore[assignment]
    (finding,) = subject.prepare(full).findings
    assert re.search(r"the host function launches nothing, the plan has .*gemm_kernel", finding.message)
    subject.host = lambda values: launches  # type: ignore[assignment]
    (finding,) = subject.prepare(Case(multiplication("none", 64, 0, 64), 1, 1, (1,))).findings
    assert re.search(r"the host function launches .*, the plan has nothing to do", finding.message)
