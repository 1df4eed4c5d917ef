"""A trace as a picture: a row per warp, and one for the loads on their way. Needs matplotlib, the extra `plot`."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from warpwright.diagnosis.spans import Trace
from warpwright.errors import UserError

__all__ = ["SUFFIXES", "check_picture", "draw"]

SUFFIXES = (".png", ".svg", ".pdf")
#: Clocks that a picture shows at most, from the first: more cannot be told apart.
_SHOWN = 20_000
_COLOURS = {"wait": "#d9d9d9", "turn": "#c7b6e0", "load": "#5b8fd6", "compute": "#e08b3c", "store": "#62a86b"}


def check_picture(path: Path) -> None:
    """UserError where `path` is no picture's, or nothing here can draw."""
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(f"--picture {path}: the name must end with {', '.join(SUFFIXES)}")
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError("--picture needs matplotlib, which is not here: pip install 'warpwright[plot]'")


def draw(path: Path, trace: Trace, title: str) -> None:
    """Draw a trace's first clocks. UserError as `check_picture`; OSError where `path` cannot be written."""
    check_picture(path)
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    plot: Any = importlib.import_module("matplotlib.pyplot")
    start = min((span.start for span in trace.spans), default=0)
    spans = [span for span in trace.spans if span.start - start < _SHOWN]
    rows = {key: number for number, key in enumerate(sorted({_row(span) for span in spans}))}
    figure, axes = plot.subplots(figsize=(14, 1.2 + 0.32 * max(1, len(rows))))
    for span in sorted(spans, key=lambda span: span.kind == "compute"):  # it goes on while its warp waits
        width = max(1, span.end - span.start)
        axes.broken_barh([(span.start - start, width)], (rows[_row(span)] - 0.4, 0.8), facecolors=_COLOURS[span.kind])
    axes.set_yticks(list(rows.values()), [name for _, _, name in rows])
    axes.set_xlim(0, min(_SHOWN, max((span.end - start for span in spans), default=1)))
    axes.invert_yaxis()
    axes.set_xlabel("clocks")
    axes.set_title(title)
    patches = [plot.Rectangle((0, 0), 1, 1, color=colour) for colour in _COLOURS.values()]
    axes.legend(patches, list(_COLOURS), ncols=len(_COLOURS), loc="lower right", fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plot.close(figure)


def _row(span: Any) -> tuple[int, int, str]:
    """Loads above the warps, by stage."""
    if span.kind == "load":
        return 0, int(span.what.rpartition(" ")[2]), span.what
    return 1, span.warp, f"warp {span.warp}: {span.role}"
