"""What `warpwright check` does: starts the process that runs the program, and reads what it has found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpwright.child import child_command
from warpwright.errors import UserError

__all__ = ["likely_arch", "run_checked"]

_NEWER = re.compile(r"\btcgen05\b|\bsm_?10[03]\b|\bblackwell\b", re.IGNORECASE)


def likely_arch(program: Path) -> str:
    """What a program is probably written for: sm_100a where its text speaks of that generation, else sm_90a."""
    return "sm_100a" if _NEWER.search(program.read_text(encoding="utf-8", errors="replace")) else "sm_90a"


def run_checked(
    program: Path, arguments: Sequence[str], options: Mapping[str, Any], to_stderr: bool = False
) -> dict[str, Any]:
    """Run a program in a process of its own and return what `script.run_program` reports.

    `to_stderr`: what the program prints goes to stderr. Raises UserError where the process dies without a report.
    """
    with tempfile.TemporaryDirectory(prefix="warpwright-") as folder:
        report = Path(folder) / "report.json"
        command = child_command(
            "warpwright.checking.script", str(report), json.dumps(dict(options)), str(program), *arguments
        )
        done = subprocess.run(command, stdout=sys.stderr.fileno() if to_stderr else None)
        if not report.is_file():
            how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
            raise UserError(f"{program}: its process ended with {how} and left no report; its last words are above")
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found
