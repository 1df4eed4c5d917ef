"""Timelines as numbers for a picture: tracks from top to bottom, spans as rectangles, one scale for all steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpwright.plan.step import Span

__all__ = ["Box", "Picture", "pictures"]

#: In pixels.
WIDTH, HEIGHT, LEFT = 960, 14, 110


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
    """A timeline: the names of its tracks with where they lie, and its spans. `clocks` is where it ends."""

    tracks: tuple[tuple[str, int], ...]
    boxes: tuple[Box, ...]
    height: int
    clocks: int


def pictures(timelines: Sequence[Sequence[Span]]) -> list[Picture]:
    """Return the pictures of several timelines, all on the scale of the longest."""
    longest = max((span.end for spans in timelines for span in spans), default=1.0)
    return [_picture(spans, WIDTH / longest) for spans in timelines]


def _picture(spans: Sequence[Span], scale: float) -> Picture:
    names = list(dict.fromkeys(span.track for span in spans))
    names.sort(key=lambda name: (not name.startswith("CTA"), not name.startswith("stage"), name))
    at = {name: number * (HEIGHT + 2) for number, name in enumerate(names)}
    boxes = tuple(
        Box(
            round(LEFT + span.start * scale, 2),
            at[span.track],
            round(max((span.end - span.start) * scale, 0.5), 2),
            span.kind,
            f"{span.kind}: {span.start:.0f} to {span.end:.0f} clocks",
        )
        for span in spans
    )
    return Picture(
        tuple(at.items()), boxes, len(names) * (HEIGHT + 2), round(max((span.end for span in spans), default=0.0))
    )
