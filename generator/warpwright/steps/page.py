"""One page of a sequence of steps, complete in itself: the table, and per step a timeline and what its source adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from warpwright.plan.step import Span
from warpwright.resources import templates
from warpwright.steps.difference import Line, changed, difference
from warpwright.steps.picture import HEIGHT, LEFT, WIDTH, Picture, pictures
from warpwright.steps.table import Row

__all__ = ["page"]


@dataclass(frozen=True)
class _Shown:
    """A step as the page shows it."""

    row: Row
    picture: Picture
    lines: Sequence[Line]
    source: str


def page(title: str, rows: Sequence[Row], timelines: Sequence[Sequence[Span]], sources: Sequence[str]) -> str:
    """Return the page as HTML; `timelines` and `sources` are those of the rows, in their order."""
    befores = ["", *sources]
    steps = [
        _Shown(row, picture, difference(before, source) if before else [], source)
        for row, picture, before, source in zip(rows, pictures(timelines), befores, sources, strict=False)
    ]
    environment = Environment(
        loader=FileSystemLoader(templates()),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    sizes = {"width": WIDTH + LEFT, "bar": HEIGHT}
    return environment.get_template("pages/steps.html.j2").render(title=title, steps=steps, changed=changed, **sizes)
