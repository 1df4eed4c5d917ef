"""From YAML to points: `load(path)` gives a `Spec` or raises `SpecErrors` with every mistake of the file."""

from generator.spec.editor_schema import json_schema
from generator.spec.errors import SpecError, SpecErrors
from generator.spec.loader import load
from generator.spec.schema import Bench, Problem, Validation
from generator.spec.spec import Spec
from generator.spec.starters import families, starter

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
