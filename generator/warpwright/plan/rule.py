"""What a rule is: one named predicate over a candidate plan, found by its id, listed in the generated rules page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from warpwright.plan.types import Violation

__all__ = ["Rule", "RuleSet", "nearest_of"]

T = TypeVar("T")


@dataclass(frozen=True)
class Rule(Generic[T]):
    """A predicate with its id, the field it speaks of and its statement (the function's docstring)."""

    id: str
    field: str
    statement: str
    check: Callable[[T], Violation | None]


class RuleSet(Generic[T]):
    """An ordered collection of rules; `add` is a decorator.

    A predicate returns None where the rule holds, else (value, limit, nearest legal value).
    """

    def __init__(self) -> None:
        self.rules: list[Rule[T]] = []

    def add(self, id: str, field: str) -> Callable[[Callable[[T], tuple[object, object, object] | None]], None]:
        def decorate(predicate: Callable[[T], tuple[object, object, object] | None]) -> None:
            statement = " ".join((predicate.__doc__ or "").split())

            def check(subject: T) -> Violation | None:
                found = predicate(subject)
                if found is None:
                    return None
                value, limit, nearest = (str(part) for part in found)
                message = f"{field} = {value}: {statement} (limit: {limit}; nearest legal: {nearest})"
                return Violation(id, field, value, limit, nearest, message)

            self.rules.append(Rule(id, field, statement, check))

        return decorate

    def violations(self, subject: T) -> tuple[Violation, ...]:
        """Return every violation, in the rules' order."""
        return tuple(v for rule in self.rules if (v := rule.check(subject)) is not None)


def nearest_of(value: int, legal: Iterable[int]) -> int | str:
    """Return the legal value nearest to `value` (the smaller of two), or "none" where nothing is legal."""
    return min(legal, key=lambda candidate: (abs(candidate - value), candidate), default="none")
