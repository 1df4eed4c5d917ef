"""JSON that means one thing: no key twice, no number that JSON has not or beyond 64 bits, no bottomless nesting.

Python reads all of these without a word: the second of two keys wins, NaN and 1e400 pass every comparison that should
stop them, and what is nested a thousand levels deep is a RecursionError for the next who walks through it.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["DEEPEST", "NotJsonError", "check_depth", "parse_json"]

#: Levels of nesting; what this project writes has six or seven.
DEEPEST = 40


class NotJsonError(ValueError):
    """The text is no JSON at all, as one that was cut off."""


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. ValueError, in a few words that name what is wrong, where it has none here."""
    try:
        value = json.loads(
            text, object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise NotJsonError(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    check_depth(value)
    return value


def check_depth(value: Any) -> None:
    """Raise ValueError where a value is nested so deeply that walking through it would end in a RecursionError."""
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _parts(each)]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


_TOO_DEEP = f"nested more than {DEEPEST} levels deep"


def _parts(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [part for part in parts if isinstance(part, (dict, list))]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:40]!r} is there twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is beyond every number")
    return value


def _whole(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= int(text) < 2**64:
        raise ValueError(f"the integer {text[:40]} is beyond 64 bits")
    return int(text)
