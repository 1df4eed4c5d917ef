"""What a result says about the GPU it was obtained on: name, driver, versions, and clocks and power while timing.

Reads only: no setting of the GPU is changed.
"""

from __future__ import annotations

import importlib
import platform
import shutil
import subprocess
from typing import Any

__all__ = ["clocks", "describe_cuda"]

_CLOCK_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "power.limit", "temperature.gpu")


def describe_cuda(torch: Any) -> dict[str, Any]:
    """Name the current CUDA device and the software on it; versions that cannot be read are ""."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "gpu": str(properties.name),
        "compute_capability": f"{properties.major}.{properties.minor}",
        "sms": int(properties.multi_processor_count),
        "memory_bytes": int(properties.total_memory),
        "driver": (_query("driver_version") or [""])[0],
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "tvm_ffi": _version("tvm_ffi"),
        "python": platform.python_version(),
    }


def clocks() -> dict[str, float]:
    """Read SM and memory clock (MHz), power draw and limit (W) and temperature (C) now; {} where unreadable."""
    values = _query(",".join(_CLOCK_FIELDS))
    if len(values) != len(_CLOCK_FIELDS):
        return {}
    found = {}
    for name, value in zip(_CLOCK_FIELDS, values, strict=True):
        try:
            found[name.replace(".", "_")] = float(value)
        except ValueError:  # "[N/A]"
            continue
    return found


def _query(fields: str) -> list[str]:
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    try:
        done = subprocess.run(
            [command, f"--query-gpu={fields}", "--format=csv,noheader,nounits", "--id=0"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [value.strip() for value in done.stdout.strip().split(",")]


def _version(module: str) -> str:
    try:
        return str(importlib.import_module(module).__version__)
    except (ImportError, AttributeError):
        return ""
