"""What a diagnosis and its timeline were obtained with, as they say it themselves: they count for exactly that.

Travels in bundles: imports nothing that a GPU host lacks.
"""

from __future__ import annotations

import time
from typing import Any

from warpwright.device.variant import Origin

__all__ = ["PROTOCOL", "told"]

#: The version of how marks are made, read and turned into spans.
PROTOCOL = 1


def told(kernel: Origin, twin_sha: str, **more: Any) -> dict[str, Any]:
    """Return what is told: sources of the kernel and of the twin that was stamped, cubin, arch, toolchain and time; and
    `more`: the `gpu`, or the digest of the emulator's code, `judged_by`."""
    return {
        "protocol": PROTOCOL,
        "source_sha": kernel.source_sha,
        "cubin_sha": kernel.cubin_sha,
        "twin_sha": twin_sha,
        "arch": kernel.arch,
        "toolchain": dict(kernel.toolchain),
        **more,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
