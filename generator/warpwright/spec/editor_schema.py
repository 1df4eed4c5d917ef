"""The JSON Schema of a YAML file, for editors: completion and the same rules while typing."""

from __future__ import annotations

import copy
from typing import Any

from warpwright.spec.fields import field_paths, schema

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    """A JSON Schema (draft 2020-12) of what `load` accepts.

    `kernel` and `design` require no fields in it, since the sweep may give them; rules between fields and the
    text of predicates are left to `load`.
    """
    root = copy.deepcopy(schema())
    definitions = root["$defs"]
    for name in ("KernelFields", "Design", "Tile"):
        definitions[name].pop("required", None)
    product = {
        "type": "object",
        "additionalProperties": False,
        "properties": {path: {"type": "array", "minItems": 1, "items": _node(root, path)} for path in field_paths()},
    }
    definitions["Product"] = product
    reference = {"$ref": "#/$defs/Product"}
    root["properties"]["sweep"] = {
        "description": "values per field; every combination is a point. A list is the union of its products.",
        "anyOf": [reference, {"type": "array", "minItems": 1, "items": reference}],
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "title": "warpwright exploration"}


def _node(root: dict[str, Any], path: str) -> dict[str, Any]:
    """The schema of one field, found through the first alternative that has its keys."""
    node: dict[str, Any] = root
    for step in path.split("."):
        options = [node, *node.get("anyOf", ())]
        resolved = [root["$defs"][o["$ref"].rpartition("/")[2]] if "$ref" in o else o for o in options]
        node = next(option["properties"][step] for option in resolved if step in option.get("properties", ()))
    return {key: value for key, value in node.items() if key != "default"}
