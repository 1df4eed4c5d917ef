"""What the fields of a point hold, by dotted path, the choices that its plan makes included."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from warpwright import families
from warpwright.point import Point
from warpwright.spec.evaluate import Chosen
from warpwright.spec.yaml_nodes import show

__all__ = ["AbsentError", "PointValues", "UnresolvedError", "resolved", "short"]

#: What the choices of a point became, by dotted path below `design`; None where the point is illegal.
Resolve = Callable[[Point], Mapping[str, Any] | None]


class AbsentError(Exception):
    """A field that a point does not have, because what is around it is `none` or null there."""


class UnresolvedError(Exception):
    """A choice that is left to the plan, at a point for which there is none."""


def resolved(point: Point) -> Mapping[str, Any] | None:
    """Plan a point, and return what its open choices became; None where it is illegal."""
    target = families.target(point.family, point.arch)
    plan = target.plan(point)
    return target.resolved(plan) if plan.legal else None


class PointValues:
    """The fields of one point, looked up, and the point planned, only when a predicate asks."""

    def __init__(self, point: Point, resolve: Resolve = resolved) -> None:
        self.point, self._resolve = point, resolve
        self._choices: Mapping[str, Any] | None = None
        self._planned = False

    def get(self, name: str) -> Any:
        """The value of a field by its full path. Raises AbsentError, UnresolvedError."""
        part, *path = name.split(".")
        value: Any = getattr(self.point, part)
        for depth, step in enumerate(path):
            if not isinstance(value, BaseModel):
                return self._inside(name, ".".join([part, *path[:depth]]), path[depth:], value)
            value = getattr(value, step)
        if isinstance(value, tuple):
            return tuple(map(_bare, value))
        if isinstance(value, str) and part == "design" and value in _OPEN:
            return Chosen(value, self._chosen(name))
        return value.model_dump() if isinstance(value, BaseModel) else value

    def _inside(self, name: str, around: str, rest: list[str], written: Any) -> Any:
        """The value of a field inside one that is written as a word: what that became has it, or nothing does."""
        value = self._chosen(around) if written in _OPEN else written
        for step in rest:
            if not isinstance(value, Mapping):
                told = f"{short(name)} where {short(around)} = {show(value)}"
                raise AbsentError(f"{told}: test {short(around)} first")
            value = value[step]
        return value

    def _chosen(self, name: str) -> Any:
        if not self._planned:
            self._choices, self._planned = self._resolve(self.point), True
        if self._choices is None:
            raise UnresolvedError(name)
        return self._choices[name]


#: How a design leaves a choice to the plan.
_OPEN = ("auto",)


def _bare(item: Any) -> Any:
    """An item of a list as its short form: the field that a bare name stands for."""
    shorthand = getattr(item, "shorthand", None)
    return item if shorthand is None else getattr(item, shorthand)


def short(name: str) -> str:
    """A field's path as a predicate may write it."""
    return name.removeprefix("design.")
