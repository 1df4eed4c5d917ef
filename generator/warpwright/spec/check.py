"""Pydantic's complaints about plain data, reduced to one fault per place in the file."""

from __future__ import annotations

import itertools
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from warpwright.spec.yaml_nodes import Path

__all__ = ["Fault", "alone", "check"]

Fault = Literal["missing", "unknown", "value"]


#: Of one tree: beyond these nobody reads, and each takes time.
_MOST = 1000


def alone(model: type[BaseModel], path: Path, value: Any) -> dict[Path, Fault]:
    """What is wrong with a value as the one thing in its field, by path; what the rest would be is not asked.

    A path into a list stands for any item: the faults are those of item 0.
    """
    tree = value
    for step in reversed(path):
        tree = (tree,) if isinstance(step, int) else {step: tree}
    place = tuple(0 if isinstance(step, int) else step for step in path)
    return {found: kind for found, kind in check(model, tree).items() if found[: len(place)] == place}


def check(model: type[BaseModel], data: dict[str, Any]) -> dict[Path, Fault]:
    """What is wrong with plain data, by path; innermost paths only. Right data gives an empty mapping."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        kinds: dict[str, Fault] = {"missing": "missing", "extra_forbidden": "unknown"}
        found: dict[Path, Fault] = {}
        for detail in itertools.islice(
            error.errors(include_url=False, include_context=False, include_input=False), _MOST
        ):
            found[_path(detail["loc"], data, detail["type"])] = kinds.get(detail["type"], "value")
        # Of a union every alternative complains: the one that got deepest into the value is what was meant.
        around = {path[:length] for path in found for length in range(len(path))}
        return {path: kind for path, kind in found.items() if path not in around}
    return {}


def _path(location: Path, data: Any, kind: str) -> Path:
    """A pydantic location without the names of union alternatives in it."""
    path: list[str | int] = []
    for depth, step in enumerate(location):
        inside = step in data if isinstance(data, dict) else isinstance(data, tuple) and isinstance(step, int)
        if inside:
            path.append(step)
            data = data[step]
        elif kind == "missing" and depth == len(location) - 1:
            path.append(step)
    return tuple(path)
