"""What the emulator reports: findings, and the errors for what it does not emulate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class EmulatorError(Exception):
    """The kernel or the launch cannot be emulated; the message says what and why. Not a verdict on the kernel."""


class UnsupportedInstruction(EmulatorError):  # noqa: N818 - the field's word for it
    """The PTX holds instructions whose semantics are not implemented; the message names each of them."""


@dataclass(frozen=True)
class Finding:
    """One defect. `kind` is stable (see `Kind`); `lines` are the PTX lines involved, the culprit first.

    `about`: what it is about where no line is involved; findings of one kind about the same are one.
    """

    kind: str
    message: str
    lines: tuple[int, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, compare=False)
    about: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True)
class Kind:
    """What a kind of finding means, and what it makes of a variant (a word of `record.STATUSES`).

    Misused barriers and addresses fault or hang on the device: they count as what the PTX ISA lets happen at worst,
    where it says so, else as wrong results. follows: most often the consequence of another finding, and told after it.
    """

    meaning: str
    status: str
    follows: bool = False


#: The kinds that any unit may report, of one status in the order in which they are told; units add their own.
KINDS: Mapping[str, Kind] = {
    "launch-refused": Kind(
        "the launch asks for what the hardware or the kernel does not allow: it would not start", "launch_failed"
    ),
    "deadlock": Kind("every warp that is left waits for something that nobody can do any more", "hang", True),
    "livelock": Kind("the instruction budget ran out", "hang", True),
    "convergence": Kind("an instruction that needs all lanes of the warp runs in a part of them", "hang"),
    "shared-bounds": Kind("an address outside the shared memory of the CTA", "crash"),
    "misaligned": Kind("an address that is not a multiple of the access size, or of what is demanded", "crash"),
    "global-bounds": Kind("a global access outside every buffer, or a write to an input", "crash"),
    "exit": Kind("a warp or CTA ends while asynchronous work or a peer still needs it", "crash", True),
    "race": Kind("two accesses of the same memory, one of them a write, that nothing orders", "incorrect"),
    "uninitialised-read": Kind("on-chip memory is read that nothing wrote", "incorrect"),
    "written-twice": Kind("an output byte is written a second time", "incorrect"),
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
