"""Text from elsewhere (file names, values of a YAML file, what an operation's author wrote) as one harmless line."""

from __future__ import annotations

__all__ = ["printable", "shortened", "source_line"]

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def printable(text: str) -> str:
    """Return `text` on one line in which everything is seen: what moves a cursor, turns text round or is invisible
    (control, format and bidi characters, odd blanks, the halves of a pair that stand for bytes of no UTF-8) is escaped
    as Python escapes it. Printable text comes back as it is."""
    return text if text.isprintable() else "".join(map(_seen, text))


def shortened(text: str, limit: int = 60) -> str:
    """Return `text` made printable, cut at `limit` characters."""
    seen = printable(text[: limit + 1])
    return seen if len(seen) <= limit else seen[: limit - 3] + "..."


def source_line(text: object) -> str:
    """Return text that can stand in a comment or in a docstring of Python source and ends neither."""
    return printable(str(text)).replace("\\", "\\\\").replace('"', '\\"')


def _seen(character: str) -> str:
    if character.isprintable():
        return character
    return _SHORT.get(character) or character.encode("unicode_escape").decode("ascii")
