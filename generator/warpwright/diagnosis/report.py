"""The diagnosis of a run, as a person reads it and as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from warpwright.diagnosis.counters import Counters
from warpwright.diagnosis.figures import Figures
from warpwright.diagnosis.hang import Hang

__all__ = ["DEAR", "Report"]

#: How many times as long as its kernel a twin may take for its figures to be taken for the kernel's.
DEAR = 1.1


@dataclass(frozen=True)
class Report:
    """What was seen of one run of a variant's twin.

    source: `modelled` (the emulator) or `measured` (a GPU, in `device`). status: `ended`, `wrong` (it ended with wrong
    numbers, or was stopped for what it did), `hang`, or what else ended it (`crash`, `launch_failed`, `not_run`).
    found: what else was found, in words. slowdown: how many times as long as its kernel the twin takes, where both were
    timed. counters: of Nsight Compute, of the kernel itself. shared: why others may have been on the GPU, "" where
    nobody was: the twin and its kernel, timed one after the other, then compare with nothing, and loads take longer.
    obtained: what it was obtained with (`obtained.py`), {} where that is not known.
    """

    variant: str
    problem: str
    source: str
    status: str
    device: str = ""
    hang: Hang | None = None
    figures: Figures | None = None
    found: tuple[str, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    slowdown: float | None = None
    counters: Counters | None = None
    shared: str = ""
    obtained: Mapping[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The report as text, a line each."""
        how = "modelled by the emulator, in its clocks" if self.source == "modelled" else f"measured on {self.device}"
        ends = {"ended": "ends with right numbers", "wrong": "is not right", "hang": "does not end"}
        how_it_ends = ends.get(self.status, "could not be run to its end")
        yield f"{self.variant}, problem {self.problem}: the instrumented twin {how_it_ends} ({how})"
        if self.hang:
            yield from _hang(self.hang)
        for text in self.found:
            yield from (f"  {line}" for line in text.splitlines())
        if self.shared:
            yield f"  shared GPU ({self.shared}): no time, share or ratio below is the kernel's own; run it again alone"
        if self.figures:
            yield from _figures(self.figures, 0 if self.shared else self.slowdown or 0)
        for line in self.counters.lines() if self.counters else ():
            yield f"  {line}"
        for remark in self.remarks:
            yield f"  {remark}"

    def data(self) -> dict[str, Any]:
        """The report as JSON."""
        value = asdict(self)
        if self.figures:
            value["figures"]["lead"] = {str(level): part for level, part in self.figures.lead.items()}
            value["figures"]["mean_lead"] = self.figures.mean_lead
        if self.hang:
            for one, standing in zip(value["hang"]["standings"], self.hang.standings, strict=True):
                one["rings"] = {ring: asdict(progress) for ring, progress in standing.rings}
        return value


def _hang(hang: Hang) -> Iterator[str]:
    others = f", and {hang.alike} more CTAs do not end either" if hang.alike > 1 else ""
    others = others or (", and one more CTA does not end either" if hang.alike else "")
    yield f"  CTA {hang.cta}{others}"
    for number, cause in enumerate(hang.causes):
        yield f"  {'because' if number == 0 else 'then   '} {cause.text}"
    told = {cause.text.partition(":")[0] for cause in hang.causes}
    for standing in hang.standings:
        if str(standing) not in told:
            yield f"          {standing}"


def _figures(f: Figures, slowdown: float) -> Iterator[str]:
    if slowdown > DEAR:
        yield f"  the twin takes {slowdown:.2f} x its kernel: what follows is of the twin, not of the kernel"
    yield f"  {f.verdict}: {f.why}"
    yield (
        f"  of {f.clocks:,} clocks in {f.rounds} rounds: loads and compute together {f.both:.0%}, loads alone"
        f" {f.loads:.0%}, compute alone {f.compute:.0%}, neither {f.neither:.0%}"
    )
    if f.seen:
        yield f"  overlap: {f.overlap:.0%} of the shorter of the two goes on beside the other"
    else:
        yield "  overlap: nobody was seen to wait for a load, so that how long loads take is not known"
    for role, waits in f.stalls.items():
        shares = ", ".join(f"{part:.0%} for {what}" for what, part in sorted(waits.items(), key=lambda w: -w[1]))
        yield f"  {role} waits {shares} of its time"
    levels = ", ".join(f"{level}: {part:.0%}" for level, part in f.lead.items() if part >= 0.005)
    yield f"  stages that are full or read, of {f.stages}: {f.mean_lead:.1f} on average ({levels})"
    for note in f.notes:
        yield f"  {note}"
