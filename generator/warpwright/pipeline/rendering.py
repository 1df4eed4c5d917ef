"""Arrows that write or read the variants' sources: render, adopt, reread."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from warpwright.canonical import plain
from warpwright.errors import UserError
from warpwright.pipeline.exploration import Exploration, Variant
from warpwright.record import adopt, by_identity, note_current
from warpwright.sealed import DamagedError

__all__ = ["render", "reread"]


def render(exploration: Exploration, keep_edited: bool = False) -> list[str]:
    """Render every legal variant and write plan.json, point.json and kernel.py into its folder.

    With `keep_edited`, a kernel.py that a person has edited stays, and is the variant's source.
    Returns what a person should know of the folders, a line each: what was kept of their work, and whether another
    configuration file writes there too. A variant that the machine cannot render or write is left `undone`; raises
    OSError or MemoryError where that is so of all.
    """
    notes, others, failures = [], by_identity(exploration.out), list[OSError | MemoryError]()
    for variant in exploration.legal:
        try:
            notes += _render(variant, keep_edited, others)
        except (OSError, MemoryError) as error:  # what the machine cannot do is no verdict
            variant.source, variant.undone["render"] = "", str(error) or "out of memory"
            failures.append(error)
    if failures and not exploration.rendered:
        raise failures[0]
    if exploration.rendered or exploration.folder.is_dir():
        notes += _note_current(exploration)
    return notes


def _note_current(exploration: Exploration) -> list[str]:
    try:
        others = note_current(exploration.folder, exploration.file, exploration.current)
    except DamagedError as error:
        return [str(error)]
    return [
        f"{exploration.file} and {other} have one name, {exploration.spec.name}, and so share "
        f"{exploration.folder}: give one of them another `name`, or another --out"
        for other in others
    ]


def _render(variant: Variant, keep_edited: bool, others: Mapping[str, Sequence[Path]]) -> list[str]:
    """Render one variant, into its folder; what an operation or a template does wrong is its `error`."""
    from warpwright.render import render as render_plan

    point = variant.point
    variant.folder.write("point.json", {"kernel": plain(point.kernel), "design": plain(point.design)})
    variant.folder.write("plan.json", plain(variant.plan))
    try:
        source = render_plan(variant.plan)
    except (OSError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # a template's fault or an operation's: a status, and not the run's end
        variant.error = f"{_place(error)}{type(error).__name__}: {error}"
        return []
    present = variant.folder.source() if keep_edited and variant.folder.edited() else None
    if present is not None and present != source:
        variant.source = present
        return []
    kept = variant.folder.write_source(source)
    variant.source = source
    adopt(variant.folder, others.get(variant.folder.identity, ()))
    if not kept:
        return []
    return [f"{variant.name}: kernel.py had been edited; it is rendered anew, the edited one is {kept}"]


def _place(error: BaseException) -> str:
    """Say which line of which template an error comes from, "" where it is from none."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(".j2")]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}: " if frames else ""


def reread(exploration: Exploration) -> None:
    """Take the sources from the variants' folders, as `generate` or a person left them, instead of rendering them.

    UserError when there is none at all.
    """
    for variant in exploration.legal:
        variant.source = variant.folder.source() or ""
    if exploration.legal and not exploration.rendered:
        raise UserError(f"{exploration.folder}: no kernel.py there; `warpwright generate {exploration.typed}` first")
