"""What a variant is as a step of a sequence: what it adds to the one before, and a modelled timeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Span", "Step"]


@dataclass(frozen=True)
class Span:
    """Something that takes a while, from `start` to `end` in clocks, on the track of who does it."""

    track: str
    kind: Literal["begin", "load", "compute", "store"]
    start: float
    end: float


@dataclass(frozen=True)
class Step:
    """One step: what it `adds`, in a few words, and a modelled timeline of one CTA, or of those that follow another."""

    adds: str
    timeline: tuple[Span, ...]
