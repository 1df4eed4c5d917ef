"""Does the committed ledger hold valid evidence for what a configuration gives now? What `warpwright ci` asks.

Every legal variant must be correct here and now, and have a ledger line of each required method that is `correct`
and for exactly the source, arch, compiler and cubin at hand. Illegal points are allowed: that a point is illegal is
what the configuration's plan says, and it is reported with its rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from warpwright.pipeline.exploration import Exploration, Variant
from warpwright.pipeline.judging import HEAD, Lines, subject_of
from warpwright.record import METHODS, STATUSES, LedgerLine, stale_because

__all__ = ["ALWAYS_REQUIRED", "Complaint", "Report", "check", "renewal"]

#: Evidence that every machine can renew, so that no change may leave it behind.
ALWAYS_REQUIRED = ("built", "emulated")


@dataclass(frozen=True)
class Complaint:
    """What is wrong with some variants, or with their evidence by one method: told once, with one of them in full.

    `method` is "" where the variants themselves are not correct: no renewal of evidence mends that.
    """

    method: str
    problem: str  # `not correct`, `missing`, `stale` or `recorded as <status>`
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

    @property
    def passed(self) -> bool:
        return self.legal > 0 and not any(complaint.fatal for complaint in self.complaints)


def check(exploration: Exploration, lines: Lines, required: Iterable[str] = ()) -> Report:
    """Compare a rendered and built exploration with its ledger; `required` adds methods to ALWAYS_REQUIRED."""
    demanded = {*ALWAYS_REQUIRED, *required}
    mine = {variant.identity: lines.get(variant.identity[:HEAD], []) for variant in exploration.legal}
    recorded = {line.evidence.method for own in mine.values() for line in own}
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    valid: Counter[str] = Counter()
    for variant in exploration.legal:
        if variant.status != "correct":
            why = (variant.reasons() or ["nothing is known about it"])[0]
            found.setdefault(("", "not correct"), []).append((variant.name, f"{variant.status}: {why}"))
        for step, why in variant.undone.items():
            found.setdefault(("", f"not to be checked ({step})"), []).append((variant.name, why))
        for method in METHODS:
            if method not in demanded | recorded:
                continue
            problem, example = _problem(variant, method, mine[variant.identity])
            if problem:
                found.setdefault((method, problem), []).append((variant.name, example))
            else:
                valid[method] += 1
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
    )


def renewal(config: str, method: str) -> str:
    """Return the commands that renew the evidence of one method."""
    keep = f"warpwright ledger {config}"
    if method in ("compared", "gpu-validated", "benchmarked"):
        cases = " --cases" if method == "compared" else ""
        return (
            f"warpwright run {config} && warpwright bundle {config} -o BUNDLE{cases}; "
            f"on a GPU host: python3 BUNDLE/run.py; then: warpwright import RESULTS && {keep}"
        )
    return f"warpwright run {config} && {keep}"


def _fatal(method: str, problem: str, demanded: set[str]) -> bool:
    """A valid result that is not `correct` is a finding about the kernel, whether its method was asked for or not."""
    return not method or method in demanded or problem.startswith("recorded as")


def _problem(variant: Variant, method: str, lines: Sequence[LedgerLine]) -> tuple[str, str]:
    """Return what is wrong with a variant's ledger evidence by one method, and the particulars; "" when it is valid."""
    found = [line.evidence for line in lines if line.evidence.method == method and line.identity == variant.identity]
    if not found:
        return "missing", "no ledger has a line for it"
    if not variant.source:
        return "stale", "it could not be rendered"
    # Several configurations may have the variant: one valid line among their ledgers will do, but no bad one is hidden.
    reasons = [stale_because(evidence, subject_of(variant)) for evidence in found]
    statuses = [evidence.status for evidence, because in zip(found, reasons, strict=True) if not because]
    if not statuses:
        return "stale", reasons[0]
    worst = min(statuses, key=STATUSES.index)
    return ("", "") if worst == "correct" else (f"recorded as {worst}", "a valid result says so")
