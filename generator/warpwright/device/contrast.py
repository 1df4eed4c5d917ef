"""The parent's side of two kernels that do the work of one (device/two_streams.py): what is asked, and the result."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from warpwright.device.judged_by import checking_digest, operations_of
from warpwright.device.supervise import Supervisor
from warpwright.device.variant import Variant

__all__ = ["CHUNKS", "KIND", "PROTOCOL", "PROTOCOLS", "Asked", "contrast", "contrast_of", "lines", "of_bundle"]

#: What a line of results that is one says of itself; the versions of how it is obtained that can be read, the last of
#: which is written: since 2 it names what judged.
KIND, PROTOCOLS = "contrast", (1, 2)
PROTOCOL = PROTOCOLS[-1]
#: Numbers of chunks that are tried.
CHUNKS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Asked:
    """What is to be measured: how the reader is fed (`families.planning.Contrast`), the problem by modes in lower case,
    and the numbers of chunks."""

    argument: str
    mode: str
    unit: int
    problem: Mapping[str, int]
    scalars: Mapping[str, float] = field(default_factory=dict)
    chunks: Sequence[int] = CHUNKS


def of_bundle(maker: str, reader: str, asked: Asked) -> dict[str, Any]:
    """Return what a bundle says of the two kernels, by the names of their folders."""
    return {"maker": maker, "reader": reader, **asdict(asked)}


def contrast_of(
    told: Mapping[str, Any], variants: Sequence[Variant], supervisor: Supervisor, rounds: int, seed: int | None
) -> dict[str, Any] | None:
    """Measure what a bundle says, None where one of the two is not among its variants."""
    named = {variant.name: variant for variant in variants}
    how = {name: value for name, value in told.items() if name not in ("maker", "reader")}
    if not {told["maker"], told["reader"]} <= set(named):
        return None
    return contrast(named[told["maker"]], named[told["reader"]], supervisor, Asked(**how), rounds, seed)


def lines(result: Mapping[str, Any]) -> list[str]:
    """Say what came out, in a line per way."""
    if result["status"] != "correct":
        return [f"two kernels on two streams: {result['status']}: {result['diagnosis'][:300]}"]
    return [
        f"{way['way']:27} {way['chunks']:3} chunks  {median(way['us']):8.1f} us  "
        f"(the host takes {median(way['host_us']):.0f} us to enqueue it)"
        for way in result["ways"]
    ]


def contrast(
    maker: Variant, reader: Variant, supervisor: Supervisor, asked: Asked, rounds: int = 50, seed: int | None = None
) -> dict[str, Any]:
    """Measure all ways and return the result, a line of a results file: for whom it is, status, samples, GPU.

    `status` is `correct`, `incorrect`, launch_failed, crash, hang or `not_run`. Raises DeviceUnavailableError.
    """
    seed = seed if seed is not None else int.from_bytes(os.urandom(4), "big")
    device = supervisor.start()
    folders = {"maker": str(maker.folder.resolve()), "reader": str(reader.folder.resolve())}
    outcome = supervisor.request({"do": KIND, **folders, **asdict(asked), "rounds": rounds, "seed": seed})
    measured = next((event for event in outcome.events if event["event"] == "measured"), None)
    faults = measured["checked"]["faults"] if measured else []
    return {
        "kind": KIND,
        "protocol": PROTOCOL,
        "judged_by": checking_digest(reader.plan.family, operations_of(reader.plan.kernel)),
        "maker": maker.origin.told(),
        "reader": reader.origin.told(),
        "asked": asdict(asked),
        "seed": seed,
        "status": outcome.status or ("incorrect" if faults else "correct"),
        "diagnosis": outcome.diagnosis or "; ".join(faults),
        "checked": {name: measured["checked"][name] for name in ("elements", "ratio")} if measured else {},
        "ways": measured["ways"] if measured else [],
        "shared": measured["shared"] if measured else "",
        "gpu": dict(device),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
