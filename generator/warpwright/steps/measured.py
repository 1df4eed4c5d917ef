"""A measured timeline as a page shows it: from what `diagnose --trace` wrote (Chrome trace JSON), a stretch of it.

Loads are shown by stage, and of each role that computes its first warp alone: the others do the same at the same time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from warpwright.diagnosis.perfetto import first_tracks
from warpwright.plan.step import Span

__all__ = ["Measured", "TimelineError", "measured", "stretch"]

_KINDS: Mapping[str, Literal["load", "compute", "store"]] = {"load": "load", "compute": "compute", "store": "store"}


class TimelineError(ValueError):
    """A file that is no measured timeline; the message says why."""


@dataclass(frozen=True)
class Measured:
    """Spans in clocks of an SM, where they are from, in words, and what they were obtained with, {} where that is not
    told."""

    spans: tuple[Span, ...]
    source: str
    obtained: Mapping[str, Any] = field(default_factory=dict)


def measured(trace: Any, variant: str) -> Measured:
    """Return what a trace has of a variant, named as its folder. Raises TimelineError where it is another's, modelled,
    or none."""
    try:
        other, events = trace["otherData"], trace["traceEvents"]
        kernel, unit = str(other["kernel"]), str(other["unit"])
        if kernel != variant:
            raise TimelineError(f"it is of {kernel}")
        if not re.search(r"\(measured\b", unit):
            raise TimelineError("it is modelled, not measured")
        roles, first = first_tracks(events)
        spans = []
        for event in events:
            if event["ph"] != "X" or event.get("cat") not in _KINDS:
                continue
            role, kind = roles[event["pid"], event["tid"]], _KINDS[event["cat"]]
            if first[event["pid"], role] == event["tid"]:
                start, length = _clocks(event["ts"]), _clocks(event["dur"])
                spans.append(Span(_track(kind, role), kind, start, start + length))
    except TimelineError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TimelineError(
            f"it is no trace of `warpwright diagnose --trace` ({type(error).__name__}: {error})"
        ) from None
    if not spans:
        raise TimelineError("nothing was loaded, computed or stored in it")
    told = unit.partition("(")[2].rstrip(")") or unit
    problem = f", {other['problem']}" if other.get("problem") else ""
    shared = f" (shared GPU: {other['shared']})" if other.get("shared") else ""
    obtained = other.get("obtained")
    obtained = obtained if isinstance(obtained, dict) else {}
    return Measured(tuple(sorted(spans, key=lambda span: span.start)), f"{told}{problem}{shared}", obtained)


def _clocks(told: Any) -> float:
    """A number of clocks. Raises ValueError for what is none."""
    if type(told) is not int or told < 0:
        raise ValueError(f"{told!r} is no number of clocks")
    return float(told)


def stretch(spans: tuple[Span, ...], clocks: float) -> tuple[Span, ...]:
    """Return the spans of so many clocks: with the first store in their middle where there is one, else the first."""
    start = min(span.start for span in spans)
    stores = [span.start for span in spans if span.kind == "store"]
    begin = max(start, min(stores) - clocks / 2) if stores else start
    begin = max(start, min(begin, max(span.end for span in spans) - clocks))
    end = begin + clocks
    return tuple(
        Span(span.track, span.kind, max(span.start, begin), min(span.end, end))
        for span in spans
        if span.end > begin and span.start < end
    )


def _track(kind: str, role: str) -> str:
    """Loads by stage ("ab stage 3"); who computes also stores."""
    return f"stage {role.rpartition(' ')[2]}" if kind == "load" else role
