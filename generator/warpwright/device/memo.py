"""What is dear to make and the same for many variants, kept as long as memory allows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from warpwright.families.running import Memo

__all__ = ["Store", "fresh"]


@dataclass
class Store:
    """Values by key with their bytes, the least recently used dropped beyond `budget` bytes."""

    budget: int
    used: int = 0
    entries: OrderedDict[tuple[Any, ...], tuple[Any, int]] = field(default_factory=OrderedDict)

    def get(self, key: tuple[Any, ...], make: Callable[[], tuple[Any, int]]) -> Any:
        if key not in self.entries:
            self.entries[key] = made = make()
            self.used += made[1]
            while self.used > self.budget and len(self.entries) > 1:
                self.used -= self.entries.popitem(last=False)[1][1]
        self.entries.move_to_end(key)
        return self.entries[key][0]

    def within(self, *scope: Any) -> Memo:
        """Return `get` for keys that mean something only within a scope, as a product does within its problem."""
        return lambda key, make: self.get((*scope, *key), make)

    def clear(self) -> None:
        self.entries.clear()
        self.used = 0


def fresh(key: tuple[Any, ...], make: Callable[[], tuple[Any, int]]) -> Any:
    """Keep nothing: for callers that ask once."""
    return make()[0]
