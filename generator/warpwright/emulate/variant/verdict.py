"""From outcomes to a verdict: one status, what was found, and the figures that say how much was tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from warpwright.canonical import plain
from warpwright.device.tolerance import number
from warpwright.emulate import KINDS
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.variant.case import Outcome
from warpwright.emulate.variant.check_plan import Difference
from warpwright.emulate.variant.coverage import Coverage
from warpwright.emulate.variant.places import Places
from warpwright.statuses import STATUSES

__all__ = ["STATUS_OF", "Defect", "Verdict", "weigh"]

#: What a finding makes of a variant: the emulator's kinds, and those that the launch and the output show.
STATUS_OF: Mapping[str, str] = {
    **{name: kind.status for name, kind in KINDS.items()},
    "tensor-map": "crash",
    "launch": "incorrect",
    "unwritten": "incorrect",
    "wrong-result": "incorrect",
}


_SHOWN_BY_OUTPUT = ("unwritten", "wrong-result")


@dataclass(frozen=True)
class Defect:
    """A finding, with the first run that showed it."""

    case: str
    seed: int
    finding: Finding
    follows: bool = False  # something else was found in the same run that may have caused it

    def __str__(self) -> str:
        return f"{self.finding.kind}: {self.finding.message}\n  in case {self.case}, schedule seed {self.seed}"


@dataclass(frozen=True)
class Verdict:
    """What emulation says about one variant; `seconds` of one core, `rate` in warp instructions a second."""

    status: str
    defects: tuple[Defect, ...]
    differences: tuple[Difference, ...]
    figures: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    rate: float = 0.0

    @property
    def diagnosis(self) -> str:
        """The gravest defect in words, "" where there is none."""
        return str(self.defects[0]) if self.defects else ""

    def located(self, places: Places) -> Verdict:
        """The same with lines of kernel.py in what the defects say; what happens at the same lines is told once."""
        alike: dict[tuple[object, ...], list[Defect]] = {}
        for defect in self.defects:
            lines = places.lines(defect.finding.lines)
            place = lines if all(lines) else defect.finding.lines
            alike.setdefault((defect.finding.kind, defect.finding.about, *place), []).append(defect)
        defects = tuple(_located(places, *same) for same in alike.values())
        told = [{**_defect(d), "source_lines": places.lines(d.finding.lines)} for d in defects]
        return replace(self, defects=defects, figures={**self.figures, "defects": told})


def _located(places: Places, defect: Defect, *more: Defect) -> Defect:
    """A defect with lines of kernel.py, and where else the same was found: at copies of them, or in other cases."""
    message = places.explain(defect.finding.message)
    others = [" and ".join(map(str, other.finding.lines)) or f"case {other.case}" for other in more]
    if others:
        told = ", ".join(others)
        message += f"\n  the same {f'at copies of these lines (PTX {told})' if defect.finding.lines else f'in {told}'}"
    return replace(defect, finding=replace(defect.finding, message=message))


def weigh(
    outcomes: Sequence[Outcome], differences: Sequence[Difference], coverage: Coverage, seconds: float
) -> Verdict:
    """Weigh all runs of a variant; defects come gravest first, causes before consequences, each kind once a place."""
    defects: dict[tuple[object, ...], Defect] = {}
    for outcome in outcomes:
        caused = any(_leads(finding) for finding in outcome.findings)
        for finding in outcome.findings:
            place = finding.lines or finding.about or outcome.case
            defect = Defect(outcome.case, outcome.seed, finding, caused and not _leads(finding))
            defects.setdefault((finding.kind, place), defect)
    ordered = sorted(defects.values(), key=_gravity)
    statuses = {STATUS_OF[defect.finding.kind] for defect in ordered}
    status = min(statuses, key=STATUSES.index) if statuses else "degraded" if differences else "correct"
    agreements = [agreement for outcome in outcomes for agreement in outcome.agreements]
    results = [result for outcome in outcomes for result in outcome.results]
    instructions = int(sum(result.statistics["warp_instructions"] for result in results))
    figures = {
        "problems": sorted({outcome.case for outcome in outcomes}),
        "runs": len(outcomes),
        "seeds": len({outcome.seed for outcome in outcomes}),
        "warp_instructions": instructions,
        "coverage": coverage.figures,
        "elements": sum(agreement.elements for agreement in agreements),
        # Sums in float32 depend on the host's BLAS in their last digits: a committed figure must not.
        "ratio": _rounded(max((agreement.ratio for agreement in agreements), default=0.0)),
        "relative": _rounded(max((agreement.relative for agreement in agreements), default=0.0)),
        "defects": [_defect(d) for d in ordered],
        "findings": plain(list(differences)),
    }
    return Verdict(status, tuple(ordered), tuple(differences), figures, seconds, instructions / max(seconds, 1e-9))


def _leads(finding: Finding) -> bool:
    """Whether it is a cause by its kind: not a hang, an end that is too early or an output that is wrong."""
    kind = KINDS.get(finding.kind)
    return not (kind.follows if kind else finding.kind in _SHOWN_BY_OUTPUT)


def _gravity(defect: Defect) -> tuple[bool, int]:
    """What is worse comes first, but what followed from something else in its run after all that did not."""
    return defect.follows, STATUSES.index(STATUS_OF[defect.finding.kind])


def _defect(defect: Defect) -> dict[str, Any]:
    finding = defect.finding
    return {"kind": finding.kind, "message": finding.message, "case": defect.case, "seed": defect.seed,
            "lines": list(finding.lines), "details": _details(finding.details)}  # fmt: skip


def _rounded(value: float) -> float | str:
    return number(float(f"{value:.2g}"))


def _details(value: Any) -> Any:
    """Details as JSON: a finding may hold numpy scalars and tuples."""
    if isinstance(value, Mapping):
        return {str(key): _details(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_details(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
