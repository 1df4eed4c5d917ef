"""From a plan to its diagnosis: the twin is built, executed by the emulator, and on the GPU where there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from warpwright.build.builder import TIMEOUT_SECONDS
from warpwright.build.pool import Pool
from warpwright.canonical import digest, plain
from warpwright.device.gpu import misfit
from warpwright.device.marks import STAMPED, instrumented
from warpwright.device.variant import load_variant
from warpwright.diagnosis import obtained
from warpwright.diagnosis.measured import diagnose_measured
from warpwright.diagnosis.merge import merged
from warpwright.diagnosis.modelled import diagnose_modelled, extents
from warpwright.diagnosis.profiled import find_profiler, profiled
from warpwright.diagnosis.report import Report
from warpwright.diagnosis.spans import Trace, trace_of
from warpwright.diagnosis.twin import Twin, build_twin, compile_into, twin_source
from warpwright.families import family, workload
from warpwright.pipeline import on_gpu
from warpwright.pipeline.standards import standards_of
from warpwright.plan.prediction import extents_of
from warpwright.plan.types import Plan
from warpwright.render import render

__all__ = ["Diagnosis", "counted", "diagnose_plan"]

_CALLED = {"ended": "right", "wrong": "wrong", "hang": "one that hangs"}


@dataclass(frozen=True)
class Diagnosis:
    """A report, and the spans of its CTA 0."""

    report: Report
    trace: Trace


def diagnose_plan(
    plan: Plan,
    name: str,
    folder: Path,
    problem: str = "",
    edited: str = "",
    modelled: bool = True,
    counters: bool = True,
) -> Diagnosis:
    """Diagnose the kernel of a legal plan, or `edited`, its source as a person has changed it; builds in `folder`.

    On a GPU where there is one that runs it, unless `modelled`; the twin is emulated before, and with `counters` Nsight
    Compute is put around the kernel itself, where it ends. UserError where it has no twin, the twin does not compile,
    or the problem is none; EmulatorError, PtxError where it cannot be emulated;
    DeviceUnavailableError where there is no GPU after all.
    """
    source = merged(render(plan), edited, twin_source(plan)) if edited else twin_source(plan)
    twin = build_twin(plan, folder / name, source)
    if modelled or not on_gpu.at_hand():
        return _by_emulator(twin, name, plan, problem, edited)
    with on_gpu.supervisor() as supervisor:
        why = misfit(plan.arch, supervisor.start())
        if why:
            return _by_emulator(twin, name, plan, problem, edited, f"not on the GPU: {why}")
        first, _ = diagnose_modelled(twin, name)  # small, and whatever it shows is known before the GPU is used
        sizes, original, quiet = _sizes(plan, problem), render(plan), instrumented(plan, STAMPED)
        few = render(quiet)
        with Pool(plan.arch, 1, TIMEOUT_SECONDS) as service:
            compile_into(plan, edited or original, folder / "plain", service)
            compile_into(quiet, merged(original, edited, few) if edited else few, folder / "quiet", service)
        report, trace = diagnose_measured(
            plan, name, twin.folder, sizes, supervisor, quiet=folder / "quiet", plain=folder / "plain"
        )
    if counters and report.status in ("ended", "wrong"):
        report = counted(report, plan, folder / "plain", sizes)
    verdict = f", {first.figures.verdict}" if first.figures else ""
    text = f"the emulator, on its case {first.problem}, calls the twin {_CALLED[first.status]}{verdict}"
    return Diagnosis(replace(report, remarks=(*report.remarks, text)), trace)


def _by_emulator(twin: Twin, name: str, plan: Plan, problem: str, edited: str, *remarks: str) -> Diagnosis:
    report, run = diagnose_modelled(twin, name, problem)
    obtained_with = _modelled(plan, edited or render(plan), twin)
    report = replace(report, obtained=obtained_with, remarks=(*report.remarks, *remarks))
    return Diagnosis(report, trace_of(plan.main, run.marks))


def _modelled(plan: Plan, source: str, twin: Twin) -> dict[str, Any]:
    """What a report of the emulator was obtained with. The kernel itself was not compiled."""
    origin, of = load_variant(twin.folder).origin, {"family": plan.family, "kernel": plan.kernel}
    kernel = replace(origin, source_sha=digest(source), cubin_sha="")
    return obtained.told(kernel, origin.source_sha, judged_by=standards_of(of)["emulated"].code)


def counted(report: Report, plan: Plan, kernel: Path, sizes: tuple[tuple[str, int], ...]) -> Report:
    """The report with what Nsight Compute counts, or with a sentence that says why it counts nothing."""
    profiler = find_profiler()
    told = profiled(kernel, plan.main.name, sizes, profiler) if profiler else "no ncu on this host: no counters"
    if isinstance(told, str):
        return replace(report, remarks=(*report.remarks, told))
    return replace(report, counters=told)


def _sizes(plan: Plan, asked: str) -> tuple[tuple[str, int], ...]:
    """The problem on a GPU: extents as asked for, else the first that the family is timed on."""
    modes = workload(plan.family).modes
    if asked:
        return extents(modes, asked)
    given = extents_of(plain(family(plan.family).bench[0]))
    return tuple((mode, given[mode]) for mode in modes)
