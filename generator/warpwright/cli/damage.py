"""One line for every way in which files of results are damaged, so that none of them is a traceback, or silence."""

from __future__ import annotations

from collections.abc import Iterable

from warpwright.cli.terminal import say
from warpwright.record import Folder

__all__ = ["say_damaged"]


def say_damaged(folders: Iterable[Folder]) -> None:
    """Say which files of results count for nothing, why, and what mends that; alike ones in one line."""
    alike: dict[str, list[Folder]] = {}
    for folder in folders:
        for damage in folder.damaged():
            alike.setdefault(str(damage), []).append(folder)
    for told, those in alike.items():
        more = f" (and {len(those) - 1} more)" if len(those) > 1 else ""
        config = those[0].path.parent.name
        say(f"{those[0].path.name}{more}: {told}; `warpwright run {config}` keeps it beside its place", style="yellow")
