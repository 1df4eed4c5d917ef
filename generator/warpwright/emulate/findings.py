"""What the emulator reports: findings, and the errors for what it does not emulate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class EmulatorError(Exception):
    """The kernel or the launch cannot be emulated; the message says what and why. Not a verdict on the kernel."""


class UnsupportedInstruction(EmulatorError):  # noqa: N818 - the field's word for it
    """The PTX holds instructions whose semantics are not implemented; the message names each of them."""


@dataclass(frozen=True)
class Finding:
    """One defect. `kind` is stable (see `KINDS`); `lines` are the PTX lines involved, the culprit first."""

    kind: str
    message: str
    lines: tuple[int, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


KINDS = {
    "deadlock": "every warp that is left waits for something that nobody can do any more",
    "livelock": "the instruction budget ran out",
    "race": "two accesses of the same shared or tensor memory, one of them a write, with nothing that orders them",
    "uninitialised-read": "shared or tensor memory is read that nothing wrote",
    "shared-bounds": "an address outside the shared memory of the CTA",
    "misaligned": "an address that is not a multiple of the access size, or of what the instruction demands",
    "global-bounds": "a global access outside every buffer, or a write to an input",
    "written-twice": "an output byte is written a second time",
    "mbarrier": "a barrier object misused: not initialised, too many arrivals, transaction count out of range",
    "named-barrier": "a named barrier misused: participants disagree, or not all lanes of a warp take part",
    "wgmma-registers": "accumulator registers touched while a wgmma still owns them, or without wgmma.fence",
    "wgmma": "warps of a warpgroup disagree on a wgmma, or its descriptor is illegal",
    "tcgen05": "a tcgen05 instruction whose operands or issuing threads are illegal",
    "tcgen05-registers": "registers used that a tcgen05.ld may not have filled yet",
    "tensor-memory": "tensor memory allocated, freed or addressed wrongly, or never freed",
    "tma": "a tensor copy whose operands are illegal",
    "exit": "a warp or CTA ends while asynchronous work or a peer still needs it",
    "setmaxnreg": "register reallocation that the warps of a warpgroup do not all make, or that exceeds the pool",
    "convergence": "an instruction that needs all lanes of the warp runs in a part of them",
    "trap": "the kernel executed a trap",
}


class Stop(Exception):  # noqa: N818 - control flow, not an error
    """Raised after a finding that leaves nothing sensible to continue with."""


class Report:
    """Collects findings, each (kind, lines) once, up to `limit`; then `Stop`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.findings: list[Finding] = []
        self.seen: set[tuple[str, tuple[int, ...]]] = set()

    def add(self, kind: str, message: str, lines: tuple[int, ...] = (), fatal: bool = False, **details: Any) -> None:
        if (kind, lines) not in self.seen:
            self.seen.add((kind, lines))
            self.findings.append(Finding(kind, message, lines, details))
        if fatal or len(self.findings) >= self.limit:
            raise Stop
