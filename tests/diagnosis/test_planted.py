"""Faults planted in kernels, emulated: the diagnosis names role, barrier, stage and phase, or the lock step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.diagnosis.faults import FAULTS, RIGHT, planted
from warpwright import pipeline, resources
from warpwright.build.builder import TIMEOUT_SECONDS
from warpwright.build.pool import Pool
from warpwright.device.marks import STAMPED, Marks, instrumented
from warpwright.diagnosis.modelled import diagnose_modelled, run_modelled
from warpwright.diagnosis.twin import Twin, build_twin, compile_into, twin_source
from warpwright.emulate.variant.check_plan import Difference
from warpwright.errors import UserError
from warpwright.render import render


@pytest.fixture(scope="module")
def service() -> Iterator[Pool]:
    with Pool("sm_90a", 1, TIMEOUT_SECONDS) as pool:
        yield pool


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_named(name: str, service: Pool, tmp_path: Path) -> None:
    fault = FAULTS[name]
    plan, source = planted(fault)
    report, _ = diagnose_modelled(build_twin(plan, tmp_path / name, source, service), name)
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


@pytest.mark.parametrize("name", RIGHT)
def test_a_twin_is_right_and_does_not_take_turns(name: str, service: Pool, tmp_path: Path) -> None:
    """The twin gives the kernel's numbers, its launch is as planned, and every side of every ring has marks."""
    twin = build_twin(RIGHT[name](), tmp_path / name, service=service)
    report, run = diagnose_modelled(twin, name)
    assert (report.status, report.hang, report.found) == ("ended", None, ())
    assert report.figures is not None
    assert report.figures.verdict in ("load-bound", "compute-bound", "balanced"), report.figures
    for ring in run.marks.layout.rings:
        assert _marked(run.marks, ring) == {"WAIT", "GOT", "DONE", "RELEASED"}
    subject = twin.subject()
    differences: tuple[Difference, ...] = subject.prepare(run.case).differences
    assert [each.rule for each in differences if each.rule != "launch: parameters"] == []


def _marked(marks: Marks, ring: str) -> set[str]:
    kinds = ("WAIT", "GOT", "DONE", "RELEASED")
    warps = range(marks.layout.warps)
    return {kind for kind in kinds if any(marks.note(0, warp, f"{ring.upper()}_{kind}") for warp in warps)}


def test_kernels_of_one_role_have_no_twin() -> None:
    """The ladder's first rungs; from the fifth on they are the GEMM's template."""
    exploration = pipeline.plan(str(resources.configs() / "ladder_sm90.yaml"), Path("nowhere"))
    plans = {variant.plan.design.rung: variant.plan for variant in exploration.legal}
    with pytest.raises(UserError, match="have no instrumented twin; `emulate --trace` draws it"):
        twin_source(plans[4])
    assert "mark(notes, stamps, AB_WAIT, producer_state.count" in twin_source(plans[5])


def test_a_quiet_twin_marks_in_few_ctas(service: Pool, tmp_path: Path) -> None:
    """That which is stamped on a GPU: the other CTAs run as the kernel does."""
    quiet = instrumented(RIGHT["cluster"](), STAMPED)
    compile_into(quiet, render(quiet), tmp_path / "quiet", service)
    run = run_modelled(Twin(quiet, render(quiet), tmp_path / "quiet"))
    assert (run.right, run.findings, run.marks.ctas()) == (True, (), [0, 1])
    assert run.marks.stamp(1, 0, 0, "AB_GOT") is not None
