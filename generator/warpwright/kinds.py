"""What lies at a path, in a word for people: a regular file is what commands read, and anything else is named."""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["kind_of_mode", "not_a_file"]

_KINDS = {
    stat.S_IFREG: "", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket",
}  # fmt: skip


def kind_of_mode(mode: int) -> str:
    """Return what a file of this mode is, "" for a regular one."""
    return _KINDS.get(stat.S_IFMT(mode), "no regular file")


def not_a_file(path: Path) -> str:
    """Say why there is no regular file at a path, in words after its name: "there is no such file", "it is a device,
    not a regular file"; "" where there is one. It is not opened, so that no pipe is waited for."""
    try:
        kind = kind_of_mode(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return "there is no such file"
    except (OSError, ValueError) as error:
        return f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    return f"it is {kind}, not a regular file" if kind else ""
