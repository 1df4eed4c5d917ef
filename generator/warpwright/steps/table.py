"""What each step is worth: its time and speed beside those of the first step, of the one before, and of the vendor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.plan.step import Published, Step

__all__ = ["Row", "Time", "table"]


@dataclass(frozen=True)
class Time:
    """Seconds for a problem, and the speed that they come to, in the work's rate; `where` a measured one is from, ""
    where it is from here."""

    problem: Mapping[str, int]
    seconds: float
    speed: float
    rate: str
    where: str = ""


@dataclass(frozen=True)
class Row:
    """One step. Gains are of the speed: steps may have been timed on problems of their own.

    over_first and over_before: by the measured times where both steps have one, else by the predicted ones.
    published: of a kernel of others that does the same; no gain is told of it.
    """

    number: int
    name: str
    adds: str
    predicted: Time
    measured: Time | None
    vendor: float | None  # the vendor's time over the measured one
    over_first: float
    over_before: float
    published: Published | None = None


def table(steps: Sequence[tuple[str, Step, Mapping[str, Any], Mapping[str, Any] | None]]) -> list[Row]:
    """Return a row per step, given as its name, itself, predicted time and measured time (or None), the times as the
    commands have them (`cli/results.py`)."""
    rows: list[Row] = []
    for number, (name, step, predicted, measured) in enumerate(steps, 1):
        row = Row(
            number,
            name,
            step.adds,
            _time(predicted),
            _time(measured) if measured else None,
            measured["vendor_ratio"] if measured else None,
            1.0,
            1.0,
            step.published,
        )
        if rows:
            gains = {"over_first": _gain(row, rows[0]), "over_before": _gain(row, rows[-1])}
            row = Row(**{**vars(row), **gains})
        rows.append(row)
    return rows


def _time(told: Mapping[str, Any]) -> Time:
    return Time(told["problem"], told["seconds"], told["speed"], told["rate"], told.get("mark") or "")


def _gain(row: Row, before: Row) -> float:
    """How many times as fast."""
    if row.measured and before.measured:
        return row.measured.speed / before.measured.speed
    return row.predicted.speed / before.predicted.speed
