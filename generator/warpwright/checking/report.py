"""What a check has found: a report per launch, as text for a person and as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["LaunchReport", "Message", "Summary", "status_of"]

#: What a finding of the outputs makes of a launch; the emulator's kinds know their own.
_OF_OUTPUTS = {"unwritten": "incorrect", "wrong-result": "incorrect", "schedule": "incorrect"}


@dataclass(frozen=True)
class Message:
    """A finding or a note: its kind, its text with lines of the user's files, and those lines as "file:line"."""

    kind: str
    text: str
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass
class LaunchReport:
    """One launch. `status` is a word of `record.STATUSES`; findings come the gravest first.

    shared_bytes: dynamic. registers: per thread. warp_instructions, seconds: of all runs together; runs: schedules.
    reached: the share of the kernel's branches that were taken, None where it was not measured.
    """

    number: int
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int
    registers: int
    runs: int = 0
    warp_instructions: int = 0
    seconds: float = 0.0
    complete: bool = True
    findings: list[Message] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)

    @property
    def status(self) -> str:
        return status_of(self.findings)

    def data(self) -> dict[str, Any]:
        plain = {name: value for name, value in vars(self).items() if name not in ("findings", "notes")}
        messages = {name: [vars(m) for m in getattr(self, name)] for name in ("findings", "notes")}
        return {**plain, "seconds": round(self.seconds, 3), "status": self.status, **messages}


def status_of(findings: Sequence[Message]) -> str:
    """The gravest status of several findings; `correct` where there is none."""
    from warpwright.emulate import KINDS
    from warpwright.record import STATUSES

    found = [_OF_OUTPUTS.get(m.kind) or KINDS[m.kind].status for m in findings]
    return min(found, key=STATUSES.index) if found else "correct"


@dataclass
class Summary:
    """All launches of a program, and what was found when they were over. `arch`: what it was compiled for."""

    arch: str
    launches: list[LaunchReport] = field(default_factory=list)
    findings: list[Message] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)

    @property
    def every_finding(self) -> list[Message]:
        return [m for launch in self.launches for m in launch.findings] + self.findings

    @property
    def status(self) -> str:
        return status_of(self.every_finding)

    def data(self) -> dict[str, Any]:
        return {
            "arch": self.arch,
            "status": self.status,
            "launches": [launch.data() for launch in self.launches],
            "findings": [vars(m) for m in self.findings],
            "notes": [vars(m) for m in self.notes],
        }
