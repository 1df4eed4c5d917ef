"""Which ledger lines bear a variant out: those for it alone, judged by the code at hand, that say what is seen here."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.device.plans import make_plan
from warpwright.canonical import digest
from warpwright.pipeline import Exploration, Variant, evidence_check, subject_of
from warpwright.pipeline.committed import line_of
from warpwright.pipeline.evidence_check import Report, check, renewal
from warpwright.plan import identified
from warpwright.record import Evidence, Folder, Judgement, LedgerLine, Subject, write_json

METHODS = ("built", "emulated")
FIGURES: dict[str, Any] = {
    "gpu-validated": {"asked": "standard", "problems": 20, "repeats": 3},
    "benchmarked": {"problems": [{"problem": {"m": 64}}, {"problem": {"m": 4096}}]},
    "built": {"registers": 168, "spill_bytes": 0, "seconds": 1.5},
    "emulated": {
        "runs": 9,
        "ratio": 0.0041,
        "relative": 6.2e-8,
        "coverage": {"taken": 127, "total": 128},
        "defects": [],
    },
}


def result(variant: Variant, method: str, status: str = "correct", origin: str = "here", source: str = "") -> Evidence:
    subject = subject_of(variant)
    standard = subject.standards.get(method)
    of = Subject(source or subject.source_sha, subject.arch, subject.toolchain, "c" * 64)
    protocol, code = (standard.protocol, standard.code) if standard else (None, "")
    figures = copy.deepcopy(FIGURES[method])
    return Evidence(method, status, of, figures, {}, origin, protocol=protocol, judged_by=code)


@pytest.fixture
def variant(tmp_path: Path) -> Variant:
    plan = identified(make_plan())
    variant = Variant(cast(Any, None), plan, Folder(tmp_path / "label-00000000"), source="x = 1\n")
    variant.judgement = Judgement("emulated", "correct", valid=tuple(result(variant, each) for each in METHODS))
    return variant


def line(variant: Variant, method: str, status: str = "correct", identity: str = "", source: str = "") -> LedgerLine:
    told = line_of(variant, result(variant, method, status, "ledger", source))
    return dataclasses.replace(told, identity=identity or variant.identity, place="x.jsonl:7")


def report(
    variant: Variant,
    *lines: LedgerLine,
    evidence: tuple[str, ...] = (),
    others: tuple[LedgerLine, ...] = (),
    runs: Mapping[str, Any] = {},
) -> Report:
    asked = {"validate": {"problems": "standard", "repeats": 3}, "bench": {"problems": [{"m": 4096}]}}
    spec = SimpleNamespace(name="mine", evidence=evidence, **asked)
    exploration = SimpleNamespace(legal=[variant], variants=[variant], label="c", shipped=True, spec=spec)
    return check(cast(Exploration, exploration), {"mine": list(lines), "others": list(others)}, (), runs)


def problems(variant: Variant, *lines: LedgerLine, **more: Any) -> list[tuple[str, str, bool]]:
    return [(each.method, each.problem, each.fatal) for each in report(variant, *lines, **more).complaints]


def test_a_line_of_each_method_is_enough(variant: Variant) -> None:
    assert problems(variant, *(line(variant, method) for method in METHODS)) == []
    assert problems(variant, others=tuple(line(variant, method) for method in METHODS)) == []


def test_a_line_of_another_identity_with_the_same_head_is_none(variant: Variant) -> None:
    other = variant.identity[:8] + "".join("0" if digit != "0" else "1" for digit in variant.identity[8:])
    found = problems(variant, others=tuple(line(variant, method, identity=other) for method in METHODS))
    assert found == [(method, "missing", True) for method in METHODS]


@pytest.mark.parametrize("order", [1, -1])
def test_the_worst_of_several_valid_lines_counts_and_stale_ones_do_not(variant: Variant, order: int) -> None:
    several = [line(variant, "emulated"), line(variant, "emulated", "hang"), line(variant, "emulated", "degraded")]
    assert problems(variant, line(variant, "built"), *several[::order]) == [("emulated", "recorded as hang", True)]
    stale = [line(variant, "emulated", "hang", source="0" * 64), line(variant, "emulated")]
    assert problems(variant, line(variant, "built"), *stale[::order]) == []


def test_a_variant_that_is_not_correct_here_is_not_borne_out_by_any_line(variant: Variant) -> None:
    variant.judgement = dataclasses.replace(variant.judgement, status="incorrect")
    assert problems(variant, *(line(variant, method) for method in METHODS)) == [("", "not correct", True)]


@pytest.mark.parametrize("method", METHODS)
def test_what_was_not_obtained_here_is_not_believed(variant: Variant, method: str) -> None:
    """The ledger alone made the status `correct`."""
    told = [dataclasses.replace(e, origin="ledger") if e.method == method else e for e in variant.judgement.valid]
    variant.judgement = dataclasses.replace(variant.judgement, valid=tuple(told))
    assert problems(variant, *(line(variant, each) for each in METHODS)) == [("", f"not {method} here", True)]


FORGED: list[tuple[str, str, Any]] = [
    ("built", "registers", 128),
    ("built", "registers", 168.0),
    ("built", "spill_bytes", None),
    ("built", "more", 1),
    ("emulated", "runs", 8),
    ("emulated", "ratio", 0.5),
    ("emulated", "ratio", "0.0041"),
    ("emulated", "relative", True),
    ("emulated", "coverage", {"taken": 128, "total": 128}),
    ("emulated", "coverage", {}),
    ("emulated", "defects", [{}]),
]


@pytest.mark.parametrize(("method", "figure", "value"), FORGED)
def test_figures_that_contradict_what_was_obtained_here(variant: Variant, method: str, figure: str, value: Any) -> None:
    lines = {each: line(variant, each) for each in METHODS}
    figures: Any = lines[method].evidence.figures
    figures[figure] = value
    if value is None:
        del figures[figure]
    told = report(variant, *lines.values())
    (complaint,) = told.complaints
    assert (complaint.method, complaint.problem, complaint.fatal) == (method, "not what was obtained here", True)
    assert f"it says {figure}" in complaint.example
    assert complaint.example.endswith("(x.jsonl:7)")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("method", METHODS)
def test_one_ledger_that_contradicts_is_not_hidden_by_another_that_does_not(
    variant: Variant, method: str, order: int
) -> None:
    """Two configurations have the variant, and one of their ledgers says what nobody obtained."""
    figure = {"built": "registers", "emulated": "runs"}[method]
    forged = line(variant, method)
    figures: Any = forged.evidence.figures
    figures[figure] += 1
    lines = [forged, line(variant, method)][::order]
    rest = [line(variant, each) for each in METHODS if each != method]
    (complaint,) = report(variant, *rest, lines[0], others=(lines[1],)).complaints
    assert (complaint.method, complaint.problem, complaint.fatal) == (method, "not what was obtained here", True)
    assert f"it says {figure}" in complaint.example


def test_sums_of_another_machine_may_differ_in_their_last_digits(variant: Variant) -> None:
    lines = {each: line(variant, each) for each in METHODS}
    figures: Any = lines["emulated"].evidence.figures
    figures["ratio"] = 0.0042
    assert problems(variant, *lines.values()) == []


@pytest.mark.parametrize("figure", ["ratio", "relative"])
@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_sums_of_another_machine_differ_by_a_quarter_of_themselves_at_most(
    variant: Variant, figure: str, factor: float
) -> None:
    """Figures far below 1 are held to their own size: 0.0041 is not 0.0057, nor 6.2e-8 0.2."""
    for value in (FIGURES["emulated"][figure] * factor, 0.2):
        lines = {each: line(variant, each) for each in METHODS}
        figures: Any = lines["emulated"].evidence.figures
        figures[figure] = value
        assert problems(variant, *lines.values()) == [("emulated", "not what was obtained here", True)], value


def test_a_label_that_is_another_variants(variant: Variant) -> None:
    lines = [dataclasses.replace(line(variant, method), label="another") for method in METHODS]
    assert [problem for _, problem, _ in problems(variant, *lines)] == ["not what was obtained here"] * 2


def test_lines_without_a_variant_are_named_and_fatal(variant: Variant) -> None:
    former = [line(variant, "gpu-validated", identity="0" * 12), line(variant, "built", identity="0" * 12)]
    told = report(variant, *(line(variant, method) for method in METHODS), *former)
    found = {each.method: each for each in told.complaints}
    assert set(found) >= {"gpu-validated", "built"}
    assert "no variant" in found["built"].problem
    assert found["built"].fatal
    assert "ledger c --prune" in renewal("c", found["built"])
    assert problems(variant, *(line(variant, m) for m in METHODS), others=(former[1],)) == []  # another's business


@pytest.fixture
def founded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a GPU have runs that come to them."""
    monkeypatch.setattr(evidence_check, "unfounded", lambda variant, line, runs: "")


@pytest.mark.usefixtures("founded")
@pytest.mark.parametrize(
    ("method", "figures", "says"),
    [
        (
            "gpu-validated",
            {"asked": [{"m": 64}]},
            "validated on [{'m': 64}] problems, and these are asked for: standard",
        ),
        ("gpu-validated", {}, "validated on None problems"),
        (
            "gpu-validated",
            {"asked": "standard", "repeats": 2},
            "each problem was launched 2 times, and 3 are asked for",
        ),
        ("benchmarked", {"problems": [{"problem": {"m": 64}}]}, "these problems were not timed: [{'m': 4096}]"),
    ],
)
def test_a_line_covers_what_the_configuration_asks(
    variant: Variant, method: str, figures: dict[str, Any], says: str
) -> None:
    lines = [line(variant, each) for each in (*METHODS, method)]
    assert problems(variant, *lines) == []
    lines[-1] = dataclasses.replace(lines[-1], evidence=dataclasses.replace(lines[-1].evidence, figures=figures))
    (complaint,) = report(variant, *lines).complaints
    assert (complaint.problem, complaint.fatal) == ("not for what the configuration asks", True)
    assert says in complaint.example


@pytest.mark.usefixtures("founded")
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("method", "figures"),
    [
        ("gpu-validated", {"asked": [{"m": 64}], "problems": 2}),
        ("benchmarked", {"problems": [{"problem": {"m": 64}}]}),
    ],
)
def test_one_ledger_that_covers_what_is_asked_will_do(
    variant: Variant, method: str, figures: dict[str, Any], order: int
) -> None:
    """Another configuration has the variant too, and asks for less."""
    whole = line(variant, method)
    part = dataclasses.replace(whole, evidence=dataclasses.replace(whole.evidence, figures=figures))
    one, other = [whole, part][::order]
    rest = [line(variant, each) for each in METHODS]
    assert problems(variant, *rest, one, others=(other,)) == []


@pytest.mark.parametrize("order", [1, -1])
def test_one_line_without_runs_is_not_hidden_by_another_that_has_them(
    variant: Variant, monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    bare = dataclasses.replace(line(variant, "gpu-validated"), place="bare.jsonl:3")
    monkeypatch.setattr(
        evidence_check, "unfounded", lambda _, told, runs: "" if told.place != bare.place else f"none ({told.place})"
    )
    one, other = [bare, line(variant, "gpu-validated")][::order]
    rest = [line(variant, each) for each in METHODS]
    (complaint,) = report(variant, *rest, one, others=(other,)).complaints
    assert (complaint.problem, complaint.fatal) == ("not what its runs say", True)
    assert complaint.example == "none (bare.jsonl:3)"


def test_a_line_of_a_gpu_without_runs_is_no_evidence(variant: Variant) -> None:
    lines = [line(variant, each) for each in (*METHODS, "gpu-validated")]
    (complaint,) = report(variant, *lines).complaints
    assert (complaint.method, complaint.problem, complaint.fatal) == ("gpu-validated", "not what its runs say", True)
    assert "no run of it" in complaint.example


def test_each_ledger_has_runs_of_its_own(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two configurations share a variant, and each was validated: what one's runs come to is no matter of the other."""
    asked: list[tuple[str, Any]] = []

    def unfounded(variant: Variant, line: LedgerLine, runs: Any) -> str:
        asked.append((line.ledger, runs))
        return ""

    monkeypatch.setattr(evidence_check, "unfounded", unfounded)
    runs = {name: {(variant.name, "gpu-validated"): [name]} for name in ("mine", "others")}
    mine, theirs = (
        dataclasses.replace(
            line(variant, "gpu-validated"), label=variant.folder.label, place=f"out/ledger/{name}.jsonl:4"
        )
        for name in runs
    )
    mine = dataclasses.replace(mine, identity=variant.identity)
    told = report(variant, *(line(variant, method) for method in METHODS), mine, others=(theirs,), runs=runs)
    assert [name for name, _ in asked] == ["mine", "others"]
    assert [each for _, each in asked] == [runs["mine"], runs["others"]]
    assert all(complaint.problem.startswith("of runs") for complaint in told.complaints)


@pytest.mark.usefixtures("founded")
def test_a_run_that_no_line_tells_of_is_named(variant: Variant) -> None:
    """Who takes a line away, since its runs found a hang, leaves the runs."""
    lines = [line(variant, method) for method in (*METHODS, "gpu-validated")]
    name = lines[0].variant
    runs = {"mine": {(name, "gpu-validated"): [{}]}, "others": {("of another", "compared"): [{}]}}
    assert problems(variant, *lines, runs=runs) == []
    (complaint,) = report(variant, *lines[:2], runs=runs).complaints
    assert (complaint.method, complaint.variants, complaint.fatal) == ("gpu-validated", (name,), True)
    assert "of runs in out/ledger/raw/ that no line of the ledger tells of" in str(complaint)


@pytest.mark.parametrize("tools", [{"blessed": "by the vendor"}, {"gcc": None}])
def test_a_toolchain_names_the_tools_of_a_build_and_no_other(variant: Variant, tools: dict[str, Any]) -> None:
    lines = [line(variant, method) for method in METHODS]
    subject = lines[0].evidence.subject
    named = {key: value for key, value in {**subject.toolchain, **tools}.items() if value}
    lines[0] = dataclasses.replace(
        lines[0],
        evidence=dataclasses.replace(lines[0].evidence, subject=dataclasses.replace(subject, toolchain=named)),
    )
    (complaint,) = report(variant, *lines).complaints
    assert (complaint.method, complaint.problem) == ("built", "not what was obtained here")
    assert f"differ in what they name: {next(iter(tools))} (x.jsonl:7)" in complaint.example


@pytest.mark.parametrize("text", ["mov.u32 %r1, %smid;", "mov.u64 %rd1, %globaltimer;", "mov.u64 %rd2,%clock64;"])
def test_a_kernel_that_can_tell_the_emulator_from_a_gpu_is_not_checked_by_it(variant: Variant, text: str) -> None:
    folder, harmless = variant.folder.path, "mov.u32 %r1, %tid.x; mov.u32 %clocks, %ctaid.x; mov.u32 %r2, %laneid;"
    lines = [line(variant, method) for method in METHODS]
    folder.mkdir()
    for ptx, seen in ((harmless, []), (f"{harmless} {text}", [("", "not to be checked (emulate)", True)])):
        (folder / "kernel.ptx").write_text(ptx)
        write_json(folder / "build.json", {"files": {"kernel.ptx": digest(ptx)}})
        assert problems(variant, *lines) == seen


@pytest.mark.usefixtures("founded")
def test_a_configuration_says_what_else_is_demanded(variant: Variant) -> None:
    lines = [line(variant, method) for method in METHODS]
    assert problems(variant, *lines, evidence=("gpu-validated",)) == [("gpu-validated", "missing", True)]
    on_gpu = line(variant, "gpu-validated")
    assert problems(variant, *lines, on_gpu, evidence=("gpu-validated",)) == []
    stale = line(variant, "gpu-validated", source="0" * 64)
    assert problems(variant, *lines, stale) == [("gpu-validated", "stale", False)]
    assert problems(variant, *lines, stale, evidence=("gpu-validated",)) == [("gpu-validated", "stale", True)]


@pytest.mark.usefixtures("founded")
def test_who_demands_times_demands_that_what_was_timed_is_right(variant: Variant) -> None:
    lines = [line(variant, method) for method in (*METHODS, "benchmarked")]
    assert problems(variant, *lines, evidence=("benchmarked",)) == [("gpu-validated", "missing", True)]
    assert problems(variant, *lines, line(variant, "gpu-validated"), evidence=("benchmarked",)) == []


@pytest.mark.parametrize(
    ("method", "change", "says"),
    [
        ("emulated", {"protocol": 99}, "version 99 of the method"),
        ("emulated", {"judged_by": "0" * 16}, "judged by code 0000000000000000"),
        ("gpu-validated", {"protocol": 0}, "version 0 of the method"),
        ("gpu-validated", {"judged_by": ""}, "judged by code that it does not name"),
        ("benchmarked", {"protocol": 1}, "version 1 of the method, which is now 2"),
    ],
)
def test_what_other_code_judged_is_stale(variant: Variant, method: str, change: dict[str, Any], says: str) -> None:
    told = line(variant, method)
    told = dataclasses.replace(told, evidence=dataclasses.replace(told.evidence, **change))
    others = [line(variant, each) for each in METHODS if each != method]
    complaints = {each.method: each for each in report(variant, *others, told, evidence=(method,)).complaints}
    complaint = complaints.pop(method)
    assert set(complaints) == ({"gpu-validated"} if method == "benchmarked" else set())  # which it demands as well
    assert (complaint.problem, complaint.fatal) == ("stale", True)
    assert says in complaint.example
