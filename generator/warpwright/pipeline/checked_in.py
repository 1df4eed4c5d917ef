"""What must have been obtained on this machine, and not have come with the checkout.

A folder's results are believed, and so are not obtained again: whoever could commit a folder could commit a verdict.
What is compiled runs in the place of the source beside it, which is what is read, reviewed and digested.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from warpwright import resources
from warpwright.errors import UserError
from warpwright.record import configurations_in

__all__ = ["refuse_committed", "refuse_compiled"]

#: A checkout may belong to somebody else, as it does in a container.
_GIT = ("git", "-c", "safe.directory=*", "--literal-pathspecs")
#: What Python takes in the place of a source, and what it runs when it starts.
_COMPILED = (".pyc", ".pyo", ".so", ".pyd", ".pth")


def refuse_committed(out: Path) -> None:
    """Raise UserError where git tracks anything in a folder of variants below `out`, links and submodules included, or
    where that cannot be told."""
    for folder in configurations_in(out):
        tracked = _tracked_in(folder)
        if tracked:
            many = f"{len(tracked)} files" if len(tracked) > 1 else "1 file"
            raise UserError(
                f"{folder}: {many} of it came with the checkout, e.g. {tracked[0]}; results count where they were "
                f"obtained, and only the ledger is committed: git rm -r --cached {folder} && rm -r {folder}"
            )


def refuse_compiled() -> None:
    """Raise UserError where git tracks compiled Python in this checkout, or anything in the environment or the cache
    that is at work here."""
    top = resources.checkout()
    if top is None:
        return
    compiled = [name for name in _tracked(top) if name.lower().endswith(_COMPILED)]
    if compiled:
        raise UserError(
            f"{compiled[0]}: Python runs it in the place of a source, and it came with the checkout; only sources are "
            "read and digested: git rm --cached it, and remove it"
        )
    for place, what in ((Path(sys.prefix), "the Python environment"), (resources.cache_root(), "the cache")):
        tracked = _tracked_in(place) if place.exists() else []
        if tracked:
            raise UserError(f"{place}: {tracked[0]} of {what} came with the checkout; make one of your own, outside it")


def _tracked_in(folder: Path) -> list[str]:
    """What git tracks of a folder, by its path from the top of the checkout."""
    return list(dict.fromkeys(name for place in _places(folder) for name in _tracked(place)))


def _places(folder: Path) -> Iterator[Path]:
    """A folder's path as it is called, as it is, and every link on the way."""
    path = folder.absolute()
    yield path
    yield from (parent for parent in path.parents if parent.is_symlink())
    if path.resolve() != path:
        yield path.resolve()


def _tracked(place: Path) -> list[str]:
    """What git tracks at a place or below it; nothing outside of every checkout. UserError where git cannot say.

    It is asked from the top: a folder that looks like a repository itself, which can be committed, would answer for
    its own, and name programs to run.
    """
    top = next((each for each in (place, *place.parents) if os.path.lexists(each / ".git")), None)
    if top is None:
        return []
    command = [*_GIT, f"--git-dir={top / '.git'}", f"--work-tree={top}", "ls-files", "-z", "--", str(place)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(command, cwd=top, env=environment, capture_output=True, check=False)
        why = done.stderr.decode(errors="replace").strip() if done.returncode else ""
    except OSError as error:
        why = f"git does not run ({error.strerror})"
    if why:
        raise UserError(f"{place}: whether it came with the checkout cannot be told: {why}; remove it, or install git")
    return [name.decode(errors="replace") for name in done.stdout.split(b"\0") if name]
