"""From YAML to points: `load(path)` gives a `Spec` or raises `SpecErrors` with every mistake of the file."""

from warpwright.spec.editor_schema import json_schema
from warpwright.spec.errors import SpecError, SpecErrors
from warpwright.spec.loader import load
from warpwright.spec.schema import Bench, Problem, Validation
from warpwright.spec.spec import Spec
from warpwright.spec.starters import families, starter

__all__ = [
    "Bench",
    "Problem",
    "Spec",
    "SpecError",
    "SpecErrors",
    "Validation",
    "families",
    "json_schema",
    "load",
    "starter",
]
