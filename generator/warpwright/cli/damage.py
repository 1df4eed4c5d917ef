"""One line for every way in which stored files are damaged, so that none of them is a traceback, or silence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from warpwright.cli.terminal import say

if TYPE_CHECKING:
    from warpwright.record import Folder

__all__ = ["say_damaged"]


def say_damaged(folders: Iterable[Folder]) -> set[Path]:
    """Say which stored files count for nothing, why, and what mends that; alike ones in one line.

    Returns the folders of which some are damaged.
    """
    from warpwright.record import damage

    alike: dict[str, list[Folder]] = {}
    damaged = set()
    for folder in folders:
        for found in damage(folder):
            alike.setdefault(str(found), []).append(folder)
            damaged.add(folder.path)
        for name in folder.unsealed():
            alike.setdefault(f"{name} counts for nothing: from before records had a seal", []).append(folder)
    for told, those in alike.items():
        more = f" (and {len(those) - 1} more)" if len(those) > 1 else ""
        config = those[0].path.absolute().parent.name
        say(f"{those[0].path.name}{more}: {told}; `warpwright run {config}` sets that right", style="yellow")
    return damaged
