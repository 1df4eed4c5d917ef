"""Which ledger lines bear a variant out: those for it alone, and the worst of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.device.plans import make_plan
from warpwright.pipeline import Exploration, Variant, subject_of
from warpwright.pipeline.evidence_check import check
from warpwright.plan import identified
from warpwright.record import Evidence, Folder, Judgement, LedgerLine, Subject

METHODS = ("built", "emulated")


@pytest.fixture
def variant(tmp_path: Path) -> Variant:
    plan = identified(make_plan())
    return Variant(
        cast(Any, None), plan, Folder(tmp_path), source="x = 1\n", judgement=Judgement("emulated", "correct")
    )


def line(variant: Variant, method: str, status: str = "correct", identity: str = "", source: str = "") -> LedgerLine:
    subject = subject_of(variant)
    subject = Subject(source or subject.source_sha, subject.arch, subject.toolchain)
    return LedgerLine("label", identity or variant.identity, Evidence(method, status, subject, origin="ledger"))


def problems(variant: Variant, *lines: LedgerLine) -> list[tuple[str, str, bool]]:
    exploration = SimpleNamespace(legal=[variant], variants=[variant], label="c", shipped=True)
    report = check(cast(Exploration, exploration), {variant.identity[:8]: list(lines)})
    return [(complaint.method, complaint.problem, complaint.fatal) for complaint in report.complaints]


def test_a_line_of_each_method_is_enough(variant: Variant) -> None:
    assert problems(variant, *(line(variant, method) for method in METHODS)) == []


def test_a_line_of_another_identity_with_the_same_head_is_none(variant: Variant) -> None:
    other = variant.identity[:8] + "".join("0" if digit != "0" else "1" for digit in variant.identity[8:])
    found = problems(variant, *(line(variant, method, identity=other) for method in METHODS))
    assert found == [(method, "missing", True) for method in METHODS]


@pytest.mark.parametrize("order", [1, -1])
def test_the_worst_of_several_valid_lines_counts_and_stale_ones_do_not(variant: Variant, order: int) -> None:
    several = [line(variant, "emulated"), line(variant, "emulated", "hang"), line(variant, "emulated", "degraded")]
    assert problems(variant, line(variant, "built"), *several[::order]) == [("emulated", "recorded as hang", True)]
    stale = [line(variant, "emulated", "hang", source="0" * 64), line(variant, "emulated")]
    assert problems(variant, line(variant, "built"), *stale[::order]) == []


def test_a_variant_that_is_not_correct_here_is_not_borne_out_by_any_line(variant: Variant) -> None:
    variant.judgement = Judgement("built", "incorrect")
    assert problems(variant, *(line(variant, method) for method in METHODS)) == [("", "not correct", True)]
