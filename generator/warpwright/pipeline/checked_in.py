"""What lies in a variant's folder must have been obtained on this machine, and not have come with the checkout.

A folder's results are believed, and so are not obtained again: whoever could commit a folder could commit a verdict.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from warpwright.errors import UserError
from warpwright.record import configurations_in

__all__ = ["refuse_committed"]

#: A checkout may belong to somebody else, as it does in a container.
_GIT = ("git", "-c", "safe.directory=*")


def refuse_committed(out: Path) -> None:
    """Raise UserError where git tracks anything in a folder of variants below `out`, links and submodules included."""
    for folder in configurations_in(out):
        tracked = _tracked(folder)
        if tracked:
            many = f"{len(tracked)} files" if len(tracked) > 1 else "1 file"
            raise UserError(
                f"{folder}: {many} of it came with the checkout, e.g. {tracked[0]}; results count where they were "
                f"obtained, and only the ledger is committed: git rm -r --cached {folder} && rm -r {folder}"
            )


def _tracked(folder: Path) -> list[str]:
    """The files of a folder that git tracks; none where there is no git, or no checkout."""
    command = [*_GIT, "-C", str(folder), "ls-files", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return []
    return [] if done.returncode else [name.decode(errors="replace") for name in done.stdout.split(b"\0") if name]
