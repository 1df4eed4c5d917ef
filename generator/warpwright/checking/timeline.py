"""A timeline of one CTA of each launch as Chrome trace JSON: a process per launch, a track per warp.

Times are modelled clocks, one of them shown as a microsecond: who waits for whom, not how long a kernel takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpwright.canonical import canonical_json
from warpwright.record.atomic import write_text

__all__ = ["write_timelines"]

#: What every event has (`Result.timeline`).
_COMMON = ("kind", "cta", "warp", "line", "start", "end")


def write_timelines(
    path: Path, launches: Sequence[Mapping[str, Any]], timelines: Sequence[Sequence[Mapping[str, Any]]]
) -> None:
    """Write the timelines of `launches`, in their order. Raises OSError where `path` cannot be written."""
    events: list[dict[str, Any]] = []
    for launch, timeline in zip(launches, timelines, strict=True):
        title = {"name": f"launch {launch['number']}: {launch['kernel']}"}
        events.append({"name": "process_name", "ph": "M", "pid": launch["number"], "args": title})
        tracks: dict[int, list[Mapping[str, Any]]] = {}
        for event in timeline:
            tracks.setdefault(event["warp"], []).append(event)
        for warp, own in sorted(tracks.items()):
            place = {"pid": launch["number"], "tid": warp}
            events.append({"name": "thread_name", "ph": "M", **place, "args": {"name": f"warp {warp}"}})
            ordered = sorted(own, key=lambda event: event["start"])
            for event, after in zip(ordered, [*ordered[1:], None], strict=True):
                length = max(event["end"] - event["start"], 0) if event["kind"] == "wait" else 1
                if after is not None:  # slices of a track must not overlap
                    length = min(length, after["start"] - event["start"])
                facts = {key: str(value) for key, value in event.items() if key not in _COMMON}
                name = f"wait {event['what']}" if event["kind"] == "wait" else event["kind"]
                events.append({"name": name, "cat": event["kind"], "ph": "X", **place, "ts": event["start"],
                               "dur": length, "args": {"PTX line": event["line"], **facts}})  # fmt: skip
    write_text(
        path, canonical_json({"traceEvents": events, "otherData": {"unit": "1 us is one modelled clock"}}) + "\n"
    )
