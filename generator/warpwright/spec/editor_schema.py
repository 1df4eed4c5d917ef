"""The JSON Schema of a YAML file, for editors: completion and the same rules while typing."""

from __future__ import annotations

import copy
from typing import Any

from warpwright import families
from warpwright.spec.fields import Fields
from warpwright.spec.ranges import KEYS

__all__ = ["json_schema"]

Schema = dict[str, Any]


def json_schema() -> Schema:
    """A JSON Schema (draft 2020-12) of what `load` accepts, of every family.

    Neither `kernel` and `design` nor their fields are required in it, since the sweep may give them; rules between
    fields and the text of predicates are left to `load`.
    """
    definitions: Schema = {}
    for name in families.NAMES:
        definitions |= _family_schema(name)
    named = {
        name: {"properties": {"kernel": {"properties": {"family": {"const": name}}, "required": ["family"]}}}
        for name in families.NAMES
    }
    # A file that names no family is of the first.
    branches: Schema = {"$ref": f"#/$defs/{families.NAMES[0]}"}
    for name in reversed(families.NAMES[1:]):
        branches = {
            "if": {**named[name], "required": ["kernel"]},
            "then": {"$ref": f"#/$defs/{name}"},
            "else": branches,
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "warpwright exploration",
        "$defs": definitions,
        **branches,
    }


def _family_schema(name: str) -> Schema:
    """The definitions of one family's files: the file itself under the family's name, its parts below that."""
    fields = Fields(name)
    root = copy.deepcopy(fields.schema)
    definitions: Schema = root.pop("$defs")
    products = {path: _node(root, definitions, path) for path in fields.paths}
    for path in fields.paths:
        for node in _resolved(_node(root, definitions, path), definitions):
            node.pop("required", None)
    root["required"] = [key for key in root["required"] if key not in ("kernel", "design")]
    definitions["Product"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {path: _swept(node, fields.kinds(tuple(path.split(".")))) for path, node in products.items()},
    }
    definitions["Range"] = {
        "type": "object",
        "description": "the whole numbers from the first to the last, both included, in steps of 1 or of `step`",
        "additionalProperties": False,
        "required": ["from", "to"],
        "properties": {key: {"type": "integer", **({"minimum": 1} if key == "step" else {})} for key in KEYS},
    }
    reference = {"$ref": "#/$defs/Product"}
    root["properties"]["sweep"] = {
        "description": "values per field, or a range; every combination is a point. A list is a union of products.",
        "anyOf": [reference, {"type": "array", "minItems": 1, "items": reference}],
    }
    renamed: Schema = _renamed({name: root, **{f"{name}.{part}": node for part, node in definitions.items()}}, name)
    return renamed


def _swept(node: Schema, kinds: frozenset[str]) -> Schema:
    """What a swept field may have: a list of its values, and ranges where these are numbers."""
    if "number" not in kinds or "mapping" in kinds:
        return {"type": "array", "minItems": 1, "items": node}
    values: Schema = {"$ref": "#/$defs/Range"}
    return {"anyOf": [{"type": "array", "minItems": 1, "items": {"anyOf": [node, values]}}, values]}


def _node(root: Schema, definitions: Schema, path: str) -> Schema:
    """The schema of one field, found through the first alternative that has its keys."""
    node = root
    for step in path.split("."):
        options = _resolved(node, definitions)
        node = next(option["properties"][step] for option in options if step in option.get("properties", ()))
    return {key: value for key, value in node.items() if key != "default"}


def _resolved(node: Schema, definitions: Schema) -> list[Schema]:
    """The alternatives of a node, references followed."""
    options = [node, *node.get("anyOf", ())]
    return [definitions[option["$ref"].rpartition("/")[2]] if "$ref" in option else option for option in options]


def _renamed(node: Any, family: str) -> Any:
    """References to definitions that are now below the family's name."""
    if isinstance(node, dict):
        return {
            key: value.replace("#/$defs/", f"#/$defs/{family}.") if key == "$ref" else _renamed(value, family)
            for key, value in node.items()
            if key != "$comment"  # of messages: it speaks of this machine
        }
    return [_renamed(item, family) for item in node] if isinstance(node, list) else node
