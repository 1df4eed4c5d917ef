"""Folders for what the compiler and the stand-in of the runtime leave, named after the process that must remove them.

A process that is killed removes nothing: its folders go when the next check begins.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

__all__ = ["remove_left", "scratch_folder"]

_PREFIX = "warpwright-check-"


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A new folder of this process, to be used as a context or kept until the process ends."""
    return tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")


def remove_left() -> None:
    """Remove the folders of this user's processes that are no more."""
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            found = re.match(rf"{_PREFIX}(\d+)-", folder.name)
            if found and not _alive(int(found[1])) and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
