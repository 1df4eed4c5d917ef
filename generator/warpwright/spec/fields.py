"""What a field accepts, read from the JSON Schema of the models: rule texts and nearest legal values.

Errors must name the rule and a way out for every field; reading both from the schema keeps them true when the
models change.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from warpwright.spec.schema import file_model
from warpwright.spec.yaml_nodes import Path, show

__all__ = ["Fields", "Schema", "nearest_name"]

Schema = dict[str, Any]

_ITEMS = {"string": "texts", "object": "mappings"}


class Fields:
    """The fields of one family's files. Made anew for each file, since what a user adds to a vocabulary may change."""

    def __init__(self, family: str) -> None:
        self.family = family

    @cached_property
    def schema(self) -> Schema:
        """The JSON Schema of a file, without what its sweep may hold. Do not change it."""
        return file_model(self.family).model_json_schema(by_alias=True)

    def _flat(self, node: Schema) -> Iterator[Schema]:
        """The alternatives of a schema node, references followed."""
        if "$ref" in node:
            yield from self._flat(self.schema["$defs"][node["$ref"].rpartition("/")[2]])
        elif "anyOf" in node:
            for option in node["anyOf"]:
                yield from self._flat(option)
        else:
            yield node

    def _at(self, path: Path) -> list[Schema]:
        nodes = list(self._flat(self.schema))
        for step in path:
            below = [n["items"] if isinstance(step, int) else n["properties"][step] for n in nodes if _has(n, step)]
            nodes = [alternative for node in below for alternative in self._flat(node)]
        return [node for node in nodes if {"type", "enum", "const"} & node.keys()]  # `sweep` takes anything

    def keys(self, path: Path) -> list[str]:
        """The keys that the mapping at `path` may have."""
        return list(dict.fromkeys(key for node in self._at(path) for key in node.get("properties", ())))

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Dotted paths of every field and subtree of a point, outer ones first."""
        return (*self._paths(("kernel",)), *self._paths(("design",)))

    def _paths(self, path: Path) -> Iterator[str]:
        yield ".".join(map(str, path))
        for key in self.keys(path):
            yield from self._paths((*path, key))

    def accepts(self, path: Path) -> tuple[set[str], list[Any]]:
        """The JSON types that a field takes (without those of its choices), and its choices; of a list, its items'."""
        nodes = self._at(path)
        items = [item for node in nodes if "items" in node for item in self._flat(node["items"])]
        return {n["type"] for n in nodes if "enum" not in n and "const" not in n}, _choices([*nodes, *items])

    def rule(self, path: Path) -> str:
        """What the field at `path` accepts, in words."""
        nodes = self._at(path)
        parts = [self._words(node) for node in nodes if "enum" not in node and "const" not in node]
        choices = [show(choice) for choice in _choices(nodes)]
        if choices:
            parts.insert(0, f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0])
        if len(parts) == len(choices) == 1:
            return f"only {choices[0]}"
        return ", or ".join(parts)

    def _words(self, node: Schema) -> str:
        kind = node["type"]
        if kind == "integer":
            if "maximum" in node:
                return f"a whole number from {node['minimum']} to {node['maximum']}"
            return f"a whole number of {node['minimum']} or more" if "minimum" in node else "a whole number"
        if kind == "array":
            items = list(self._flat(node["items"]))
            names = " or ".join(dict.fromkeys(_ITEMS[item["type"]] for item in items))
            told = (f" with the keys {', '.join(item['properties'])}" for item in items if "properties" in item)
            return f"a list of {'one or more ' if node.get('minItems') else ''}{names}{next(told, '')}"
        if kind == "object":
            return f"a mapping with the keys {', '.join(node['properties'])}"
        if kind == "string":
            return str(node.get("description", "text"))
        return str(kind)

    def nearest(self, path: Path, value: Any) -> str:
        """The legal value nearest to `value` (as read, or the text of what could not be), empty where none is near.

        Empty too for numbers of a design that are too small: how small they may be is up to the rules of the plan.
        """
        nodes = self._at(path)
        number = _number(value)
        integers = [node for node in nodes if node["type"] == "integer" and "const" not in node]
        if integers and number is not None:
            low, high = integers[0].get("minimum", number), integers[0].get("maximum", number)
            return "" if number < low and path[0] == "design" else str(max(low, min(high, number)))
        choices = _choices(nodes)
        if len(choices) == 1 and len(nodes) == 1:
            return show(choices[0])
        items = [item for node in nodes if "items" in node for item in self._flat(node["items"])]
        if value and any(_suits(item, value) for item in items):
            return show((value,))
        return nearest_name(str(value), [choice for choice in choices if isinstance(choice, str)])


def _has(node: Schema, step: str | int) -> bool:
    return "items" in node if isinstance(step, int) else step in node.get("properties", ())


def _choices(nodes: Iterable[Schema]) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        found += node.get("enum", [node["const"]] if "const" in node else [])
    return list(dict.fromkeys(found))


def _suits(item: Schema, value: Any) -> bool:
    """Whether one value, alone in a list, would do as far as its choices and keys go."""
    if isinstance(value, dict):
        return item["type"] == "object" and set(item.get("required", ())) <= set(value) <= set(item["properties"])
    return item["type"] == "string" and isinstance(value, str) and value in item.get("enum", [value])


def nearest_name(name: str, names: Sequence[str]) -> str:
    """The one of `names` that is spelt most like `name`, empty where none is."""
    return next(iter(difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)), "")


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip().replace("_", ""))
        except ValueError:
            return None
    if isinstance(value, float):
        return round(value) if abs(value) < 2**53 else None
    return value if isinstance(value, int) else None
