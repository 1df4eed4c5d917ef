"""What Nsight Compute counted of one launch: what warps waited for, and how busy pipes and memory were."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

__all__ = ["METRICS", "Counters", "CountersError", "read_counters"]

_TIME = "gpu__time_duration.sum"
_ISSUE = "smsp__issue_active.avg.pct_of_peak_sustained_active"
_STALLED, _PER_ISSUE = "smsp__average_warps_issue_stalled_", "_per_issue_active"
#: By the name in a report, parts of a peak in percent.
_PIPES = {
    "tensor cores": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    **{name: f"sm__inst_executed_pipe_{pipe}.avg.pct_of_peak_sustained_active" for name, pipe in (
        ("FMA", "fma"), ("ALU", "alu"), ("XU", "xu"), ("LSU", "lsu"), ("TMA", "tma"), ("uniform", "uniform"))},
}  # fmt: skip
_MEMORY = {
    "DRAM": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "L2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1": "l1tex__throughput.avg.pct_of_peak_sustained_active",
}
#: As `ncu --metrics` takes them.
METRICS = (_TIME, _ISSUE, *_PIPES.values(), *_MEMORY.values(), f"regex:{_STALLED}.*{_PER_ISSUE}")
_UNITS = {"ns": 1e-3, "us": 1.0, "usecond": 1.0, "nsecond": 1e-3, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}
#: What stands behind a reason, where its name does not say it.
_MEANING = {
    "long_scoreboard": "memory, or an mbarrier",
    "short_scoreboard": "shared memory, or the XU",
    "barrier": "other threads",
    "wait": "a fixed latency",
    "gmma": "MMAs",
    "mio_throttle": "the queue to shared memory",
    "lg_throttle": "the queue to memory",
    "not_selected": "another warp's turn",
    "selected": "issuing",
    "no_instruction": "instructions",
    "membar": "a fence",
}
_TOLD = 0.03


class CountersError(ValueError):
    """What was read is no table of Nsight Compute's with these metrics; the message says what is wrong."""


@dataclass(frozen=True)
class Counters:
    """Of one launch of the kernel itself, without marks. microseconds: under the profiler. Parts are 0 to 1: `stalls`
    of the time of all warps by reason, issuing included (`selected`); `pipes` and `memory` of a peak, while an SM is
    active and of the whole time; `issue` of all issue slots."""

    microseconds: float
    issue: float
    pipes: Mapping[str, float]
    memory: Mapping[str, float]
    stalls: Mapping[str, float]

    def lines(self) -> Iterator[str]:
        """The counters as text, a line each."""
        pipes, memory = (_listed(parts) for parts in (self.pipes, self.memory))
        yield f"Nsight Compute, of the kernel itself ({self.microseconds:.1f} us under it), of each one's peak:"
        yield f"  {pipes}; issue slots {self.issue:.0%}; {memory}"
        parts = sorted(self.stalls.items(), key=lambda each: -each[1])
        told = (f"{part:.0%} {name}{f' ({_MEANING[name]})' if name in _MEANING else ''}"
                for name, part in parts if part >= _TOLD)  # fmt: skip
        yield f"  its warps' time: {', '.join(told)}"


def _listed(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {part:.0%}" for name, part in parts.items())


def read_counters(text: str) -> Counters:
    """Read what `ncu --csv --page raw --metrics ...` wrote of one launch or several, of which the last counts.

    Metrics that a chip does not have are left out. Raises CountersError.
    """
    every = list(csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("==")))
    # What the launched program itself says, warnings of its libraries, may stand before, in, and behind the table.
    head = next((number for number, row in enumerate(every) if _TIME in row), 0)
    rows = [row for row in every[head:] if len(row) == len(every[head])]
    if len(rows) < 3:
        raise CountersError("no launch of the kernel is in its table")
    names, units, values = rows[0], rows[1], rows[-1]
    found = {name: number for name, value in zip(names, values, strict=True) if (number := _number(value)) is not None}
    unit = dict(zip(names, units, strict=True)).get(_TIME, "")
    if _TIME not in found or unit not in _UNITS:
        raise CountersError(f"its table has no {_TIME}")
    ratios = {name[len(_STALLED) : -len(f"{_PER_ISSUE}.ratio")]: value for name, value in found.items()
              if name.startswith(_STALLED) and name.endswith(f"{_PER_ISSUE}.ratio")}  # fmt: skip
    total = sum(ratios.values())
    return Counters(
        found[_TIME] * _UNITS[unit],
        found.get(_ISSUE, 0.0) / 100,
        {name: found[metric] / 100 for name, metric in _PIPES.items() if metric in found},
        {name: found[metric] / 100 for name, metric in _MEMORY.items() if metric in found},
        {name: value / total for name, value in ratios.items()} if total else {},
    )


def _number(text: str) -> float | None:
    """A value as ncu writes it: 1,218.39; None where it is none."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
