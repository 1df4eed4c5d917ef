"""A configuration as a sequence of steps, each of which adds something to the one before: its table and its page."""

from warpwright.steps.difference import difference
from warpwright.steps.page import page
from warpwright.steps.table import Row, table

__all__ = ["Row", "difference", "page", "table"]
