"""A configuration as a sequence of steps, each of which adds something to the one before: its table and its page."""

from warpwright.steps.contrast import Contrast, contrast
from warpwright.steps.difference import difference
from warpwright.steps.measured import TimelineError, measured
from warpwright.steps.page import Shown, page
from warpwright.steps.table import Row, table

__all__ = ["Contrast", "Row", "Shown", "TimelineError", "contrast", "difference", "measured", "page", "table"]
