"""The ledger keeps every line until a newer one supersedes it, and equal evidence gives equal bytes."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from warpwright.record import Evidence, LedgerError, LedgerLine, Subject, merge, read_ledger, write_ledger


def line(label: str, identity: str, method: str = "built", sha: str = "a", registers: int = 168) -> LedgerLine:
    subject = Subject(sha * 64, "sm_90a", {"cutlass_dsl": "4.8.1"})
    return LedgerLine(
        label, identity * 12, Evidence(method, "correct", subject, {"registers": registers}, {}, "ledger")
    )


OLD = [line("t128", "1"), line("t128", "1", "gpu-validated"), line("t64", "2"), line("t64", "2", "gpu-validated")]


def test_round_trip_is_sorted_and_independent_of_order(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.jsonl" for i in range(5)]
    for i, path in enumerate(paths):
        write_ledger(path, random.Random(i).sample(OLD, len(OLD)))
    assert len({path.read_bytes() for path in paths}) == 1
    assert read_ledger(paths[0]) == sorted(OLD, key=lambda each: each.key)


def test_a_changed_variant_changes_its_own_lines_only(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    write_ledger(before, OLD)
    write_ledger(after, merge(OLD, [line("t64", "2", sha="b", registers=160)], ["1" * 12, "2" * 12]))
    changed = set(before.read_text().splitlines()) ^ set(after.read_text().splitlines())
    assert len(changed) == 2
    assert all('"identity": "222222222222"' in text and '"method": "built"' in text for text in changed)


def test_renewing_one_method_keeps_the_others() -> None:
    merged = merge(OLD, [line("t64", "2", sha="b")], ["1" * 12, "2" * 12])
    assert [(each.label, each.evidence.method, each.evidence.subject.source_sha[0]) for each in merged] == [
        ("t128", "built", "a"),
        ("t128", "gpu-validated", "a"),
        ("t64", "built", "b"),
        ("t64", "gpu-validated", "a"),
    ]


def test_a_changed_plan_supersedes_by_label_and_method_only() -> None:
    # t64 has a new identity, 3, and only its build was renewed: the old device result is all that is known.
    merged = merge(OLD, [line("t64", "3")], ["1" * 12, "3" * 12])
    assert [(each.identity[0], each.evidence.method) for each in merged if each.label == "t64"] == [
        ("2", "gpu-validated"),
        ("3", "built"),
    ]


def test_nothing_renewed_drops_nothing() -> None:
    assert merge(OLD, [], []) == sorted(OLD, key=lambda each: each.key)


def test_two_variants_of_one_label_live_side_by_side() -> None:
    merged = merge([line("t64", "2")], [line("t64", "3")], ["2" * 12, "3" * 12])
    assert [each.identity[0] for each in merged] == ["2", "3"]


def test_no_file_is_no_evidence(tmp_path: Path) -> None:
    assert read_ledger(tmp_path / "absent.jsonl") == []


@pytest.mark.parametrize(
    "text",
    ["<<<<<<< HEAD", "{}", "[]", '"x"', '{"label": "a", "identity": "b", "method": "guessed", "status": "correct"}'],
)
def test_a_line_that_is_no_evidence_names_file_and_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(OLD[0].text() + "\n" + text + "\n")
    with pytest.raises(LedgerError, match=r"x\.jsonl:2: not a line of evidence"):
        read_ledger(path)
