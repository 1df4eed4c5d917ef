"""A twin on a GPU, in a watched child process: its marks in clocks of the SM, and what they say.

Travels in bundles: imports nothing that a GPU host lacks.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from warpwright.device.marks import Marks, layout_of
from warpwright.device.supervise import Outcome, Supervisor
from warpwright.device.variant import load_variant
from warpwright.device.watch import UNSET
from warpwright.diagnosis import obtained
from warpwright.diagnosis.figures import figures_of
from warpwright.diagnosis.hang import hang_of
from warpwright.diagnosis.report import Report
from warpwright.diagnosis.spans import Trace, trace_of
from warpwright.plan.types import Plan

__all__ = ["LIMIT", "diagnose_measured", "marks_of", "report_of"]

#: Seconds after which a launch hangs: a hundred times what any takes.
LIMIT = 10.0
#: Seconds beyond those of a launch that its process may take to say something.
_SLACK = 20.0


def diagnose_measured(
    plan: Plan,
    name: str,
    folder: Path,
    sizes: Sequence[tuple[str, int]],
    supervisor: Supervisor,
    limit: float | None = None,
    seed: int = 0,
    quiet: Path | None = None,
    plain: Path | None = None,
) -> tuple[Report, Trace]:
    """Run the twin in `folder` on the GPU and say what that shows. `plan`: the variant's; `limit`: seconds
    after which a launch hangs (default: LIMIT); `quiet`, `plain`: folders of the twin to be stamped and of the kernel.

    Raises DeviceUnavailableError where there is no device.
    """
    device, limit, silence = supervisor.start(), limit or LIMIT, supervisor.silence
    request = {"do": "watch", "folder": str(folder.resolve()), "sizes": [list(each) for each in sizes], "limit": limit,
               "seed": seed, "quiet": _path(quiet), "plain": _path(plain)}  # fmt: skip
    supervisor.silence = max(silence, limit + _SLACK)
    try:
        outcome = supervisor.request(request)
    finally:
        supervisor.silence = silence
    report, trace = report_of(plan, name, "x".join(str(extent) for _, extent in sizes), outcome, device)
    if quiet and plain:
        kernel, twin = load_variant(plain).origin, load_variant(quiet).origin
        report = replace(report, obtained=obtained.told(kernel, twin.source_sha, gpu=dict(device)))
    return report, trace


def _path(folder: Path | None) -> str:
    return str(folder.resolve()) if folder else ""


def report_of(plan: Plan, name: str, problem: str, outcome: Outcome, device: Mapping[str, Any]) -> tuple[Report, Trace]:
    """Say what the outcome of a watched run shows."""
    told = next((event for event in outcome.events if event["event"] == "marks"), None)
    gpu = f"{device.get('gpu', 'a GPU')}, driver {device.get('driver', 'unknown')}"
    found = (f"{outcome.status}: {outcome.diagnosis}",) if outcome.status else ()
    if told is None:
        return Report(name, problem, "measured", outcome.status or "not_run", gpu, found=found), Trace(0, (), ())
    marks, kernel = marks_of(plan, told), plan.main
    right = bool(told["right"])
    status = "hang" if outcome.status == "hang" else outcome.status or ("ended" if right else "wrong")
    hang = None if status == "ended" else hang_of(kernel, marks)
    trace = trace_of(kernel, marks)
    figures = figures_of(trace)
    slowdown, cost = _cost(told)
    shared = str(told.get("shared", ""))
    return Report(name, problem, "measured", status, gpu, hang, figures, found, cost, slowdown, shared=shared), trace


def _cost(told: Mapping[str, Any]) -> tuple[float | None, tuple[str, ...]]:
    """What the marks cost, as a ratio and in words; without the kernel's own time, in words alone."""
    twin, plain = told.get("microseconds"), told.get("plain_microseconds")
    if not twin:
        return None, ()
    if not plain:
        return None, (f"the twin takes {twin:g} us; beside the kernel's own time, that is what its marks cost",)
    return twin / plain, (f"the twin takes {twin:g} us, the kernel {plain:g}: {twin / plain:.2f} x as long",)


def marks_of(plan: Plan, told: Mapping[str, Any]) -> Marks:
    """Unpack the marks that a child has told; without stamps, none is set."""
    of = layout_of(plan)
    stamps = _words(told["stamps"]) if told["stamps"] else np.full(of.stamp_words, UNSET, np.int64)
    return Marks(of, _words(told["notes"]), stamps, UNSET)


def _words(text: str) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.int64)
