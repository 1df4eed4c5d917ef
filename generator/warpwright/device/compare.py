"""Comparison of variants on the device with the emulator's outputs on the same inputs: one verdict per variant."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from warpwright.device.cases import cases_of, read_case
from warpwright.device.supervise import Outcome, Supervisor
from warpwright.device.variant import Variant
from warpwright.protocols import current

__all__ = ["METHOD", "PROTOCOL", "compare", "figures", "has_cases"]

METHOD = "compared"
PROTOCOL = current(METHOD)
_FIGURES = ("difference", "relative", "ulps", "ratio", "device", "emulator")


def compare(variants: Iterable[Variant], supervisor: Supervisor, glob: str = "*") -> Iterator[dict[str, Any]]:
    """Compare variants that have cases, one after another, and yield each one's result as soon as it is there.

    A result has the variant's origin, `emulator` (its version), `status` (correct, incorrect, launch_failed, crash,
    hang; `not_run` when nothing can be said), `diagnosis`, `figures`, `problems` and `gpu`; `glob` selects cases by
    name. Raises DeviceUnavailableError when no device is left.
    """
    for variant in variants:
        started, device, emulator = time.perf_counter(), supervisor.start(), ""
        try:
            cases = cases_of(variant.folder, glob)
            if not cases:
                continue
            emulator = read_case(cases[0]).emulator
        except (OSError, ValueError) as error:
            outcome = Outcome("not_run", str(error))
        else:
            outcome = supervisor.request(
                {
                    "do": "compare",
                    "folder": str(variant.folder.resolve()),
                    "cases": [str(path.resolve()) for path in cases],
                }
            )
        yield _verdict(variant, outcome, emulator, device, time.perf_counter() - started)


def has_cases(variant: Variant, glob: str = "*") -> bool:
    """Whether `compare` has something to say of a variant, were it that its cases are damaged."""
    try:
        return bool(cases_of(variant.folder, glob))
    except (OSError, ValueError):
        return True


def figures(problems: Sequence[Mapping[str, Any]], seconds: float) -> dict[str, Any]:
    """Return what the figures of single cases come to; those that were skipped have none."""
    ran = [problem for problem in problems if problem["status"] != "skipped"]
    return {
        "cases": {p["name"]: {name: _short(p[name]) for name in ("equal", *_FIGURES)} for p in ran},
        "elements": sum(p["elements"] for p in ran),
        "equal": _short(_share(ran)),
        **{name: _short(max((p[name] for p in ran), key=float, default=0.0)) for name in _FIGURES},
        "seconds": round(seconds, 2),
    }


def _verdict(
    variant: Variant, outcome: Outcome, emulator: str, device: Mapping[str, Any], seconds: float
) -> dict[str, Any]:
    problems = [event["figures"] for event in outcome.events if event["event"] == "problem"]
    ran = [problem for problem in problems if problem["status"] != "skipped"]
    wrong = [problem for problem in ran if problem["status"] == "incorrect"]
    status, diagnosis = outcome.status, outcome.diagnosis
    if not status and wrong:
        status, diagnosis = "incorrect", " | ".join(f"{p['name']}: {'; '.join(p['faults'])}" for p in wrong)
    elif not status and len(ran) < len(problems):
        status, diagnosis = "not_run", next(p["faults"][0] for p in problems if p["status"] == "skipped")
    return {
        "method": METHOD,
        "protocol": PROTOCOL,
        **variant.origin.told(),
        "emulator": emulator,
        "status": status or "correct",
        "diagnosis": diagnosis,
        "figures": figures(problems, seconds),
        "problems": problems,
        "gpu": dict(device),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _share(ran: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(p["equal"] * p["elements"] for p in ran) / max(1, sum(p["elements"] for p in ran)))


def _short(value: float | str) -> float | str:
    """Four digits; what is below 1 stays below it."""
    if isinstance(value, str):
        return value
    short = float(f"{value:.4g}") + 0.0  # no -0.0
    return 0.9999 if value < 1 <= short else short
