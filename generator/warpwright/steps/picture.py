"""Timelines as numbers for a picture: tracks from top to bottom, spans as rectangles, one scale for all of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpwright.plan.step import Span

__all__ = ["BAR", "LEFT", "WIDTH", "Box", "Picture", "longest", "picture"]

#: In pixels: of the spans, of a bar, and left of them for the names of tracks.
WIDTH, BAR, LEFT = 960, 14, 110
_GAP, _AXIS = 2, 16
#: Clocks between two ticks, whatever the scale: the first of which at most so many fit.
_TICKS, _MOST = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000), 12


@dataclass(frozen=True)
class Box:
    """A span: where it lies, and what it is, for the colour and for who points at it."""

    x: float
    y: int
    width: float
    kind: str
    title: str


@dataclass(frozen=True)
class Picture:
    """A timeline: the names of its tracks with where they lie, its spans, and ticks in clocks with where they lie."""

    tracks: tuple[tuple[str, int], ...]
    boxes: tuple[Box, ...]
    ticks: tuple[tuple[str, float], ...]
    height: int
    width: int = WIDTH + LEFT + 30  # the last label ends beyond its tick
    bar: int = BAR


def longest(timelines: Sequence[Sequence[Span]]) -> float:
    """Clocks of the longest of several timelines, 1 where there is none."""
    return max((span.end - _start(spans) for spans in timelines for span in spans), default=1.0)


def picture(spans: Sequence[Span], clocks: float) -> Picture:
    """Return the picture of a timeline that begins with its first span, as wide as so many clocks."""
    scale, start = WIDTH / clocks, _start(spans)
    names = list(dict.fromkeys(span.track for span in spans))
    names.sort(key=lambda name: (not name.startswith("CTA"), not name.startswith("stage"), name))
    at = {name: number * (BAR + _GAP) for number, name in enumerate(names)}
    boxes = tuple(
        Box(
            round(LEFT + (span.start - start) * scale, 1),
            at[span.track],
            round(max((span.end - span.start) * scale, 0.5), 1),
            span.kind,
            f"{span.kind}: {span.start - start:.0f} to {span.end - start:.0f}, {span.end - span.start:.0f} clocks",
        )
        for span in spans
    )
    step = next((each for each in _TICKS if clocks / each <= _MOST), _TICKS[-1])
    ticks = tuple((f"{clock:,}", round(LEFT + clock * scale, 1)) for clock in range(0, int(clocks) + 1, step))
    return Picture(tuple(at.items()), boxes, ticks, len(names) * (BAR + _GAP) + _AXIS)


def _start(spans: Sequence[Span]) -> float:
    return min((span.start for span in spans), default=0.0)
