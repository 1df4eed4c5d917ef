"""A trace as Chrome trace JSON (ui.perfetto.dev): a track per warp, and one per ring with its loads on their way.

Travels in bundles: imports nothing that a GPU host lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from warpwright.diagnosis.spans import Trace

__all__ = ["COMMITTED_CLOCKS", "first_tracks", "perfetto", "shortened"]

_WARPS, _COMPUTE, _LOADS = 1, 2, 3
#: Of a timeline that is committed: several tiles' steps around the end of the first.
COMMITTED_CLOCKS = 60_000


def perfetto(
    trace: Trace, label: str, source: str, problem: str = "", more: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return a trace's events; `source` says whose clocks these are. One clock is shown as one microsecond.

    more: what else is told of it, such as what it was `obtained` with.
    """
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
    return {"traceEvents": events, "otherData": {**other, **more}}


def first_tracks(
    events: Sequence[Mapping[str, Any]],
) -> tuple[dict[tuple[int, int], str], dict[tuple[int, str], int]]:
    """Return the role of each track, by its group and number; and of each role in a group its first track, whose warp
    stands for the others.

    Raises KeyError, TypeError or AttributeError for what are no events of `perfetto`.
    """
    roles: dict[tuple[int, int], str] = {}
    for event in (event for event in events if event["name"] == "thread_name"):
        name = str(event["args"]["name"])
        roles[event["pid"], event["tid"]] = name.partition(": ")[2] or name
    first: dict[tuple[int, str], int] = {}
    for (group, track), role in roles.items():
        first[group, role] = min(first.get((group, role), track), track)
    return roles, first


def shortened(value: Mapping[str, Any], clocks: int = COMMITTED_CLOCKS) -> dict[str, Any]:
    """Return a stretch of what `perfetto` gives, small enough to be committed: so many clocks, with the first store in
    their middle where there is one, without waits, and of each role its first warp alone."""
    events = value["traceEvents"]
    roles, first = first_tracks(events)
    spans = [e for e in events if e["ph"] == "X" and e["cat"] != "wait"]
    starts = [e["ts"] for e in spans if e["cat"] == "store"] or [e["ts"] for e in spans]
    begin = max(0, min(starts, default=0) - clocks // 2)
    kept = [
        e
        for e in spans
        if e["ts"] < begin + clocks
        and e["ts"] + e["dur"] > begin
        and (e["cat"] == "load" or e["tid"] == first[e["pid"], roles[e["pid"], e["tid"]]])
    ]
    shown = {(e["pid"], e["tid"]) for e in kept}
    heads = [e for e in events if e["ph"] == "M" and ("tid" not in e or (e["pid"], e["tid"]) in shown)]
    return {**value, "traceEvents": [*heads, *kept]}
