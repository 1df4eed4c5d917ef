"""Writes pieces of Python source as `ruff format` leaves them, so that a rendered file needs no formatter."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["LINE_LENGTH", "bracketed"]

LINE_LENGTH = 120


def bracketed(head: str, items: Sequence[str], tail: str, indent: int = 0, after: str = "") -> str:
    """Return `head`, which opens a bracket, the items and `tail`, which closes it, on as few lines as hold them.

    `indent` is that of the first line, which is not part of the text; `after` follows the tail on its line.
    """
    inside = ", ".join(items)
    if indent + len(head) + len(inside) + len(tail) + len(after) <= LINE_LENGTH:
        return f"{head}{inside}{tail}"
    margin = " " * (indent + 4)
    if len(margin) + len(inside) <= LINE_LENGTH:
        return f"{head}\n{margin}{inside}\n{' ' * indent}{tail}"
    lines = "".join(f"{margin}{item},\n" for item in items)
    return f"{head}\n{lines}{' ' * indent}{tail}"
