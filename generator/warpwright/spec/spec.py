"""A validated YAML file as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from warpwright.point import Point
from warpwright.spec.fields import Fields
from warpwright.spec.sweep import Expansion, expand, size
from warpwright.spec.where import Predicate

__all__ = ["Spec"]


@dataclass(frozen=True)
class Spec:
    """A validated YAML file: `warpwright.spec.load` makes it.

    `source` is the file's path as it was given. `kernel` and `design` are the file's own trees: a field that every
    product of the sweep gives may be missing in them. `sweep` is a union of products, each from dotted paths to values.
    `validate` is {"problems": "standard" or a list of extents by mode in lower case, "repeats": n}, `bench`
    {"problems": [...]}. `evidence` are the methods that `ci` demands beside those that it renews itself.
    """

    source: str
    family: str
    name: str
    purpose: str
    kernel: Mapping[str, Any]
    design: Mapping[str, Any]
    sweep: tuple[Mapping[str, tuple[Any, ...]], ...] = ({},)
    where: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    validate: Mapping[str, Any] = field(default_factory=dict)
    bench: Mapping[str, Any] = field(default_factory=dict)

    def count(self) -> int:
        """How many combinations the sweep has, before duplicates and `where`; expands nothing."""
        return size(self.sweep)

    @cached_property
    def expansion(self) -> Expansion:
        """The points, and what became of the other combinations."""
        fields = Fields(self.family)
        predicates = [Predicate(text, fields) for text in self.where]
        return expand(self.family, {"kernel": self.kernel, "design": self.design}, self.sweep, predicates)

    def points(self) -> list[Point]:
        """The points in the order of the file, the last field of a product fastest, duplicates removed."""
        return list(self.expansion.points)
