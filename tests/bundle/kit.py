"""A bundle of small variants, and its run with a CPU double in the place of a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from warpwright.bundle import make_bundle
from warpwright.bundle.pack import Packed

ROOT = Path(__file__).resolve().parents[2]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
GOOD, BAD, FUSED = "good-000000000000", "bad-111111111111", "fused-222222222222"


def bundle(config: Path, **options: Any) -> Packed:
    options.setdefault("bench", {"problems": [{"m": 16, "n": 16, "k": 16, "l": 1}]})
    return make_bundle(config, options.pop("variants", None), config.parent.parent / "bundle", python=HERE, **options)


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(directory / "run.py"), "--backend", "tests.device.doubles:HostBackend"]
    command += ["--max-elements", "60000", "--problems", "ragged*", "--rounds", "3", "--seed", "5", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False, cwd=directory)
