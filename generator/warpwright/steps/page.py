"""One page of a sequence of steps, complete in itself: the table, and per step timelines and what its source adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from warpwright.plan.step import Span
from warpwright.resources import templates
from warpwright.steps.contrast import Contrast
from warpwright.steps.difference import Line, changed, difference
from warpwright.steps.measured import Measured, stretch
from warpwright.steps.picture import Picture, longest, picture
from warpwright.steps.table import Row, Time

__all__ = ["Shown", "page"]


@dataclass(frozen=True)
class Shown:
    """What a page has of a step: its row, the modelled timeline, the measured one where there is one, the source; and
    why what was measured is stale, or none of it was measured, "" where it is not so."""

    row: Row
    modelled: Sequence[Span]
    measured: Measured | None
    source: str
    stale: str = ""
    untried: str = ""


@dataclass(frozen=True)
class _Step:
    row: Row
    pictures: Sequence[tuple[str, Picture]]
    lines: Sequence[Line]
    source: str
    stale: str


def page(
    title: str,
    shown: Sequence[Shown],
    size: Callable[[Time], str],
    time: Callable[[float], str],
    beside: Contrast | None = None,
    stale: str = "",
) -> str:
    """Return the page as HTML. size: a problem's extents in words; time: seconds in words; beside: the same work as two
    kernels, where that was measured; stale: why that no longer counts, "" where it does."""
    clocks = longest([step.modelled for step in shown])
    steps = []
    for before, step in zip([None, *shown], shown, strict=False):
        lines = difference(before.source, step.source) if before else []
        steps.append(_Step(step.row, _pictures(step, clocks), lines, step.source, step.stale))
    environment = Environment(
        loader=FileSystemLoader(templates()),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    origins = " and ".join(dict.fromkeys(step.row.measured.where for step in shown if step.row.measured))
    sizes = " and ".join(dict.fromkeys(size(step.row.measured or step.row.predicted) for step in shown))
    template = environment.get_template("pages/steps.html.j2")
    published = list(dict.fromkeys(step.row.published.source for step in shown if step.row.published))
    untried = list(dict.fromkeys(step.untried for step in shown if step.untried))
    about = {"sizes": sizes, "origins": origins, "published": published, "untried": untried}
    told = {"steps": steps, "beside": beside, "stale": stale}
    return template.render(title=title, changed=changed, time=time, **about, **told)


def _pictures(step: Shown, clocks: float) -> list[tuple[str, Picture]]:
    found = [("modelled", picture(step.modelled, clocks))]
    if step.measured:
        found.append((step.measured.source, picture(stretch(step.measured.spans, clocks), clocks)))
    return found
