"""What the server of the emulating processes imports ahead of them all, and nobody else: it ends with its parent.

They are forked from it, so they find here whose children they are.
"""

from __future__ import annotations

import os

from warpwright.child import die_with_parent

__all__ = ["SERVER"]

SERVER = os.getpid()

die_with_parent()
