"""Runs Nsight Compute around launches of a kernel: what it counted, or why there is nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from warpwright.child import child_command
from warpwright.device.solo import LAUNCHES
from warpwright.diagnosis.counters import METRICS, Counters, CountersError, read_counters

__all__ = ["find_profiler", "profiled"]

#: Where it lies when nobody has put it on the path.
_PLACES = ("usr/local/cuda/bin/ncu", "usr/local/cuda-*/bin/ncu", "opt/nvidia/nsight-compute/*/ncu")
#: A launch is repeated some ten times, and torch is started.
SECONDS = 120.0
_FORBIDDEN = "ERR_NVGPUCTRPERM"


def find_profiler(root: Path = Path("/")) -> str:
    """Return the path of ncu, "" where there is none."""
    found = shutil.which("ncu")
    if found:
        return found
    return next((str(path) for place in _PLACES for path in sorted(root.glob(place), reverse=True)), "")


def profiled(
    folder: Path, kernel: str, sizes: Sequence[tuple[str, int]], profiler: str, seconds: float = SECONDS
) -> Counters | str:
    """Return what ncu counts of the last launch of the built variant in `folder`, or a sentence that says why nothing.

    kernel: the name of its function; sizes: of the problem, by mode; seconds: after which it is ended.
    """
    asked = ["--csv", "--page", "raw", "--clock-control", "none", "--launch-skip", str(LAUNCHES - 1)]
    asked += ["--launch-count", "1", "--kernel-name", f"regex:{kernel}", "--metrics", ",".join(METRICS)]
    extents = [f"{mode}={extent}" for mode, extent in sizes]
    command = [profiler, *asked, *child_command("warpwright.device.solo", str(folder.resolve()), *extents)]
    try:
        done = _run(command, seconds)
    except OSError as error:
        return f"Nsight Compute cannot be run: {error}"
    if done is None:
        return f"Nsight Compute said nothing for {seconds:g} s and was ended"
    code, said = done
    if _FORBIDDEN in said:
        return (
            f"Nsight Compute may not read this GPU's counters ({_FORBIDDEN}): root may, or everybody where the driver"
            " has NVreg_RestrictProfilingToAdminUsers=0"
        )
    try:
        return read_counters(said)
    except CountersError as error:
        last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "it said nothing")
        return f"Nsight Compute counted nothing: {error} (exit code {code}; its last words: {last[:200]})"


def _run(command: Sequence[str], seconds: float) -> tuple[int, str] | None:
    """Exit code and output; None where it did not end and was killed, with what it had started."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _kill(process)
        return None
    except BaseException:
        _kill(process)
        raise
    return process.returncode, said


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
