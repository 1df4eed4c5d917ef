"""From YAML to points: `load(path)` gives a `Spec` or raises `SpecErrors` with every mistake of the file."""

from warpwright.spec.editor_schema import json_schema
from warpwright.spec.errors import SpecError, SpecErrors
from warpwright.spec.loader import load
from warpwright.spec.spec import Spec

__all__ = [
    "Spec",
    "SpecError",
    "SpecErrors",
    "json_schema",
    "load",
]
