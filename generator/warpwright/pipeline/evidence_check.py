"""Does the committed ledger hold valid evidence for what a configuration gives now? What `warpwright ci` asks.

Nothing is believed that was not seen. Every legal variant must be built and emulated here, and found correct; the
ledger must have a line of each required method that is `correct`, for exactly the source, arch, compiler and cubin at
hand, and judged by the code at hand; what a line says of the build and of the emulation must be what was obtained here,
and what it says of a GPU what the runs kept beside the ledger come to; and a line that is for no variant of its
configuration is named like a variant without a line. Illegal points are allowed: that a point is illegal is what the
configuration's plan says, and it is reported with its rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from warpwright.device.coverage import within
from warpwright.pipeline.committed import contradiction, line_of
from warpwright.pipeline.exploration import Exploration, Variant
from warpwright.pipeline.judging import subject_of
from warpwright.pipeline.machine_dependent import machine_dependent
from warpwright.pipeline.raw_runs import Runs, unfounded
from warpwright.record import METHODS, STATUSES, LedgerLine, stale_because
from warpwright.record.reading import ON_DEVICE

if TYPE_CHECKING:
    from warpwright.plan.types import Plan
    from warpwright.spec import Spec

__all__ = ["ALWAYS_REQUIRED", "Complaint", "Report", "check", "renewal"]

#: Evidence that every machine can renew, so that no change may leave it behind.
ALWAYS_REQUIRED = ("built", "emulated")
#: The problem of lines for which there is no variant.
_NO_VARIANT = "for no variant that the configuration has"
#: The problem of runs for which there is no line.
_NO_LINE = "of runs in out/ledger/raw/ that no line of the ledger tells of"


@dataclass(frozen=True)
class Complaint:
    """What is wrong with some variants, or with their evidence by one method: told once, with one of them in full.

    `method` is "" where the variants themselves are not correct: no renewal of evidence mends that.
    """

    method: str
    problem: str  # `not correct`, `missing`, `stale`, `recorded as <status>`, ...
    variants: tuple[str, ...]
    example: str
    fatal: bool

    def __str__(self) -> str:
        many = f"{len(self.variants)} variants" if len(self.variants) > 1 else "1 variant"
        what = f"{self.method} evidence is {self.problem}" if self.method else self.problem
        return f"{many}: {what}, e.g. {self.variants[0]}: {self.example}"


@dataclass(frozen=True)
class Report:
    """One configuration's answer; it passes without fatal complaints."""

    config: str
    legal: int
    correct: int
    illegal: dict[str, int]  # rule -> points
    valid: dict[str, int]  # method -> variants with valid ledger evidence
    complaints: tuple[Complaint, ...]
    unrun: bool = False  # no GPU has run any of them, and nothing asks for that

    @property
    def passed(self) -> bool:
        return self.legal > 0 and not any(complaint.fatal for complaint in self.complaints)


def check(
    exploration: Exploration,
    ledgers: Mapping[str, Sequence[LedgerLine]],
    required: Iterable[str] = (),
    runs: Mapping[str, Runs] = MappingProxyType({}),
) -> Report:
    """Compare a rendered, built and emulated exploration with the ledgers, which are by name.

    `runs` are those on a GPU that their lines rest on, by the name of the ledger that they lie beside. `required` adds
    methods to ALWAYS_REQUIRED and to what the configuration itself demands.
    """
    demanded = {*ALWAYS_REQUIRED, *required, *exploration.spec.evidence}
    if "benchmarked" in demanded:  # a time says nothing of what was timed
        demanded.add("gpu-validated")
    lines: dict[str, list[LedgerLine]] = {}
    for line in (line for ledger in ledgers.values() for line in ledger):
        lines.setdefault(line.identity, []).append(line)
    mine = {variant.identity: lines.get(variant.identity, []) for variant in exploration.legal}
    recorded = {line.evidence.method for own in mine.values() for line in own}
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    valid: Counter[str] = Counter()
    for variant in exploration.legal:
        for problem, why in _not_seen(variant):
            found.setdefault(("", problem), []).append((variant.name, why))
        for method in METHODS:
            if method not in demanded | recorded:
                continue
            problem, example = _problem(variant, method, mine[variant.identity], runs, exploration.spec)
            if problem:
                found.setdefault((method, problem), []).append((variant.name, example))
            else:
                valid[method] += 1
    own_lines = ledgers.get(exploration.spec.name, ())
    for line in own_lines:
        if line.identity not in mine:
            found.setdefault((line.evidence.method, _NO_VARIANT), []).append((line.variant, line.place))
    told = {(line.variant, line.evidence.method) for line in own_lines}
    for name, method in runs.get(exploration.spec.name, {}).keys() - told:
        found.setdefault((method, _NO_LINE), []).append((name, "what such a run found must not be left out"))
    complaints = [
        Complaint(method, problem, tuple(name for name, _ in cases), cases[0][1], _fatal(method, problem, demanded))
        for (method, problem), cases in found.items()
    ]
    return Report(
        config=exploration.label if exploration.shipped else exploration.typed,
        legal=len(exploration.legal),
        correct=sum(variant.status == "correct" for variant in exploration.legal),
        illegal=dict(Counter(v.rule for variant in exploration.variants for v in variant.plan.violations)),
        valid=dict(valid),
        complaints=tuple(complaints),
        unrun=not any(valid[method] for method in ON_DEVICE) and not demanded & set(ON_DEVICE),
    )


def renewal(config: str, complaint: Complaint) -> str:
    """Return the commands that mend evidence of one method, or say how it is dropped."""
    method, keep = complaint.method, f"warpwright ledger {config}"
    if complaint.problem == _NO_VARIANT:
        return f"{keep} --prune, if the configuration is meant to have lost these"
    if method == "contrast":
        return f"warpwright ladder {config} --contrast (--to DIR packs it for another GPU host) && {keep}"
    if method == "timeline":
        return (
            f"warpwright bundle {config} --to BUNDLE --twins; on a GPU host: python3 BUNDLE/run.py --only timeline; "
            f"then: warpwright import RESULTS && {keep}"
        )
    if method in ("compared", "gpu-validated", "benchmarked"):
        cases = " --cases" if method == "compared" else ""
        return (
            f"warpwright run {config} && warpwright bundle {config} --to BUNDLE{cases}; "
            f"on a GPU host: python3 BUNDLE/run.py; then: warpwright import RESULTS && {keep}"
        )
    return f"warpwright run {config} && {keep}"


def _fatal(method: str, problem: str, demanded: set[str]) -> bool:
    """A valid result that is not `correct` is a finding about the kernel, whether its method was asked for or not; so
    is a line that nobody can have obtained."""
    return not method or method in demanded or problem not in ("missing", "stale")


def _not_seen(variant: Variant) -> list[tuple[str, str]]:
    """What has not been seen of a variant itself, here and now."""
    problems = []
    if variant.status != "correct":
        why = (variant.reasons() or ["nothing is known about it"])[0]
        problems.append(("not correct", f"{variant.status or 'no verdict'}: {why}"))
    problems += [(f"not to be checked ({step})", why) for step, why in variant.undone.items()]
    problems += [("not to be checked (emulate)", why) for why in machine_dependent(variant)]
    unseen = [method for method in ALWAYS_REQUIRED if not variant.has_own(method)]
    if unseen and not problems:
        problems.append((f"not {unseen[0]} here", "only what was seen here counts"))
    return problems


def _problem(
    variant: Variant, method: str, lines: Sequence[LedgerLine], runs: Mapping[str, Runs], spec: Spec
) -> tuple[str, str]:
    """Return what is wrong with a variant's ledger evidence by one method, and the particulars; "" when it is valid."""
    found = [line for line in lines if line.evidence.method == method]
    if not found:
        return "missing", "no ledger has a line for it"
    if not variant.source:
        return "stale", "it could not be rendered"
    # Several configurations may have the variant: one valid line among their ledgers will do, but no bad one is hidden.
    subject = subject_of(variant)
    reasons = [stale_because(line.evidence, subject) for line in found]
    counting = [line for line, because in zip(found, reasons, strict=True) if not because]
    if not counting:
        return "stale", reasons[0]
    worst = min((line.evidence.status for line in counting), key=STATUSES.index)
    if worst != "correct":
        return f"recorded as {worst}", "a valid result says so"
    own = [evidence for evidence in variant.judgement.valid if evidence.method == method and evidence.origin == "here"]
    if method in ALWAYS_REQUIRED and own:
        contradictions = [contradiction(line, line_of(variant, own[0])) for line in counting]
        if any(contradictions):
            return "not what was obtained here", next(filter(None, contradictions))
    unknown = [_unknown_tools(line, subject.toolchain) for line in counting]
    if any(unknown):
        return "not what was obtained here", next(filter(None, unknown))
    lacks = [_lacking(line, spec, variant.plan) for line in counting]
    if all(lacks):  # one that covers what is asked for will do
        return "not for what the configuration asks", lacks[0]
    if method in ON_DEVICE:
        founded = [unfounded(variant, line, runs.get(line.ledger, {})) for line in counting]
        if any(founded):
            return "not what its runs say", next(filter(None, founded))
    return "", ""


def _unknown_tools(line: LedgerLine, toolchain: Mapping[str, str]) -> str:
    """Say which tools a line names, or leaves out, other than a build here does; versions differ between machines."""
    odd = sorted(line.evidence.subject.toolchain.keys() ^ toolchain.keys())
    return f"its toolchain and the one here differ in what they name: {', '.join(odd)} ({line.place})" if odd else ""


def _lacking(line: LedgerLine, spec: Spec, plan: Plan) -> str:
    """Say which of the problems that a configuration asks for a line's figures leave out, "" where it is none."""
    figures = line.evidence.figures
    if line.evidence.method == "gpu-validated":
        asked, told, repeats = spec.validate["problems"], figures.get("asked"), spec.validate["repeats"]
        if told != asked:
            return f"it was validated on {told} problems, and these are asked for: {asked}"
        few = figures["repeats"] < repeats
        return f"each problem was launched {figures['repeats']} times, and {repeats} are asked for" if few else ""
    if line.evidence.method == "benchmarked":
        timed = [timing["problem"] for timing in figures["problems"]]
        left = [problem for problem in within(plan, spec.bench["problems"]) if problem not in timed]
        return f"these problems were not timed: {left}" if left else ""
    return ""
