"""What a measurement of two kernels on two streams must be: its form, and that its parts agree (device/contrast.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from warpwright.bundle.origin import Origin, check_names, check_time, newer_there, other_build
from warpwright.device.contrast import KIND, PROTOCOLS
from warpwright.device.two_streams import MAKER, NARROW, ONE, READER, TWO, chunk_length
from warpwright.frozen import Frozen
from warpwright.protocols import LARGEST_RATIO
from warpwright.record import read_json, write_json
from warpwright.record.forms import Count, Error, Finite, Positive, Some, Text
from warpwright.record.schema import check_form, check_gpu
from warpwright.record.wrong import SchemaError

__all__ = ["FILE", "check_contrast", "record_contrast"]

#: In the reader's folder.
FILE = "contrast.json"


class _Asked(Frozen):
    argument: Text
    mode: Text
    unit: Some
    problem: dict[Text, Some]
    scalars: dict[Text, Finite]
    chunks: Annotated[list[Some], Field(min_length=1)]


class _Checked(Frozen):
    elements: Some
    ratio: Error


class _Way(Frozen):
    way: Literal["maker", "reader", "one stream", "two streams", "two streams, narrow maker"]
    chunks: Some
    us: Annotated[list[Positive], Field(min_length=1)]
    host_us: Annotated[list[Positive], Field(min_length=1)]


class _Contrast(Frozen):
    kind: Literal["contrast"]
    protocol: int
    judged_by: str = ""
    maker: Origin
    reader: Origin
    asked: _Asked
    seed: Count
    status: Literal["correct", "incorrect", "launch_failed", "crash", "hang", "not_run"]
    diagnosis: str
    checked: _Checked | dict[Text, Any]
    ways: list[_Way]
    shared: str
    gpu: dict[str, Any]
    time: str


def check_contrast(value: Mapping[str, Any]) -> None:
    """Raise SchemaError unless `value` is a measurement as `device.contrast.contrast` returns it."""
    found: _Contrast = check_form(_Contrast, value, "")
    if found.protocol not in PROTOCOLS:
        raise SchemaError("protocol", found.protocol, f"of {KIND} results, {PROTOCOLS[-1]} is the newest known here")
    if bool(found.judged_by) != (found.protocol > 1):
        raise SchemaError("judged_by", found.judged_by, "it is told since version 2, and since then always")
    check_gpu(value["gpu"], found.reader.arch)
    check_time(found.time)
    for who in ("maker", "reader"):
        check_names(value[who], f"{who}.")
    right = found.status == "correct"
    if right != (found.diagnosis == "") or right != bool(found.ways):
        raise SchemaError("status", found.status, "what is correct has times, and no diagnosis; nothing else has any")
    if not right:
        return
    checked = found.checked
    if not isinstance(checked, _Checked) or isinstance(checked.ratio, str) or checked.ratio > LARGEST_RATIO:
        raise SchemaError("checked", value["checked"], "of what is correct no error exceeds its bound, 1")
    told_ways = [(way.way, way.chunks) for way in found.ways]
    numbers = _numbers(found.asked)
    due = [(MAKER, 1), *((name, chunks) for chunks in numbers for name in (READER, ONE, TWO, NARROW))]
    if sorted(told_ways) != sorted(due):
        rule = "each number of chunks that was asked for has each way, once"
        raise SchemaError("ways", sorted(set(told_ways) ^ set(due))[:2], rule)
    for number, way in enumerate(found.ways):
        for name, samples in (("us", way.us), ("host_us", way.host_us)):
            if len(samples) != len(found.ways[0].us):
                rule = f"in each round each way goes once, and the first was timed {len(found.ways[0].us)} times"
                raise SchemaError(f"ways.{number}.{name}", f"{len(samples)} samples", rule)


def _numbers(asked: _Asked) -> list[int]:
    """The numbers of chunks that the mode is cut into, of those asked for; and one."""
    length = asked.problem.get(asked.mode.lower())
    if length is None:
        raise SchemaError("asked.mode", asked.mode, f"it is one of {', '.join(asked.problem).upper()}")
    return sorted({-(-length // chunk_length(length, asked.unit, chunks)) for chunks in asked.chunks} | {1})


def record_contrast(result: Mapping[str, Any], out: Path) -> str:
    """Write a measurement into its reader's folder; returns "" or why it is refused. Raises SchemaError for none."""
    check_contrast(result)
    reader = result["reader"]
    folder = out / reader["config"] / reader["variant"]
    why = other_build(folder, reader)
    if why or result["status"] == "not_run":
        return why or f"no verdict (not_run): {result['diagnosis']}"
    path = folder / FILE
    there = read_json(path) or {}
    why = newer_there(path, {**there.get("reader", {}), "time": there.get("time")}, {**reader, "time": result["time"]})
    if not why:
        write_json(path, result)
    return why
