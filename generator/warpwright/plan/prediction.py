"""What a prediction says: how long a problem takes, what bounds it, and what that is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Prediction", "extents_of", "time_text"]


@dataclass(frozen=True)
class Prediction:
    """Seconds in all; `speed` in the unit `rate` (TFLOP/s, TB/s); `bound` names the largest of the terms.

    `clocks` are per tile or chunk and term, `counts` what is worked through (tiles, waves, CTAs), `notes` are remarks
    for a person, a line each.
    """

    seconds: float
    speed: float
    rate: str
    bound: str
    clocks: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def time_text(seconds: float) -> str:
    """Return a duration with four digits in the unit that suits it: 191.5 us, 84.127 ms."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3f} {unit}"
    return f"{seconds * 1e6:.1f} us"


def extents_of(problem: Mapping[str, int]) -> dict[str, int]:
    """Return the extents by mode ({"M": 4096}) of a problem as a YAML file writes it ({m: 4096})."""
    return {field.upper(): extent for field, extent in problem.items()}
