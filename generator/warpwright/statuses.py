"""What can become of a variant. Imports nothing: whoever gives a verdict has these words."""

from __future__ import annotations

__all__ = ["STATUSES"]

#: Every status, the worst first: of several verdicts, the first in this order is the variant's.
STATUSES = (
    "illegal",
    "render_failed",
    "hang",
    "crash",
    "launch_failed",
    "incorrect",
    "compile_failed",
    "degraded",
    "correct",
)
