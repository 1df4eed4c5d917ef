"""Where kernels of others are: the folder that WARPWRIGHT_FOREIGN names when the tests are collected."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(os.environ.get("WARPWRIGHT_FOREIGN", "/nonexistent"))
