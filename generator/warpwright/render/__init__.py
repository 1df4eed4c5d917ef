"""From a plan to the text of a kernel. The same plan gives the same bytes: no times, no absolute paths."""

from warpwright.render.render import render

__all__ = ["render"]
