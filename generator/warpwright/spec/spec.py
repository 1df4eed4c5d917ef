"""A validated YAML file as one frozen value."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pydantic import Field

from warpwright.point import Point
from warpwright.spec.schema import SpecHead
from warpwright.spec.sweep import Expansion, expand, size
from warpwright.spec.where import Predicate

__all__ = ["Spec"]


class Spec(SpecHead):
    """A validated YAML file: `warpwright.spec.load` makes it.

    `source` is the file's path as it was given. `kernel` and `design` are the file's own trees (epilogue steps
    written out): a field that every product of the sweep gives may be missing in them. `sweep` is a union of
    products, each from dotted paths to values.
    """

    source: str
    kernel: dict[str, Any] = Field(default_factory=dict)
    design: dict[str, Any] = Field(default_factory=dict)
    sweep: tuple[dict[str, tuple[Any, ...]], ...] = ({},)

    def count(self) -> int:
        """How many combinations the sweep has, before duplicates and `where`; expands nothing."""
        return size(self.sweep)

    @cached_property
    def expansion(self) -> Expansion:
        """The points, and what became of the other combinations."""
        predicates = [Predicate(text) for text in self.where]
        return expand({"kernel": self.kernel, "design": self.design}, self.sweep, predicates)

    def points(self) -> list[Point]:
        """The points in the order of the file, the last field of a product fastest, duplicates removed."""
        return list(self.expansion.points)
