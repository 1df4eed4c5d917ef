"""What to write instead of a wrong value: whatever is offered has been tried, and would do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from warpwright.spec import elsewhere
from warpwright.spec.check import alone
from warpwright.spec.errors import SpecErrors
from warpwright.spec.fields import Fields, nearest_name
from warpwright.spec.schema import file_model
from warpwright.spec.where import Predicate, PredicateError
from warpwright.spec.yaml_nodes import Path, compose, show

__all__ = ["nearest", "would_do"]

_LONGEST = 100  # characters of what is offered


def nearest(fields: Fields, path: Path, value: Any, written: str, meant: str = "") -> str:
    """The legal value nearest to `value` (as read, or the text of what could not be), as a file writes it.

    Empty where none is near, as for numbers of a design that are too small: how small they may be is up to the rules
    of the plan. `written` is the value as it stands in the file, `meant` what its writer is likely to have meant.
    """
    offers = _candidates(fields, path, value, written, meant)
    return next((text for text in offers if text != written and would_do(fields, path, text)), "")


def would_do(fields: Fields, path: Path, text: str) -> bool:
    """Whether a text, put in the place of the field at `path`, would be a value that the field takes."""
    if not text or len(text) > _LONGEST:
        return False
    try:
        document = compose(text, "")
    except SpecErrors:
        return False
    if document.errors or document.bad or alone(file_model(fields.family), path, document.data):
        return False
    if path[:1] != ("where",):
        return True
    try:
        for predicate in document.data if len(path) == 1 else (document.data,):
            Predicate(predicate, fields)
    except PredicateError:
        return False
    return True


def _candidates(fields: Fields, path: Path, value: Any, written: str, meant: str) -> Iterator[str]:
    kinds, choices = fields.kinds(path), fields.choices(path)
    number = _number(value)
    if number is not None and "number" in kinds and (limits := fields.limits(path)):
        low, high = limits
        if low is None or number >= low or path[0] != "design":
            yield str(max(number if low is None else low, min(number if high is None else high, number)))
    if len(choices) == 1 and len(kinds) == 1 and "list" not in kinds:
        yield show(choices[0])
    names = [choice for choice in choices if isinstance(choice, str)]
    if "list" in kinds and value:
        yield show((value,), _LONGEST)
    if isinstance(value, str):
        yield elsewhere.choice(fields, path, value)
        if len(elsewhere.family_of_names(value, names)) < 2:
            yield show(nearest_name(value, names))
    if "mapping" in kinds:
        if isinstance(value, str):  # one key's value in the place of the mapping: dynamic, for {kind: dynamic}
            yield from (f"{{{key}: {value}}}" for key in fields.keys(path) if value in fields.choices((*path, key)))
        # Extents as other tools write them: [128, 256, 64], or 2x1.
        parts = value if isinstance(value, tuple) else re.split("[x:,]", value) if isinstance(value, str) else ()
        if len(parts) == len(keys := fields.keys(path)):
            yield "{" + ", ".join(f"{key}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
    if "text" in kinds and not choices:
        yield meant
        plain = value if isinstance(value, str) else written
        yield show(" ".join(plain.split()), _LONGEST)
        word = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")  # as a name is written
        yield from (word[:64], f"my_{word}") if word else ()


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip().replace("_", "")) if len(value) < 40 else None
        except ValueError:
            return None
    if isinstance(value, float):
        return round(value) if abs(value) < 2**53 else None
    return value if isinstance(value, int) else None
