"""What is wrong with a value that is not what it must be. Imports nothing: help is shown without any schema."""

from __future__ import annotations

from typing import Any

__all__ = ["ABSENT", "PARTIAL", "SchemaError", "shown"]

_LONGEST = 80
#: The status of a folder whose runs, though all of them are correct, do not cover what was asked for: no verdict.
PARTIAL = "partial"
#: Where there is no value.
ABSENT = object()


class SchemaError(ValueError):
    """A value that is not what it must be; the text is one sentence that names its key, the value and the rule."""

    def __init__(self, path: str, value: Any, rule: str) -> None:
        super().__init__(f"{path} is {shown(value)}: {rule}" if value is not ABSENT else f"{path} is missing: {rule}")
        self.path, self.value, self.rule = path, value, rule


def shown(value: Any) -> str:
    """Return a value as a message shows it: one line of at most some eighty characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of too many digits, or too deep
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
