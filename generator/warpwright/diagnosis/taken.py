"""Timelines of a bundle's variants, on a host without a compiler: the twins that they need were built elsewhere.

Travels in bundles: imports nothing that a GPU host lacks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from warpwright.device.coverage import within
from warpwright.device.problem import sizes_of
from warpwright.device.supervise import Supervisor
from warpwright.device.variant import Variant
from warpwright.diagnosis.hung import TWIN
from warpwright.diagnosis.measured import diagnose_measured
from warpwright.diagnosis.obtained import PROTOCOL
from warpwright.diagnosis.perfetto import perfetto, shortened
from warpwright.families import workload

__all__ = ["KIND", "QUIET", "ready", "timelines"]

#: What a line of results that is one says of itself.
KIND = "timeline"
#: The folder, in that of a variant, of the built twin that is stamped.
QUIET = "quiet"
_STATUS = {"ended": "correct", "wrong": "incorrect"}


def ready(variants: Sequence[Variant], problems: Sequence[Mapping[str, int]]) -> list[Variant]:
    """Return the variants that have both twins, and a problem that is within their limits."""
    return [
        variant
        for variant in variants
        if all((variant.folder / name).is_dir() for name in (TWIN, QUIET)) and within(variant.plan, problems)
    ]


def timelines(
    variants: Sequence[Variant], problems: Sequence[Mapping[str, int]], supervisor: Supervisor
) -> Iterator[dict[str, Any]]:
    """Take the timeline of each of the variants, which are `ready`, on the first problem within its limits.

    A result has the variant's origin, `status`, `diagnosis`, `cost` (twin's time over kernel's), `trace` and `gpu`.

    Raises DeviceUnavailableError.
    """
    for variant in variants:
        device = dict(supervisor.start())
        problem = dict(within(variant.plan, problems)[0])
        sizes = tuple(sizes_of(problem, workload(variant.plan.family).modes))
        folder = variant.folder
        report, trace = diagnose_measured(
            variant.plan, variant.name, folder / TWIN, sizes, supervisor, quiet=folder / QUIET, plain=folder
        )
        right = report.status == "ended"
        more = {"obtained": report.obtained, "shared": report.shared}
        whole = perfetto(trace, variant.name, f"measured on {report.device}", report.problem, more)
        yield {
            "kind": KIND,
            "protocol": PROTOCOL,
            **variant.origin.told(),
            "problem": problem,
            "status": _STATUS.get(report.status, report.status),
            "diagnosis": "" if right else " | ".join(report.found) or "its numbers are not right",
            "cost": report.slowdown if right else None,
            "trace": shortened(whole) if right else {},
            "gpu": device,
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
