"""What results say of the GPUs that they were obtained on, where that cannot be: of one alone, and of several together.

Only what holds of every GPU of its kind stands here, by NVIDIA's own lists (CUDA GPU compute capability; release notes
of the CUDA toolkit). It finds the result of one GPU that was given out as another's; not one that was invented whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Clash", "clashes", "impossible"]

#: Words in the names of GPUs, by the compute capability that these have.
_MODELS = {
    "8.0": ("A30", "A100", "A800"),
    "8.9": ("L4", "L20", "L40", "L40S"),
    "9.0": ("H20", "H100", "H200", "H800", "GH200"),
    "10.0": ("B200", "GB200"),
    "10.3": ("B300", "GB300"),
    "11.0": ("THOR",),
    "12.1": ("GB10",),
}
#: By compute capability the first branch of the driver, and the first CUDA, that knows it.
_FIRST = {
    "9.0": (520, (11, 8)),
    "10.0": (570, (12, 8)),
    "10.3": (575, (12, 9)),
    "11.0": (580, (13, 0)),
    "12.0": (570, (12, 8)),
    "12.1": (575, (12, 9)),
}


def impossible(gpu: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the field of a GPU's description that no GPU of its compute capability has, and why; None for none.

    `gpu`: as `device.telemetry` describes it. Names, drivers and versions that are not known here are not judged.
    """
    capability, words = gpu["compute_capability"], re.findall(r"[A-Z0-9]+", gpu["gpu"].upper())
    for due, models in _MODELS.items():
        model = next((model for model in models if model in words), "")
        if model and due != capability:
            return "gpu", f"a {model} has compute capability {due}, and this says {capability}"
    branch, cuda = _FIRST.get(capability, (0, (0, 0)))
    driver, version = re.match(r"([0-9]+)\.", gpu["driver"]), re.match(r"([0-9]+)\.([0-9]+)", gpu["cuda"])
    if driver and int(driver[1]) < branch:
        return "driver", f"the first branch that knows compute capability {capability} is {branch}"
    if version and (int(version[1]), int(version[2])) < cuda:
        return "cuda", f"the first that knows compute capability {capability} is {cuda[0]}.{cuda[1]}"
    built = re.search(r"\+cu([0-9]+)([0-9])$", gpu["torch"])
    if built and version and f"{built[1]}.{built[2]}" != version[0]:
        return "cuda", f"torch {gpu['torch']} is built with {built[1]}.{built[2]}"
    return None


@dataclass(frozen=True)
class Clash:
    """One thing of which results tell different things: what it is, and the places by what each tells of it."""

    what: str
    told: Mapping[str, list[str]]

    def of(self, place: str) -> str:
        """Say with which other place one is at odds, "" where it is with none."""
        own = next((told for told, places in self.told.items() if place in places), None)
        other = next(((told, places[0]) for told, places in self.told.items() if told != own), None)
        return f"{self.what} is {own} here, and {other[0]} in {other[1]}" if own is not None and other else ""

    def __str__(self) -> str:
        return f"{self.what} is " + ", and ".join(f"{told} in {places[0]}" for told, places in self.told.items())


def clashes(described: Iterable[tuple[str, Any]]) -> list[Clash]:
    """Return what descriptions of GPUs, with their places, say of one GPU that cannot all be: it has one name and one
    compute capability, and no two capabilities have as many SMs and, to the byte, as much memory."""
    found: dict[str, dict[str, list[str]]] = {}
    for place, gpu in described:
        for what, told in _claims(gpu) if isinstance(gpu, Mapping) else ():
            found.setdefault(what, {}).setdefault(told, []).append(place)
    return [Clash(what, told) for what, told in found.items() if len(told) > 1]


def _claims(gpu: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    uuid, capability = gpu.get("uuid"), f"of compute capability {gpu.get('compute_capability')}"
    # The uuid of a MIG instance is that of its place in its GPU, where one of another size may follow.
    part = isinstance(uuid, str) and uuid.startswith("MIG-")
    if uuid:
        yield f"the GPU with the uuid {uuid}", capability if part else f"{gpu.get('gpu')}, {capability}"
    if not part:
        yield f"the GPU with {gpu.get('sms')} SMs and {gpu.get('memory_bytes')} B", capability
