"""Timing of validated variants beside the vendor's way to do the same and other peers: one measurement per variant and
problem."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.device.contest import peer_contestant
from warpwright.device.coverage import beyond
from warpwright.device.peers import samples_of
from warpwright.device.problem import sizes_of
from warpwright.device.supervise import Outcome, Supervisor
from warpwright.device.variant import Variant
from warpwright.families import workload
from warpwright.families.running import Work
from warpwright.plan.types import Plan
from warpwright.protocols import current

__all__ = ["METHOD", "PROTOCOL", "Timing", "bench", "figures", "summary"]

METHOD = "benchmarked"
PROTOCOL = current(METHOD)


@dataclass(frozen=True)
class Timing:
    """Problems by the names of modes in lower case ({"m": 4096, ...}); rounds of single cold launches; rounds of
    back-to-back launches of so many seconds."""

    problems: Sequence[Mapping[str, int]]
    rounds: int = 50
    sustained_rounds: int = 3
    sustained_seconds: float = 0.1
    seed: int | None = None


def bench(variants: Sequence[Variant], supervisor: Supervisor, options: Timing) -> Iterator[dict[str, Any]]:
    """Time variants, which must have been validated, and yield a result per problem and variant.

    A result has the variant's origin, `status` (`correct` where it was timed; launch_failed, crash, hang or `not_run`),
    `diagnosis`, `figures` (of one problem), `samples` in microseconds and `gpu`. Where others may have been on the GPU,
    `figures["shared"]` says why: such figures compare with nothing. A variant that fails is left out and the others are
    timed again without it. What is beyond a variant's limits has no result. Raises DeviceUnavailableError.
    """
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "big")
    left = list(variants)
    for problem in options.problems:
        while due := [variant for variant in left if not beyond(variant.plan, problem)]:
            device = supervisor.start()
            request = {
                "do": "bench",
                "folders": [str(variant.folder.resolve()) for variant in due],
                "problem": dict(problem),
                "rounds": options.rounds,
                "sustained_rounds": options.sustained_rounds,
                "sustained_seconds": options.sustained_seconds,
                "seed": seed,
            }
            outcome = supervisor.request(request)
            if not outcome.status:
                yield from _results(due, problem, outcome, device)
                break
            named = [v for v in due if outcome.who == v.name]
            failed = named or due  # a peer's, or nobody's
            for variant in failed:
                status = outcome.status if named else "not_run"
                yield _result(variant, problem, status, outcome.diagnosis, {}, {}, device)
            left = [variant for variant in left if variant not in failed]


def summary(samples: Sequence[float]) -> dict[str, float]:
    """Median and percentiles of samples, in their unit."""
    values = np.percentile(np.asarray(samples), (50, 5, 95, 99))
    return {name: round(float(v), 3) for name, v in zip(("median", "p5", "p95", "p99"), values, strict=True)}


def _results(
    variants: Sequence[Variant],
    problem: Mapping[str, int],
    outcome: Outcome,
    device: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    measured = outcome.events[-1]
    samples = {contestant["name"]: contestant for contestant in measured["contestants"]}
    for variant in variants:
        own = samples[variant.name]
        kind = workload(variant.plan.family).peer_key(variant.plan)
        peers, kept = measured["peers"][kind], {key: own[key] for key in ("cold_us", "sustained_us")}
        for number in (number for number, name in enumerate(peers) if name):
            first, again = (samples[peer_contestant(kind, number, part)] for part in (1, 2))
            cold, sustained, second = samples_of(number)
            kept |= {cold: first["cold_us"], sustained: first["sustained_us"], second: again["cold_us"]}
        told = figures(variant.plan, problem, kept, measured["clocks"], peers, measured["shared"])
        yield _result(variant, problem, "correct", "", told, kept, device)


def figures(
    plan: Plan,
    problem: Mapping[str, int],
    samples: Mapping[str, Sequence[float]],
    clocks: Sequence[Mapping[str, float]],
    peers: Sequence[str],
    shared: str = "",
) -> dict[str, Any]:
    """Return what the samples of one variant and problem come to, beside its `peers`, by name.

    The first peer is the vendor's way to do the same, "" where there is none. `shared` says why others may have been on
    the GPU, "" where it was this process's alone. `samples` are microseconds: cold_us, sustained_us, and of each peer
    what `samples_of` names.
    """
    family = workload(plan.family)
    work = family.work(plan, dict(sizes_of(problem, family.modes)))
    found: dict[str, Any] = {
        "problem": dict(problem),
        "cold_us": summary(samples["cold_us"]),
        "speed": _speed(work, samples["cold_us"]),
        "rate": work.rate,
        "rounds": len(samples["cold_us"]),
        "clocks": list(clocks),
    }
    if shared:
        found["shared"] = shared
    if samples["sustained_us"]:
        found["sustained_us"] = summary(samples["sustained_us"])
        found["sustained_speed"] = _speed(work, samples["sustained_us"])
    for number, name in enumerate(peers):
        if name and number:
            found.setdefault("further_peers", []).append(_against(name, work, samples, number))
        elif name:
            found["peer"] = _against(name, work, samples, number)
    return found


def _against(name: str, work: Work, samples: Mapping[str, Sequence[float]], number: int) -> dict[str, Any]:
    """Compare with a peer: `ratio` above 1 is faster than it, within `noise` of 1 a tie."""
    cold, sustained, second = samples_of(number)
    mine, theirs, again = (float(np.median(samples[key])) for key in ("cold_us", cold, second))
    noise = abs(theirs - again) / theirs
    found: dict[str, Any] = {
        "name": name,
        "cold_us": summary(samples[cold]),
        "speed": _speed(work, samples[cold]),
        "ratio": round(theirs / mine, 4),
        "noise": round(noise, 4),
        "tie": abs(theirs / mine - 1) <= noise,
    }
    if samples["sustained_us"] and samples[sustained]:
        found["sustained_us"] = summary(samples[sustained])
        ratio = np.median(samples[sustained]) / np.median(samples["sustained_us"])
        found["sustained_ratio"] = round(float(ratio), 4)
    return found


def _speed(work: Work, microseconds: Sequence[float]) -> float:
    """Speed at the median, in the work's rate, to four digits."""
    return float(f"{work.speed(float(np.median(microseconds)) * 1e-6):.4g}")


def _result(
    variant: Variant,
    problem: Mapping[str, int],
    status: str,
    diagnosis: str,
    figures: Mapping[str, Any],
    samples: Mapping[str, Any],
    device: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "method": METHOD,
        "protocol": PROTOCOL,
        **variant.origin.told(),
        "problem": dict(problem),
        "status": status,
        "diagnosis": diagnosis,
        "figures": dict(figures),
        "samples": dict(samples),
        "gpu": dict(device),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
