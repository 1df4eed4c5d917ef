"""What `warpwright check` does: starts the process that runs the program, and reads what it has found."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from warpwright import scratch
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

    `to_stderr`: what the program prints goes to stderr. Raises UserError where the process dies without a report, and
    KeyboardInterrupt where it is interrupted before it has one.
    """
    scratch.sweep(tempfile.gettempdir())
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that the folder is removed
    with scratch.folder("check") as folder:
        report = Path(folder) / "report.json"
        command = child_command(
            "warpwright.checking.script", str(report), json.dumps(dict(options)), str(program), *arguments
        )
        # The emulator's matrix products are small: numpy's BLAS only spins with threads, unless it is told otherwise.
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
        out = sys.stderr.fileno() if to_stderr else None
        code = _wait(subprocess.Popen(command, stdout=out, env=environment))
        scratch.sweep(tempfile.gettempdir())  # of a program that ended without ceremony
        if not report.is_file():
            if code == -signal.SIGINT:
                raise KeyboardInterrupt
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise UserError(f"{program}: its process ended with {how} and left no report; its last words are above")
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


def _wait(running: subprocess.Popen[bytes]) -> int:
    """Wait for a process; one that is interrupted gets a moment to say what it has found."""
    try:
        return running.wait()
    except KeyboardInterrupt:
        for signalled in (None, signal.SIGINT):  # the terminal has sent it one; who has interrupted us alone has not
            try:
                if signalled is not None:
                    running.send_signal(signalled)
                return running.wait(timeout=2)
            except subprocess.TimeoutExpired:
                continue
        raise
    finally:
        running.kill()
        running.wait()
