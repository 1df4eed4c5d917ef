"""Stored plans are read back field by field: whatever is of another type is refused, with its place."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.plan.space import point
from warpwright.canonical import canonical_json
from warpwright.plan import plan
from warpwright.plan.stored import PlanError, plan_from_json


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(canonical_json(plan(point({}))))
    return value


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("family",), 7, "family is 7: it must be str"),
        (("family",), "sorting", "unknown kernel family sorting"),
        (("kernels",), 5, "kernels is 5: it must be a list"),
        (("kernels",), [], "it is legal and has no kernels"),
        (("kernels", 0), None, r"kernels\[0\] is None: it must be an object \(KernelPlan\)"),
        (("kernels", 0, "threads"), "384", r"kernels\[0\].threads is '384': it must be int"),
        (("kernels", 0, "threads"), True, r"kernels\[0\].threads is True: it must be int"),
        (("kernels", 0, "cluster"), [1, 1], r"kernels\[0\].cluster is \[1, 1\]: it must be a list of 3"),
        (("kernels", 0, "roles", 0, "registers"), 1.5, "registers is 1.5: it must be int or NoneType"),
        (("kernels", 0, "barriers", 0, "kind"), "semaphore", "it must be one of mbarrier, named, cluster"),
        (("design", "tile_m"), {}, "design.tile_m is {}: it must be int"),
        (("design", "tile_m"), 64, "is not that of the kernel and design in it"),
        (("kernel", "a"), None, "is not that of the kernel and design in it"),
        (("colour",), "red", "Plan has colour, which is not known"),
    ],
)
def test_what_is_wrong_is_told_by_its_place(
    stored: dict[str, Any], path: tuple[Any, ...], value: Any, told: str
) -> None:
    changed = copy.deepcopy(stored)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(PlanError, match=told):
        plan_from_json(changed)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a tree."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, content in inner:
        yield from places(content, (*path, key))


def test_garbage_at_any_depth_is_refused_or_a_plan(stored: dict[str, Any]) -> None:
    draw, refused = random.Random(0), 0
    ways = [path for path in places(stored) if path]
    for _ in range(300):
        changed, path = copy.deepcopy(stored), draw.choice(ways)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = draw.choice([None, -1, 1e300, "", "x", [], {}, [[]], {"a": 1}, True, 10**40])
        try:
            plan_from_json(changed)
        except PlanError:
            refused += 1
    assert refused > 200


@pytest.mark.parametrize("value", [{}, {"family": "gemm"}, {str(i): i for i in range(50)}])
def test_what_is_no_plan(value: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="plan it again"):
        plan_from_json(value)
