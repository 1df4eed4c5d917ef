"""What a timeline that a bundle has taken must be: its form, and that its parts agree (diagnosis/taken.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from warpwright.bundle.origin import Origin, check_names, check_time, newer_there, other_build
from warpwright.diagnosis.obtained import PROTOCOL
from warpwright.diagnosis.taken import KIND
from warpwright.diagnosis.timeline import written
from warpwright.record.atomic import write_text
from warpwright.record.forms import Positive, Some, Text
from warpwright.record.schema import check_form, check_gpu
from warpwright.record.strict import parse_json
from warpwright.record.wrong import SchemaError
from warpwright.steps.measured import TimelineError, measured

__all__ = ["FILE", "check_timeline", "record_timeline"]

#: In the variant's folder; `warpwright diagnose VARIANT --trace` may write it too.
FILE = "timeline.json"


class _Timeline(Origin):
    kind: Literal["timeline"]
    protocol: int
    problem: dict[Text, Some]
    status: Literal["correct", "incorrect", "launch_failed", "crash", "hang", "not_run"]
    diagnosis: str
    cost: Positive | None
    trace: dict[str, Any]
    gpu: dict[str, Any]
    time: str


def check_timeline(value: Mapping[str, Any]) -> None:
    """Raise SchemaError unless `value` is a timeline as `diagnosis.taken.timelines` gives it."""
    found: _Timeline = check_form(_Timeline, value, "")
    if found.protocol != PROTOCOL:
        raise SchemaError("protocol", found.protocol, f"of {KIND} results, {PROTOCOL} can be read here")
    check_gpu(value["gpu"], found.arch)
    check_time(found.time)
    check_names(value)
    right = found.status == "correct"
    if right != (found.diagnosis == "") or right != bool(found.trace):
        raise SchemaError("status", found.status, "what is correct has a trace and no diagnosis; nothing else has one")
    if not right:
        return
    try:
        told = measured(found.trace, found.variant)
    except TimelineError as error:
        raise SchemaError("trace", "a trace", str(error)) from None
    obtained, due = told.obtained, f"measured on {value['gpu']['gpu']}, driver {value['gpu']['driver']}"
    if not told.source.startswith(due):
        raise SchemaError("trace.otherData.unit", told.source, f"it was {due}")
    for key in ("protocol", "source_sha", "cubin_sha", "arch", "toolchain", "gpu"):
        if obtained.get(key) != value[key]:
            raise SchemaError(f"trace.otherData.obtained.{key}", obtained.get(key), "it must be what the result says")
    if not isinstance(obtained.get("twin_sha"), str):
        raise SchemaError("trace.otherData.obtained.twin_sha", obtained.get("twin_sha"), "every timeline has it")


def record_timeline(result: Mapping[str, Any], out: Path) -> str:
    """Write a timeline into its variant's folder; returns "" or why it is refused. Raises SchemaError for none."""
    check_timeline(result)
    folder = out / result["config"] / result["variant"]
    why = other_build(folder, result)
    if why or result["status"] != "correct":
        return why or f"no timeline ({result['status']}): {result['diagnosis']}"
    path = folder / FILE
    why = newer_there(path, _obtained(path, result["variant"]), result)
    if not why:
        write_text(path, written(result["trace"]))
    return why


def _obtained(path: Path, variant: str) -> Mapping[str, Any]:
    """What the timeline that is there was obtained with, {} where there is none, or it does not say."""
    try:
        return measured(parse_json(path.read_text(encoding="utf-8")), variant).obtained
    except (FileNotFoundError, ValueError):  # TimelineError among them, and what is no JSON or no text
        return {}
