"""Validation of many variants: one verdict per variant, each in a form that says what it is for and can be recorded."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.device.coverage import STANDARD, Asked, asked_problems, beyond
from warpwright.device.judged_by import checking_digest, operations_of
from warpwright.device.supervise import Outcome, Supervisor
from warpwright.device.variant import Variant
from warpwright.protocols import current

__all__ = ["METHOD", "PROTOCOL", "Validation", "figures", "validate"]

METHOD = "gpu-validated"
PROTOCOL = current(METHOD)


@dataclass(frozen=True)
class Validation:
    """What to validate on; launches per problem; seed (None: a fresh one).

    `problems` is `standard` or extents by the names of modes in lower case. `names` are globs
    that select problems, `max_elements` leaves out those with a larger tensor.
    """

    problems: Asked = STANDARD
    repeats: int = 3
    seed: int | None = None
    names: tuple[str, ...] = ("*",)
    max_elements: int | None = None


def validate(
    variants: Iterable[Variant], supervisor: Supervisor, options: Validation = Validation()
) -> Iterator[dict[str, Any]]:
    """Validate variants one after another and yield each one's result as soon as it is there.

    A result has the variant's origin, `status` (correct, incorrect, launch_failed, crash, hang; `not_run` when nothing
    can be said), `diagnosis`, `figures`, `problems` and `gpu`. Raises DeviceUnavailableError when no device is left.
    """
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    for variant in variants:
        started = time.perf_counter()
        request = {
            "do": "validate",
            "folder": str(variant.folder.resolve()),
            "problems": options.problems if isinstance(options.problems, str) else list(options.problems),
            "repeats": options.repeats,
            "seed": seed,
            "names": list(options.names),
            "max_elements": options.max_elements,
        }
        device = supervisor.start()
        outcome = supervisor.request(request)
        yield _verdict(variant, outcome, device, options, seed, time.perf_counter() - started)


def figures(
    problems: Sequence[Mapping[str, Any]], asked: Asked, repeats: int, seed: int, seconds: float
) -> dict[str, Any]:
    """Return what the figures of single problems come to. `names` are those of the problems that were right, `asked`
    is what the validation was asked for."""
    of = {status: [p for p in problems if p["status"] == status] for status in ("correct", "incorrect", "skipped")}
    return {
        "asked": asked if isinstance(asked, str) else [dict(each) for each in asked],
        "names": sorted(p["name"] for p in of["correct"]),
        "problems": len(problems),
        "correct": len(of["correct"]),
        "incorrect": [p["name"] for p in of["incorrect"]],
        "skipped": [p["name"] for p in of["skipped"]],
        "launches": sum(p.get("launches", 0) for p in problems),
        "elements": sum(p.get("elements", 0) for p in problems),
        "ratio": _worst(problems, "ratio"),
        "relative": _worst(problems, "relative"),
        "repeats": repeats,
        "seed": seed,
        "seconds": round(seconds, 2),
    }


def _verdict(
    variant: Variant, outcome: Outcome, device: Mapping[str, Any], options: Validation, seed: int, seconds: float
) -> dict[str, Any]:
    problems = [event["figures"] for event in outcome.events if event["event"] == "problem"]
    wrong = [problem for problem in problems if problem["status"] == "incorrect"]
    status, diagnosis = outcome.status, outcome.diagnosis
    if not status and wrong:
        status, diagnosis = "incorrect", " | ".join(f"{p['name']}: {'; '.join(p['faults'])}" for p in wrong[:3])
    elif not status and all(problem["status"] != "correct" for problem in problems):
        status, diagnosis = "not_run", "no problem was run"
        if not isinstance(options.problems, str) and not asked_problems(variant.plan, options.problems):
            why = (beyond(variant.plan, problem) for problem in options.problems)
            diagnosis += f": what is asked for is beyond its limits ({next(why, 'nothing is asked for')})"
    return {
        "method": METHOD,
        "protocol": PROTOCOL,
        "judged_by": checking_digest(variant.plan.family, operations_of(variant.plan.kernel)),
        **variant.origin.told(),
        "status": status or "correct",
        "diagnosis": diagnosis,
        "figures": figures(problems, options.problems, options.repeats, seed, seconds),
        "problems": problems,
        "gpu": dict(device),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _worst(problems: Sequence[Mapping[str, Any]], figure: str) -> float | str:
    """The largest of a figure; one that is not finite is text."""
    return max((p[figure] for p in problems if figure in p), key=float, default=0.0)
