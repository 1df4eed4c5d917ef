"""A twin in the emulator: its marks in modelled clocks, and what the emulator says of the run.

The emulator's clock knows the latency and rate of TMA and the rate of the tensor cores, and counts an instruction of a
warp as a clock, whatever other warps do: who waits for whom and how full the ring is, not how long a kernel takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from warpwright.device.marks import NOTES, STAMPS, Marks, cta_number, layout_of
from warpwright.device.problem import Case, Problem
from warpwright.diagnosis.figures import figures_of
from warpwright.diagnosis.hang import hang_of
from warpwright.diagnosis.report import Report
from warpwright.diagnosis.spans import trace_of
from warpwright.diagnosis.twin import Twin
from warpwright.dtypes import dtype
from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.variant.harness import Subject
from warpwright.emulate.variant.names import named_barriers, offset_names
from warpwright.errors import UserError
from warpwright.families import workload
from warpwright.plan.types import Plan

__all__ = ["Modelled", "choose_case", "diagnose_modelled", "extents", "run_modelled"]

_SEED = 1
_TOLD = 3  # findings
_UNTIMED = (
    "its loads pass through registers or are cp.async, and in these clocks they take no longer than to be issued: take"
    " the parts for no more than a hint"
)
#: Findings that the marks themselves cause: two parameters more, of which the family's workload knows nothing.
_OWN = frozenset({"launch"})
#: Elements of all operands of a problem that somebody names: more take the emulator minutes.
_MOST = 1 << 22


@dataclass(frozen=True)
class Modelled:
    """One emulated run of a twin; `hangs`: it came to no end. `at`: what warps wait for, by CTA and warp, in words."""

    case: Case
    marks: Marks
    hangs: bool
    findings: tuple[Finding, ...]
    right: bool
    at: Mapping[tuple[int, int], str]


def choose_case(subject: Subject, asked: str) -> Case:
    """Return the case that `asked` means: its name, or extents (256x128x4096, in the order of the family's modes), by
    default the one of most work. UserError for an unknown one, or one that is too large to be emulated."""
    family, cases = workload(subject.plan.family), subject.cases()
    named = [case for case in cases if case.problem.name == asked]
    if named:
        return named[0]
    if asked:
        return Case(_problem(subject.plan, asked, [case.problem.name for case in cases]), 1, 0, (_SEED,))
    whole = [case for case in cases if not case.only]
    return max(whole, key=lambda case: _work(family.work(subject.plan, case.problem.extents)))


def _work(work: object) -> tuple[int, int]:
    return getattr(work, "flop", 0), getattr(work, "bytes", 0)


def extents(modes: Sequence[str], asked: str, or_else: str = "") -> tuple[tuple[str, int], ...]:
    """Read extents as people write them (4096x4096x4096), those left out being 1. UserError where they are none."""
    parts = asked.lower().split("x")
    if not all(part.isdecimal() and 0 < int(part) < 2**31 for part in parts) or not 0 < len(parts) <= len(modes):
        raise UserError(f"--problem {asked}: must be extents, {'x'.join(modes)}{or_else}")
    sizes = [int(part) for part in parts] + [1] * (len(modes) - len(parts))
    return tuple(zip(modes, sizes, strict=True))


def _problem(plan: Plan, asked: str, names: list[str]) -> Problem:
    sizes = extents(workload(plan.family).modes, asked, f", or a case of the emulator: {', '.join(names)}")
    if prod(extent for _, extent in sizes) > _MOST << 10 or max(extent for _, extent in sizes) > _MOST:
        raise UserError(f"--problem {asked}: too large to be emulated; a small one shows the same pipeline")
    return Problem(asked, sizes)


def run_modelled(twin: Twin, asked: str = "") -> Modelled:
    """Run a twin once in the emulator. UserError as `choose_case`; EmulatorError, PtxError where it cannot be run."""
    subject = twin.subject()
    case = choose_case(subject, asked)
    prepared = replace(subject.prepare(case), findings=())
    outcome = prepared.run(subject.module, case.seeds[0], subject.options_for(case))
    tensors = prepared.operands.tensors
    marks = Marks(layout_of(twin.plan), tensors[NOTES].view, tensors[STAMPS].view, dtype("i64").poison)
    findings = tuple(finding for finding in outcome.findings if finding.kind not in _OWN)
    hangs = any(finding.kind in ("deadlock", "livelock") for finding in findings)
    right = outcome.complete and not any(agreement.wrong for agreement in outcome.agreements)
    across = prepared.calls[0].launch.grid[0] if prepared.calls else 1
    return Modelled(case, marks, hangs, findings, right, _waits(twin, findings, across))


def _waits(twin: Twin, findings: Sequence[Finding], across: int) -> dict[tuple[int, int], str]:
    """What each warp of a deadlock waits for, in the plan's words; `across`: CTAs along the grid's first mode."""
    name_of, named, found = offset_names(twin.plan.main), named_barriers(twin.plan.main), {}
    for wait in (wait for finding in findings for wait in finding.details.get("waits", ())):
        x, y, _ = wait["in_cta"]
        text = f"a barrier ({wait['kind']})"
        if wait["kind"] == "named":
            name = named(wait["named"]) or ("of all threads" if wait["named"] == 0 else "")
            text = f"named barrier {wait['named']}{f' ({name})' if name else ''}, to which"
            text += f" {wait['expected'] - wait['arrived']} of {wait['expected']} threads have not come"
        elif wait["kind"] == "mbarrier":
            place = name_of(wait["offset"] - RESERVED) or f"an mbarrier at {wait['offset'] - RESERVED}"
            text = f"{place}, phase {wait['phase']} (parity {wait['parity']})"
        found[cta_number(twin.plan.main.cluster, across, x, y), wait["warp"]] = text
    return found


def diagnose_modelled(twin: Twin, name: str, asked: str = "") -> tuple[Report, Modelled]:
    """Run a twin in the emulator and say what that shows. Raises as `run_modelled`."""
    run = run_modelled(twin, asked)
    kernel = twin.plan.main
    hang = hang_of(kernel, run.marks, run.at) if run.hangs or not run.right else None
    figures = figures_of(trace_of(kernel, run.marks)) if run.right else None
    status = "hang" if run.hangs else "ended" if run.right and not run.findings else "wrong"
    found = tuple(f"emulator: {finding.kind}: {finding.message}" for finding in run.findings[:_TOLD])
    more = len(run.findings) - _TOLD
    remarks = [f"and {more} more findings: `warpwright emulate` has all of the variant itself"] * (more > 0)
    remarks += [_UNTIMED] * all(copy.direction != "load" for copy in kernel.copies)
    return Report(name, run.case.problem.name, "modelled", status, "", hang, figures, found, tuple(remarks)), run
