"""What a variant is as a step of a sequence: what it adds to the one before, a modelled timeline, others' time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["Published", "Span", "Step"]


@dataclass(frozen=True)
class Span:
    """Something that takes a while, from `start` to `end` in clocks, on the track of who does it."""

    track: str
    kind: Literal["begin", "load", "compute", "store"]
    start: float
    end: float


@dataclass(frozen=True)
class Published:
    """What others say that a kernel of theirs takes which does the same: seconds for a problem, and who says it."""

    seconds: float
    problem: Mapping[str, int]
    source: str


@dataclass(frozen=True)
class Step:
    """One step: what it `adds`, in a few words, and a modelled timeline of one CTA, or of those that follow another.

    untried: why nothing has been measured of any step, "" where it could be.
    """

    adds: str
    timeline: tuple[Span, ...]
    published: Published | None = None
    untried: str = ""
