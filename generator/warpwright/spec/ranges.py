"""Ranges of a sweep: `{from: 2, to: 8, step: 2}` stands for 2, 4, 6, 8 where a field takes whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from warpwright.spec.fields import nearest_name

__all__ = ["KEYS", "expanded", "faults", "is_range", "written_otherwise"]

#: Of a range: its first value, its last one, and how far the values are apart (1, if it is not given).
KEYS = ("from", "to", "step")

#: What is wrong with a range: its key, the rule, what to write instead, what that is; about a value, or about the key.
Wrong = tuple[str, str, str, str, bool]


def is_range(value: Any, kinds: frozenset[str]) -> bool:
    """Whether a value of a swept field stands for several: a mapping, where the field takes numbers and no mapping."""
    return isinstance(value, dict) and "number" in kinds and "mapping" not in kinds


def faults(value: dict[str, Any], most: int) -> Iterator[Wrong]:
    """Yield every fault of a range as such, whatever the field takes; `most` values it may have."""
    for key in value:
        if key not in KEYS:
            near = nearest_name(key, KEYS)
            yield key, f"unknown key: a range has {', '.join(KEYS)}", near, "known key", False
    for key in ("from", "to"):
        if key not in value:
            yield key, "missing: a range has a first value (from) and a last one (to)", "", "", False
    wrong = False
    for key in KEYS:
        if key in value and type(value[key]) is not int:
            yield key, "a whole number", _whole(value[key]), "legal value", True
            wrong = True
    if wrong or not {"from", "to"} <= value.keys():
        return
    first, last, step = value["from"], value["to"], value.get("step", 1)
    if step < 1:
        yield "step", "a whole number of 1 or more", "1" if (last - first) >= 0 else "", "legal value", True
    elif last < first:
        yield "to", f"a range goes up, and this one begins at {first}", str(first), "legal value", True
    elif (last - first) // step + 1 > most:
        rule = f"at most {most:,} values, and these are {(last - first) // step + 1:,}"
        yield "to", rule, str(first + (most - 1) * step), "legal value", True
    elif (last - first) % step:
        reached = last - (last - first) % step
        yield "to", f"not reached from {first} in steps of {step}", str(reached), "legal value", True


def expanded(value: dict[str, int]) -> range:
    """The values of a faultless range."""
    return range(value["from"], value["to"] + 1, value.get("step", 1))


def written_otherwise(text: Any) -> str:
    """A range that is written as in other places, `2..8`, `2-8`, `2:8` or `range(2, 9)`, as it is written here."""
    if not isinstance(text, str) or len(text) > 40:
        return ""
    plain = text.replace(" ", "")
    exclusive = plain.startswith("range(") and plain.endswith(")")
    if exclusive:
        plain = plain[len("range(") : -1]
    for sign in ("...", "..", "-", ",") if not exclusive else (",",):
        parts = plain.split(sign)
        if len(parts) in (2, 3) and all(part.isascii() and part.isdigit() for part in parts):
            first, last, *step = map(int, parts)
            apart = step[0] if step else 1
            if not apart:
                return ""
            last = first + (last - first - exclusive) // apart * apart
            return f"{{from: {first}, to: {last}{f', step: {apart}' if step else ''}}}" if last >= first else ""
    return ""


def _whole(value: Any) -> str:
    """The whole number that a value was meant to be, "" where that cannot be told."""
    if isinstance(value, float) and abs(value) < 2**53:
        return str(round(value))
    return value if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 18 else ""
