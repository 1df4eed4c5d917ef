"""Attributes and environment variables that have another value for a while."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

__all__ = ["Exchanged"]


class Exchanged:
    """Attributes and variables that are set for a while."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def attribute(self, owner: Any, name: str, value: Any) -> Any:
        """Set an attribute and return what it was."""
        before = getattr(owner, name)
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)
        return before

    def variables(self, values: dict[str, str]) -> None:
        before = {name: os.environ.get(name) for name in values}
        os.environ.update(values)

        def undo() -> None:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

        self._undo.append(undo)

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()
