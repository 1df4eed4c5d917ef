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

_KINDS = {
    "integer": "number", "number": "number", "string": "text", "boolean": "truth", "array": "list", "object": "mapping",
    "null": "null",
}  # fmt: skip
_LONGEST_NAME = 80
_ITEMS = {"string": "texts", "object": "mappings"}


class Fields:
    """The fields of one family's files. Made anew for each file, since what a user adds to a vocabulary may change."""

    def __init__(self, family: str) -> None:
        self.family = family
        self._nodes: dict[Path, list[Schema]] = {}  # a sweep asks for the same ones in every product

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
        # Every item of a list is like the first.
        path = tuple(0 if isinstance(step, int) else step for step in path)
        found = self._nodes.get(path)
        if found is None:
            found = self._nodes[path] = self._find(path)
        return found

    def _find(self, path: Path) -> list[Schema]:
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

    def kinds(self, path: Path) -> frozenset[str]:
        """What kinds of value the field at `path` takes: number, text, truth, list, mapping, null."""
        found = set()
        for node in self._at(path):
            values = node.get("enum", [node["const"]] if "const" in node else [])
            found |= {_KINDS[node["type"]]} if "type" in node else {_kind_of(value) for value in values}
        return frozenset(found)

    def choices(self, path: Path) -> list[Any]:
        """The values to choose from, where a field has some; of a list, its items'."""
        nodes = self._at(path)
        return _choices([*nodes, *(item for node in nodes if "items" in node for item in self._flat(node["items"]))])

    def rule(self, path: Path) -> str:
        """What the field at `path` accepts, in words."""
        nodes = self._at(path)
        parts = [self._words(node) for node in nodes if "enum" not in node and "const" not in node]
        choices = [show(choice) for choice in _choices(nodes)]
        remarks = dict.fromkeys(f" ({node['$comment']})" for node in nodes if "$comment" in node)
        if choices:
            parts.insert(0, f"one of {', '.join(choices)}{''.join(remarks)}" if len(choices) > 1 else choices[0])
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
            most = f", {node['maxItems']} at most" if "maxItems" in node else ""
            return f"a list of {'one or more ' if node.get('minItems') else ''}{names}{next(told, '')}{most}"
        if kind == "object":
            return f"a mapping with the keys {', '.join(node['properties'])}"
        if kind == "string":
            return str(node.get("description", "text"))
        return str(kind)

    def limits(self, path: Path) -> tuple[int | None, int | None] | None:
        """The least and the largest whole number of a field, None for no limit; None for a field of other kinds."""
        numbers = [node for node in self._at(path) if node.get("type") == "integer" and "const" not in node]
        return (numbers[0].get("minimum"), numbers[0].get("maximum")) if numbers else None


def _kind_of(value: Any) -> str:
    return "truth" if isinstance(value, bool) else "number" if isinstance(value, int) else "text"


def _has(node: Schema, step: str | int) -> bool:
    return "items" in node if isinstance(step, int) else step in node.get("properties", ())


def _choices(nodes: Iterable[Schema]) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        found += node.get("enum", [node["const"]] if "const" in node else [])
    return list(dict.fromkeys(found))


def nearest_name(name: str, names: Sequence[str], alike: float = 0.5) -> str:
    """The one of `names` that is spelt most like `name`, empty where none is alike (1: the same but for case)."""
    if len(name) > _LONGEST_NAME:  # which takes the square of its length to compare
        return ""
    return next(iter(difflib.get_close_matches(name.lower(), names, n=1, cutoff=alike)), "")
