"""Files that are either there as a whole or not at all: written to a temporary name, then renamed.

Any number of processes may write in one tree, and a kill at any moment loses nothing that was finished.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from warpwright.canonical import plain
from warpwright.errors import naming
from warpwright.scratch import beside
from warpwright.sealed import DamagedError, load_record, seal

__all__ = ["read_json", "write_json", "write_text"]


def write_text(path: Path, text: str) -> None:
    """Write `text` (UTF-8) to `path`, making its folder; OSError when that cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = beside(path)  # since a rename is atomic only within one file system
    try:
        with naming(path), temporary.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write an object's JSON (keys sorted, indented: people read these files and diff them) with its seal."""
    write_text(path, seal(json.dumps(plain(value), sort_keys=True, indent=1, allow_nan=False)))


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in `path`, without its seal; None when there is none, or it is damaged.

    A file that was changed since it was written counts as absent: what it recorded is obtained again.
    """
    try:
        return load_record(path).value
    except (FileNotFoundError, DamagedError):
        return None
