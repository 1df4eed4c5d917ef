"""Where kernels of others are: the folder that WARPWRIGHT_CUTLASS_EXAMPLES names when the tests are collected."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

VARIABLE = "WARPWRIGHT_CUTLASS_EXAMPLES"
#: `examples/python/CuTeDSL` of a checkout of NVIDIA's CUTLASS.
EXAMPLES = Path(os.environ.get(VARIABLE, "/nonexistent"))

#: Why there is nothing to run, "" where there is.
MISSING = ""
if not (EXAMPLES / "cute").is_dir():
    MISSING = f"{VARIABLE} does not name the folder examples/python/CuTeDSL of NVIDIA's CUTLASS"
elif importlib.util.find_spec("torch") is None:
    MISSING = "torch is not installed, which NVIDIA's examples import (one without CUDA will do)"
