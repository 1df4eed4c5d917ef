"""Faults planted in kernels, emulated: the diagnosis names role, barrier, stage and phase, or the lock step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.diagnosis.faults import FAULTS, IN_TURN, QUICK, RIGHT, UNTIMED, planted
from warpwright import families
from warpwright.build.pool import Pool
from warpwright.device.marks import STAMPED, Marks, instrumented
from warpwright.diagnosis.hang import hang_of
from warpwright.diagnosis.modelled import diagnose_modelled, run_modelled
from warpwright.diagnosis.twin import Twin, build_twin, compile_into, twin_source
from warpwright.emulate.variant.check_plan import Difference
from warpwright.errors import UserError
from warpwright.families.planning import never
from warpwright.render import render


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named(name: str, service: Pool, tmp_path: Path) -> None:
    fault = FAULTS[name]
    plan, source = planted(fault)
    report, _ = diagnose_modelled(build_twin(plan, tmp_path / name, source, service), name, fault.problem)
    assert report.status == fault.status, list(report.lines())
    told = "\n".join(report.lines())
    if fault.cause:
        assert report.hang is not None, told
        at = 0
        for words in fault.cause:
            assert words in report.hang.head[at:], (words, report.hang.head)
            at += report.hang.head[at:].index(words)
        assert f"because {report.hang.head}" in told
    if fault.verdict:
        assert report.figures is not None
        assert report.figures.verdict == fault.verdict, told
        assert report.figures.lead.get(0, 0) + report.figures.lead.get(1, 0) > 0.99  # never two stages full
    assert ("modelled by the emulator" in told) == (report.source == "modelled")


def test_who_goes_on_without_the_others_is_named_where_marks_are_all_there_is(service: Pool, tmp_path: Path) -> None:
    """As on a GPU, which does not tell at which barrier a warp stands."""
    fault = FAULTS["not-all-synchronise"]
    plan, source = planted(fault)
    run = run_modelled(build_twin(plan, tmp_path / "twin", source, service), fault.problem)
    hang = hang_of(plan.main, run.marks)
    assert hang is not None
    assert "all (warp 3) is past the wait of round 0 and stands at nothing" in hang.causes[0].text
    assert hang.causes[1].text.startswith("all (warps 0..2) waits for what round 0 loads")
    assert hang.causes[1].text.endswith("all (warp 3) has gone on without waiting for them")


@pytest.mark.parametrize("name", RIGHT)
def test_a_twin_is_right(name: str, service: Pool, tmp_path: Path) -> None:
    """The twin gives the kernel's numbers, its launch is as planned, and every side of every ring has marks."""
    twin = build_twin(RIGHT[name](), tmp_path / name, service=service)
    report, run = diagnose_modelled(twin, name, QUICK.get(name, ""))
    assert (report.status, report.hang, report.found) == ("ended", None, ())
    assert report.figures is not None
    expected = ("lock-step",) if name in IN_TURN else ("load-bound", "compute-bound", "balanced")
    assert report.figures.verdict in expected, report.figures
    assert [remark.partition(":")[0][-9:] for remark in report.remarks] == ["be issued"] * (name in UNTIMED)
    for ring in run.marks.layout.rings:
        told = any(barrier.name == f"{ring}_empty" for barrier in twin.plan.main.barriers)
        assert _marked(run.marks, ring) >= {"WAIT", "GOT", "DONE", "RELEASED" if told else "BEGUN"}
    subject = twin.subject()
    differences: tuple[Difference, ...] = subject.prepare(run.case).differences
    assert [each.rule for each in differences if each.rule != "launch: parameters"] == []


def _marked(marks: Marks, ring: str) -> set[str]:
    kinds = ("WAIT", "GOT", "DONE", "RELEASED", "BEGUN")
    warps = range(marks.layout.warps)
    return {kind for kind in kinds if any(marks.note(0, warp, f"{ring.upper()}_{kind}") for warp in warps)}


def test_a_family_without_marks_has_no_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = RIGHT["copy"]()
    target = replace(families.target(plan.family, plan.arch), instrumented=never)
    monkeypatch.setattr("warpwright.diagnosis.twin.target", lambda family, arch: target)
    with pytest.raises(
        UserError,
        match="copy kernels for sm_90a have no instrumented twin; `warpwright emulate VARIANT` tells of hangs",
    ):
        twin_source(plan)


def test_a_quiet_twin_stamps_in_few_ctas(service: Pool, tmp_path: Path) -> None:
    """That which is stamped on a GPU: the other CTAs run as the kernel does, and nobody notes where it is."""
    quiet = instrumented(RIGHT["cluster"](), STAMPED)
    source = render(quiet)
    assert "sys" not in source.partition("def mark_here")[2].partition("def mark(")[0]
    compile_into(quiet, source, tmp_path / "quiet", service)
    run = run_modelled(Twin(quiet, source, tmp_path / "quiet"))
    assert (run.right, run.findings, run.marks.ctas()) == (True, (), [])
    stamps = run.marks.stamps.reshape(STAMPED, -1)
    assert all((stamps[cta] != run.marks.unset).sum() > 100 for cta in range(STAMPED))
    assert run.marks.stamp(1, 0, 0, "AB_GOT") is not None
