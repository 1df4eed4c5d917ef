"""Processes of our own: they import nothing from the current directory, and end when their parent does.

`python -m` puts the current directory before the standard library, and there a user's `json.py` or `numpy.py` lies as
likely as not. Python 3.11 has -P against that; this works from 3.10 on and needs nothing in the environment.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

__all__ = ["child_command", "die_with_parent", "import_path"]

_PR_SET_PDEATHSIG = 1

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[1])
#: `sys` is built in: nothing is looked up before the path is set. The interpreter has prepended "" by then.
_BOOT = (
    f"import sys; sys.path[:] = sys.argv.pop(1).split({os.pathsep!r}); import runpy;"
    " runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


def import_path() -> list[str]:
    """Return this process's import path without the current directory, unless this very package lies there."""
    here = os.path.realpath(os.curdir)
    kept = []
    for entry in sys.path:
        real = os.path.realpath(entry or os.curdir)
        if real == _PACKAGE_ROOT:
            kept.append(_PACKAGE_ROOT)
        elif real != here:
            kept.append(os.path.abspath(entry))
    return kept if _PACKAGE_ROOT in kept else [*kept, _PACKAGE_ROOT]


def child_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `module` as `python -m` would, with `import_path()` as its whole import path."""
    return [sys.executable, "-c", _BOOT, os.pathsep.join(import_path()), module, *arguments]


def die_with_parent(parent: int | None = None) -> None:
    """Have this process killed when its parent ends, even by SIGKILL; at once where that is not `parent` any more.

    Linux alone has this; elsewhere nothing happens.
    """
    import ctypes

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
