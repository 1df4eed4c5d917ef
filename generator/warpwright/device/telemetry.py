"""What a result says about the GPU it was obtained on: name, driver, versions, clocks and power while timing, and how
many others compute on it.

Reads only: no setting of the GPU is changed.
"""

from __future__ import annotations

import importlib
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from warpwright.device.gpu import Gpu

__all__ = ["clocks", "describe_cuda", "loaded_driver", "others"]

_CLOCK_FIELDS = ("clocks.sm", "clocks.mem", "power.draw", "power.limit", "temperature.gpu")


def describe_cuda(torch: Any, gpu: Gpu) -> dict[str, Any]:
    """Describe torch's current CUDA device, which is `gpu`, and the software on it; what cannot be read is ""."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "uuid": gpu.short,
        "gpu": str(properties.name),
        "compute_capability": f"{properties.major}.{properties.minor}",
        "sms": int(properties.multi_processor_count),
        "memory_bytes": int(properties.total_memory),
        "driver": (_query(gpu, "driver_version") or [loaded_driver()])[0],
        "torch": str(torch.__version__),
        "cuda": str(torch.version.cuda),
        "tvm_ffi": _version("tvm_ffi"),
        "python": platform.python_version(),
    }


def loaded_driver(version: Path = Path("/proc/driver/nvidia/version")) -> str:
    """Return the version of the driver that the kernel has loaded, where nobody can ask nvidia-smi; "" for none.

    A result without one is not believed.
    """
    try:
        found = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", version.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return found[1] if found else ""


def clocks(gpu: Gpu) -> dict[str, float]:
    """Read SM and memory clock (MHz), power draw and limit (W) and temperature (C) now; {} where unreadable."""
    values = _query(gpu, ",".join(_CLOCK_FIELDS))
    if len(values) != len(_CLOCK_FIELDS):
        return {}
    found = {}
    for name, value in zip(_CLOCK_FIELDS, values, strict=True):
        try:
            found[name.replace(".", "_")] = float(value)
        except ValueError:  # "[N/A]"
            continue
    return found


def others(gpu: Gpu) -> int:
    """Return how many processes beside this one compute on the GPU, as far as nvidia-smi sees them."""
    found = {int(line) for line in _ask(gpu, "--query-compute-apps=pid") if line.strip().isdecimal()}
    # In a container the numbers may be the host's: then this process is one of them under another number.
    return len(found) - 1 if found else 0


def _query(gpu: Gpu, fields: str) -> list[str]:
    lines = _ask(gpu, f"--query-gpu={fields}")
    return [value.strip() for value in lines[0].split(",")] if len(lines) == 1 else []


def _ask(gpu: Gpu, question: str) -> list[str]:
    """What nvidia-smi says of this GPU, by lines; [] where it cannot be asked. Never of another."""
    command = shutil.which("nvidia-smi")
    for selector in gpu.selectors if command else ():
        try:
            done = subprocess.run(
                [str(command), question, "--format=csv,noheader,nounits", f"--id={selector}"],
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return done.stdout.strip().splitlines()
    return []


def _version(module: str) -> str:
    try:
        return str(importlib.import_module(module).__version__)
    except (ImportError, AttributeError):
        return ""
