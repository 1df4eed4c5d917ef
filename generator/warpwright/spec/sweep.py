"""From a union of products to points.

A sweep is a tuple of products; a product maps dotted paths (`design.tile.n`, or a whole subtree as
`design.tile`) to the values that each takes. A value stands in place of what the file has at that path.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from warpwright import families
from warpwright.frozen import Frozen
from warpwright.point import Point
from warpwright.spec.point_values import PointValues
from warpwright.spec.where import Predicate

__all__ = ["LIMIT", "Expansion", "expand", "overlay", "size"]

#: Most combinations that are expanded: at about 20 us each a load stays well under a second.
LIMIT = 10_000

Product = Mapping[str, Sequence[Any]]
Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Expansion:
    """The points of a sweep; `removed` counts per predicate the points for which it was the first not to hold."""

    points: tuple[Point, ...]
    duplicates: int
    removed: tuple[int, ...]


def size(products: Sequence[Product]) -> int:
    """How many combinations a union of products has, by multiplication."""
    return sum(math.prod(len(values) for values in product.values()) for product in products)


def overlay(tree: Tree, path: Sequence[str], value: Any) -> dict[str, Any]:
    """A copy of `tree` in which `path` holds `value`; what is not a mapping on the way there is replaced by one."""
    key, rest = path[0], path[1:]
    if rest:
        inner = tree.get(key)
        value = overlay(inner if isinstance(inner, dict) else {}, rest, value)
    return {**tree, key: value}


def _parts(
    base: Tree, product: Product, part: str, make: Callable[[Any], Frozen]
) -> tuple[list[int], Callable[[tuple[int, ...]], Frozen]]:
    """One half of the points of a product: which of its fields decide it, and its model for their values' indices.

    A sweep repeats each kernel for every design and each design for every kernel: a model is made once.
    """
    fields = [(index, path.split("."), values) for index, (path, values) in enumerate(product.items())]
    own = [(index, path, values) for index, path, values in fields if path[0] == part]
    known: dict[tuple[int, ...], Frozen] = {}

    def get(chosen: tuple[int, ...]) -> Frozen:
        found = known.get(chosen)
        if found is None:
            tree = base
            for (_, path, values), index in zip(own, chosen, strict=True):
                tree = overlay(tree, path, values[index])
            found = known[chosen] = make(tree[part])
        return found

    return [index for index, _, _ in own], get


def _points(family: str, base: Tree, products: Sequence[Product]) -> Iterator[Point]:
    """The point of every combination, in order; the last field of a product changes fastest."""
    models = families.family(family)
    kernels: dict[Frozen, Frozen] = {}  # equal kernels are one object: points are told apart by it
    for product in products:
        kernel_fields, kernel = _parts(base, product, "kernel", models.kernel.model_validate)
        design_fields, design = _parts(base, product, "design", models.design.model_validate)
        for indices in itertools.product(*(range(len(values)) for values in product.values())):
            wanted: Any = kernel(tuple(indices[i] for i in kernel_fields))
            wanted = kernels.setdefault(wanted, wanted)
            yield Point(family, wanted.arch, wanted, design(tuple(indices[i] for i in design_fields)))


def expand(family: str, base: Tree, products: Sequence[Product], predicates: Sequence[Predicate]) -> Expansion:
    """Build the points of checked products over a checked base.

    Raises ValueError for more than LIMIT combinations, PredicateError for a predicate that has no truth value
    at some point.
    """
    if (count := size(products)) > LIMIT:
        raise ValueError(f"the sweep has {count:,} points, more than {LIMIT:,}")
    unique: dict[tuple[int, Any], Point] = {}
    for point in _points(family, base, products):
        unique.setdefault((id(point.kernel), point.design), point)
    removed = [0] * len(predicates)
    points = []
    for point in unique.values():
        values = PointValues(point)
        failed = next((index for index, predicate in enumerate(predicates) if not predicate.holds(values)), None)
        if failed is None:
            points.append(point)
        else:
            removed[failed] += 1
    return Expansion(tuple(points), count - len(unique), tuple(removed))
