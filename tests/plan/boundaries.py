"""Rules at their boundaries: the last legal value, the first illegal one, and what a rule names as nearest."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from warpwright.canonical import plain
from warpwright.plan import plan
from warpwright.point import Point

__all__ = [
    "WITH_C", "Case", "Changes", "at", "broken", "cluster", "holds_with_the_nearest", "is_told", "near", "number",
    "value",
]  # fmt: skip

Changes = Mapping[str, Any]
Pointed = Callable[[Changes], Point]

WITH_C = {"kernel.epilogue": ["alpha", "beta_c"], "kernel.c": {"dtype": "f16", "major": "n"}}


def cluster(m: int, n: int) -> dict[str, Any]:
    return {"design.cluster": {"m": m, "n": n}}


@dataclass(frozen=True)
class Case:
    """A rule's neighbours: changes to the plain point that are just legal, and just illegal with the nearest value.

    `repair` turns the text of the nearest value into changes.
    """

    rule: str
    legal: list[dict[str, Any]]
    illegal: list[tuple[dict[str, Any], str]]
    repair: Callable[[str], Changes]
    base: dict[str, Any] = field(default_factory=dict)


def number(path: str) -> Callable[[str], Changes]:
    return lambda nearest: {path: int(nearest)}


def value(path: str) -> Callable[[str], Changes]:
    return lambda nearest: {path: yaml.safe_load(nearest)}


def at(path: str, *values: Any) -> list[dict[str, Any]]:
    return [{path: v} for v in values]


def near(path: str, nearest: Mapping[Any, Any]) -> list[tuple[dict[str, Any], str]]:
    return [({path: v}, str(legal)) for v, legal in nearest.items()]


def broken(point: Point) -> set[str]:
    return {violation.rule for violation in plan(point).violations}


def is_told(point: Pointed, rule: str, changes: Changes, nearest: str, repair: Callable[[str], Changes]) -> None:
    """The rule is broken, its message names value, limit and what would do, and with that no rule is."""
    found = {violation.rule: violation for violation in plan(point(changes)).violations}
    assert rule in found
    assert found[rule].nearest == nearest
    origin = r"(, the default|, from auto)?: "
    assert re.match(re.escape(f"{found[rule].field} = {found[rule].value}") + origin, found[rule].message)
    assert found[rule].message.endswith(f"(limit: {found[rule].limit}; nearest legal: {nearest})")
    assert broken(point({**changes, **repair(nearest)})) == set()


def holds_with_the_nearest(pointed: Point, model: Callable[[Mapping[str, Any]], Point]) -> None:
    """With what a violation names as nearest in the place of its field, its rule holds, whatever else is wrong."""
    asked = plain(pointed)
    for violation in plan(pointed).violations:
        assert ("; nearest legal: " in violation.message) != ("; instead: " in violation.message)
        if "; nearest legal: " in violation.message:
            tree = copy.deepcopy(asked)
            *parents, last = violation.field.split(".")
            node = tree
            for name in parents:
                node = node[name]
            node[last] = yaml.safe_load(violation.nearest)
            tree["kernel"]["epilogue"] = [
                {"op": step} if isinstance(step, str) else step for step in tree["kernel"]["epilogue"]
            ]
            assert violation.rule not in broken(model(tree)), violation
