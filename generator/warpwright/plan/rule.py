"""What a rule is: one named predicate over a candidate plan, found by its id, listed in the generated rules page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from warpwright.plan.types import Violation

__all__ = ["Advice", "Finding", "Rule", "RuleSet", "nearest_of"]

T = TypeVar("T")
#: (value, limit, nearest legal value or `Advice`), or None where the rule holds. The nearest value is text as a YAML
#: file writes it in the rule's field, where it is legal as far as this rule goes.
Finding = tuple[object, object, object] | None


class Advice(str):
    """What to do where no value of the rule's own field would do."""


@dataclass(frozen=True)
class Rule(Generic[T]):
    """A predicate with its id, the field it speaks of and its statement (the function's docstring)."""

    id: str
    field: str
    statement: str
    predicate: Callable[[T], Finding]

    def check(self, subject: T) -> Violation | None:
        """Return why `subject` breaks the rule, None where it does not."""
        found = self.predicate(subject)
        if found is None:
            return None
        value, limit, nearest = (str(part) for part in found)
        way_out = f"instead: {nearest}" if isinstance(found[2], Advice) else f"nearest legal: {nearest}"
        message = f"{self.field} = {value}: {self.statement} (limit: {limit}; {way_out})"
        return Violation(self.id, self.field, value, limit, nearest, message)


class RuleSet(Generic[T]):
    """An ordered collection of rules; `add` is a decorator of predicates."""

    def __init__(self) -> None:
        self.rules: list[Rule[T]] = []

    def add(self, id: str, field: str) -> Callable[[Callable[[T], Finding]], None]:
        def decorate(predicate: Callable[[T], Finding]) -> None:
            self.rules.append(Rule(id, field, " ".join((predicate.__doc__ or "").split()), predicate))

        return decorate

    def violations(self, subject: T) -> tuple[Violation, ...]:
        """Return every violation, in the rules' order."""
        return tuple([violation for rule in self.rules if (violation := rule.check(subject))])


def nearest_of(value: int, legal: Iterable[int]) -> int | Advice:
    """Return the legal value nearest to `value` (the smaller of two), or advice where nothing is legal."""
    none = Advice("change another field: beside the rest, no value of this one is legal")
    return min(legal, key=lambda candidate: (abs(candidate - value), candidate), default=none)
