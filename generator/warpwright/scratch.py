"""Temporary files and folders, named after the process that makes them, so that what a kill leaves is found again.

Each name ends in `.ww-PLACE-PROCESS-START-RANDOM`: PLACE tells machines, and containers with process numbers of their
own, apart; START tells a process from a later one of the same number. What a process leaves that was killed (SIGKILL,
a power cut) is removed when the next one makes something beside it. No two have one name, so nothing that is in use
can be removed, and any number of processes may clean up at once.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
import tempfile
import time
from pathlib import Path

__all__ = ["beside", "folder", "kept_folder", "sweep"]

_MARK = re.compile(r"\.ww-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-z_]{8}$")
#: What another place has left goes after this many seconds, since whether its process lives cannot be seen from here.
_DAY = 86_400.0


def folder(kind: str) -> tempfile.TemporaryDirectory[str]:
    """A new folder in the system's place for temporary files, to be used as a context or kept until the process ends.

    Raises OSError where none can be made.
    """
    _sweep_once(tempfile.gettempdir())
    return tempfile.TemporaryDirectory(prefix=f"warpwright-{kind}{_mark()}")


def kept_folder(kind: str) -> Path:
    """Like `folder`, for who has it removed in another way."""
    _sweep_once(tempfile.gettempdir())
    return Path(tempfile.mkdtemp(prefix=f"warpwright-{kind}{_mark()}"))


def beside(path: Path) -> Path:
    """A name in the folder of `path`, whose content is written under it and then renamed: nothing is there yet.

    A dot keeps it out of listings.
    """
    _sweep_once(str(path.parent))
    return path.with_name(f".{path.name}{_mark()}{secrets.token_hex(4)}")


def sweep(place: str | Path) -> None:
    """Remove what processes that are no more have left in a folder; where it cannot be read or written, nothing."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            found = _MARK.search(entry.name)
            if found and _left(entry, found[1], int(found[2]), found[3]):
                _remove(entry)


@functools.lru_cache(maxsize=4096)
def _sweep_once(place: str) -> None:
    sweep(place)


def _left(entry: os.DirEntry[str], place: str, process: int, start: str) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    if place == _place():
        return _start(process) != start
    return time.time() - status.st_mtime > _DAY


def _remove(entry: os.DirEntry[str]) -> None:
    with contextlib.suppress(OSError):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def _mark() -> str:
    """The end of a name of this process, up to what is random in it."""
    process = os.getpid()
    return f".ww-{_place()}-{process}-{_start(process)}-"


@functools.cache
def _place() -> str:
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text(), os.readlink("/proc/self/ns/pid")]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:8]


def _start(process: int) -> str:
    """When a process was started, in clock ticks since the machine was; "0" where there is no /proc, "" of none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return "" if Path("/proc/self/stat").exists() else _alive(process)
    return stat.rpartition(")")[2].split()[19]  # the program's name, in brackets, may hold anything


def _alive(process: int) -> str:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass
    return "0"
