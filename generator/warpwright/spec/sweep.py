"""From a union of products to points.

A sweep is a tuple of products; a product maps dotted paths (`design.tile.n`, or a whole subtree as
`design.tile`) to the values that each takes. A value stands in place of what the file has at that path.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright.point import Point
from warpwright.spec.where import Predicate

__all__ = ["LIMIT", "Expansion", "combinations", "expand", "overlay", "size", "written_out"]

#: Most combinations that are expanded: at about 20 us each a load stays well under a second.
LIMIT = 10_000

Product = Mapping[str, Sequence[Any]]
Tree = dict[str, Any]


@dataclass(frozen=True)
class Expansion:
    """The points of a sweep; `removed` counts per predicate the points for which it was the first not to hold."""

    points: tuple[Point, ...]
    duplicates: int
    removed: tuple[int, ...]


def size(products: Sequence[Product]) -> int:
    """How many combinations a union of products has, by multiplication."""
    return sum(math.prod(len(values) for values in product.values()) for product in products)


def overlay(tree: Tree, path: Sequence[str], value: Any) -> Tree:
    """A copy of `tree` in which `path` holds `value`; what is not a mapping on the way there is replaced by one."""
    key, rest = path[0], path[1:]
    if rest:
        inner = tree.get(key)
        value = overlay(inner if isinstance(inner, dict) else {}, rest, value)
    return {**tree, key: value}


def written_out(tree: Tree) -> Tree:
    """A copy of `tree` in which each bare name of the epilogue chain stands as `{op: name}`."""
    kernel = tree.get("kernel")
    chain = kernel.get("epilogue") if isinstance(kernel, dict) else None
    if not isinstance(chain, tuple):
        return tree
    steps = tuple({"op": step} if isinstance(step, str) else step for step in chain)
    return overlay(tree, ("kernel", "epilogue"), steps)


def combinations(base: Tree, products: Sequence[Product]) -> Iterator[Tree]:
    """The tree of every combination, in order; the last field of a product changes fastest."""
    for product in products:
        paths = [path.split(".") for path in product]
        for values in itertools.product(*product.values()):
            tree = base
            for path, value in zip(paths, values, strict=True):
                tree = overlay(tree, path, value)
            yield written_out(tree)


def expand(base: Tree, products: Sequence[Product], predicates: Sequence[Predicate]) -> Expansion:
    """Build the points of checked products over a checked base.

    Raises ValueError for more than LIMIT combinations, PredicateError for a predicate that has no truth value
    at some point.
    """
    if (count := size(products)) > LIMIT:
        raise ValueError(f"the sweep has {count:,} points, more than {LIMIT:,}")
    unique = dict.fromkeys(Point.model_validate(tree) for tree in combinations(base, products))
    removed = [0] * len(predicates)
    points = []
    for point in unique:
        failed = next((index for index, predicate in enumerate(predicates) if not predicate.holds(point)), None)
        if failed is None:
            points.append(point)
        else:
            removed[failed] += 1
    return Expansion(tuple(points), count - len(unique), tuple(removed))
