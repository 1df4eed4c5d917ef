"""Writes a trace's timeline as a file (perfetto.py)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from warpwright.canonical import canonical_json
from warpwright.diagnosis.perfetto import perfetto
from warpwright.diagnosis.spans import Trace
from warpwright.record.atomic import write_text

__all__ = ["write_perfetto", "written"]


def write_perfetto(
    path: Path, trace: Trace, label: str, source: str, problem: str = "", more: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Write a trace's timeline. OSError where `path` cannot be written."""
    write_text(path, written(perfetto(trace, label, source, problem, more)))


def written(value: Mapping[str, Any]) -> str:
    """Return the one text of a timeline."""
    return canonical_json(value) + "\n"
