"""The ledger keeps every line until a newer one supersedes it, and is read as strictly as it is written."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.record.figures import FIGURES, GPU
from warpwright.protocols import current
from warpwright.record import METHODS, Evidence, LedgerError, LedgerLine, Subject, merge, read_ledger, write_ledger

TOOLCHAIN = {"cutlass_dsl": "4.8.1", "dsl_libs": "cu12 4.8.1"}


def line(label: str, identity: str, method: str = "built", sha: str = "a", registers: int = 168) -> LedgerLine:
    subject = Subject(sha * 64, "sm_90a", TOOLCHAIN, "c" * 64)
    on_gpu = method in ("compared", "gpu-validated", "benchmarked")
    judged = method in ("emulated", "compared", "gpu-validated")
    evidence = Evidence(
        method,
        "correct",
        subject,
        {**FIGURES[method, "correct"], **({"registers": registers} if method == "built" else {})},
        GPU if on_gpu else {},
        "ledger",
        protocol=None if method == "built" else current(method),
        judged_by="e" * 16 if judged else "",
    )
    return LedgerLine(label, identity * 12, evidence)


OLD = [line("t128", "1"), line("t128", "1", "gpu-validated"), line("t64", "2"), line("t64", "2", "gpu-validated")]


def test_round_trip_is_sorted_and_independent_of_order(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.jsonl" for i in range(5)]
    for i, path in enumerate(paths):
        write_ledger(path, random.Random(i).sample(OLD, len(OLD)))
    assert len({path.read_bytes() for path in paths}) == 1
    assert read_ledger(paths[0]) == sorted(OLD, key=lambda each: each.key)


def test_toolchains_and_gpus_stand_once(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_ledger(path, OLD)
    values = [json.loads(text) for text in path.read_text().splitlines()]
    assert [value.get("table") for value in values] == ["gpu", "toolchain", None, None, None, None]
    assert [value["gpu"] for value in values[:1]] == [GPU]
    assert {value["toolchain"] for value in values[2:]} == {values[1]["id"]}
    assert path.read_text().count('"cutlass_dsl"') == 1


def test_every_method_makes_the_round_trip(tmp_path: Path) -> None:
    lines = [line("t", "3", method) for method in METHODS]
    write_ledger(tmp_path / "x.jsonl", lines)
    assert read_ledger(tmp_path / "x.jsonl") == lines


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
    ["<<<<<<< HEAD", "{}", "[]", '"x"', "null", "NaN", '{"label": "a"', "[" * 100_000, '{"label": "a", "label": "a"}'],
)
def test_a_line_that_is_no_evidence_names_file_and_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.jsonl"
    write_ledger(path, OLD[:1])
    path.write_text(path.read_text() + text + "\n")
    with pytest.raises(LedgerError, match=r"x\.jsonl:3: not a line of evidence: .* remove it and renew it") as error:
        read_ledger(path)
    assert len(str(error.value)) < 400


#: Field, what it is made to be (None: nothing), and what the error says of it.
WRONG: list[tuple[str, Any, str]] = [
    ("status", "", "status is ''"),
    ("status", None, "status is None"),
    ("status", False, "status is False"),
    ("status", 0, "status is 0"),
    ("status", "Correct", "status is 'Correct'"),
    ("method", "guessed", "method is 'guessed'"),
    ("method", "emulated", "may not have"),
    ("label", "", "label is ''"),
    ("identity", "xyz", "identity is 'xyz'"),
    ("identity", "1" * 11, "identity"),
    ("source_sha", "a" * 63, "source_sha"),
    ("source_sha", 7, "source_sha is 7"),
    ("cubin_sha", None, "lacks cubin_sha"),
    ("cubin_sha", "", "cubin_sha is ''"),
    ("arch", None, "lacks arch"),
    ("toolchain", None, "lacks toolchain"),
    ("toolchain", "00000000", "no table above"),
    ("toolchain", {"cutlass_dsl": "4.8.1"}, "no table above"),
    ("figures", None, "lacks figures"),
    ("figures", {}, "something in it"),
    ("figures", [], "something in it"),
    ("protocol", None, "lacks protocol"),
    ("protocol", 0, "protocol is 0"),
    ("protocol", 99, "protocol is 99"),
    ("protocol", 10**9, "protocol is 1000000000"),
    ("protocol", True, "protocol is True"),
    ("protocol", 1.0, "protocol is 1.0"),
    ("judged_by", None, "lacks judged_by"),
    ("judged_by", "x", "judged_by is 'x'"),
    ("gpu", None, "lacks gpu"),
    ("gpu", "ffffffff", "no table above"),
    ("diagnosis", "all is well", "may not have diagnosis"),
    ("note", "trust me", "may not have note"),
]


@pytest.mark.parametrize(("field", "value", "says"), WRONG)
def test_a_field_that_is_not_what_it_must_be(tmp_path: Path, field: str, value: Any, says: str) -> None:
    path = tmp_path / "x.jsonl"
    write_ledger(path, [line("t128", "1", "gpu-validated")])
    *tables, last = path.read_text().splitlines()
    changed = {**json.loads(last), field: value}
    # null is one of the values of `status` that once passed; elsewhere None leaves the field out.
    changed = {name: each for name, each in changed.items() if each is not None or name == "status"}
    path.write_text("\n".join([*tables, json.dumps(changed)]) + "\n")
    with pytest.raises(LedgerError) as error:
        read_ledger(path)
    assert "x.jsonl:3: " in str(error.value)
    assert says in str(error.value)


@pytest.mark.parametrize("status", ["degraded", "correct"])
def test_of_two_lines_for_one_variant_and_method_none_is_believed(tmp_path: Path, status: str) -> None:
    """As a merge of two branches leaves them: whichever came first would hide the other."""
    path = tmp_path / "x.jsonl"
    write_ledger(path, [line("t128", "1")])
    second = {**json.loads(path.read_text().splitlines()[-1]), "status": status, "figures": FIGURES["built", status]}
    path.write_text(path.read_text() + json.dumps(second) + "\n")
    with pytest.raises(LedgerError, match=r"x\.jsonl:3: .* a second built line of t128-11111111, the first is .*:2"):
        read_ledger(path)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"table": "toolchain", "id": "00000000", "toolchain": TOOLCHAIN}, "its content is that of"),
        ({"table": "gpu", "id": "00000000", "gpu": []}, "a table line has"),
        ({"table": "gpus", "id": "00000000", "gpus": {}}, "a table line has"),
        ({"table": "gpu", "gpu": GPU}, "a table line has"),
        ({"table": "gpu", "id": "00000000", "gpu": GPU, "more": 1}, "a table line has"),
    ],
)
def test_a_table_is_what_its_id_says(tmp_path: Path, table: dict[str, Any], says: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(table) + "\n")
    with pytest.raises(LedgerError, match=says):
        read_ledger(path)


def test_numbers_beyond_their_range_are_no_figures(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    write_ledger(path, OLD[:1])
    text = path.read_text()
    assert "168" in text
    for number in ("1e400", "NaN", "-Infinity"):
        path.write_text(text.replace("168", number))
        with pytest.raises(LedgerError, match=number):
            read_ledger(path)
