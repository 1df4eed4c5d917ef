"""A trace as Chrome trace JSON (ui.perfetto.dev): a track per warp, and one per ring with its loads on their way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpwright.canonical import canonical_json
from warpwright.diagnosis.spans import Trace
from warpwright.record.atomic import write_text

__all__ = ["perfetto", "write_perfetto"]

_WARPS, _COMPUTE, _LOADS = 1, 2, 3


def write_perfetto(path: Path, trace: Trace, label: str, source: str, problem: str = "") -> None:
    """Write a trace's timeline. OSError where `path` cannot be written."""
    write_text(path, canonical_json(perfetto(trace, label, source, problem)) + "\n")


def perfetto(trace: Trace, label: str, source: str, problem: str = "") -> dict[str, Any]:
    """Return a trace's events; `source` says whose clocks these are. One clock is shown as one microsecond."""
    start = min((span.start for span in trace.spans), default=0)
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": group, "args": {"name": title}}
        for group, title in ((_WARPS, "warps"), (_COMPUTE, "compute"), (_LOADS, "loads on their way"))
    ]
    named: set[tuple[int, int]] = set()
    for span in trace.spans:
        stage = int(span.what.rpartition(" ")[2]) if span.kind == "load" else 0
        # What is computed goes on while its warp waits for the next stage, and slices of a track must not overlap.
        group = {"load": _LOADS, "compute": _COMPUTE}.get(span.kind, _WARPS)
        place = {"pid": group, "tid": stage if span.kind == "load" else span.warp}
        title = span.what if span.kind == "load" else f"warp {span.warp}: {span.role}"
        if (place["pid"], place["tid"]) not in named:
            named.add((place["pid"], place["tid"]))
            events.append({"name": "thread_name", "ph": "M", **place, "args": {"name": title}})
        name = span.what if span.kind == "store" else f"{span.kind} {span.what}"
        times = {"ts": span.start - start, "dur": span.end - span.start}
        events.append({"name": name, "cat": span.kind, "ph": "X", **place, **times, "args": {"round": span.round}})
    other = {"kernel": label, "unit": f"1 us is one clock ({source})", "cta": str(trace.cta), "problem": problem}
    return {"traceEvents": events, "otherData": other}
