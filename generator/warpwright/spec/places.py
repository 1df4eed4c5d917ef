"""Where in a file a field is given, and what a place in the file speaks of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpwright import families
from warpwright.spec.check import Fault
from warpwright.spec.yaml_nodes import Path

__all__ = ["family_of", "items", "swept_field", "unknown_first", "value_at"]


def unknown_first(faults: Mapping[Path, Fault]) -> list[tuple[Path, Fault]]:
    return sorted(faults.items(), key=lambda fault: fault[1] != "unknown")


def swept_field(at: Path) -> Path:
    """The field that a place in the file is for: the value of a sweep stands for the field that it sweeps."""
    if at[:1] != ("sweep",):
        return at
    product = at[2:] if len(at) > 1 and isinstance(at[1], int) else at[1:]
    return (*str(product[0]).split("."), *product[2:]) if len(product) > 1 else at


def value_at(root: Any, path: Path) -> Any:
    for step in path:
        root = root[step]
    return root


def items(at: Path, values: tuple[Any, ...]) -> list[tuple[Path, Any]]:
    return [((*at, index), value) for index, value in enumerate(values)]


def family_of(data: Any) -> str:
    """The family that a file speaks of; the first of the registry where it names none that there is."""
    kernel = data.get("kernel") if isinstance(data, dict) else None
    named = kernel.get("family") if isinstance(kernel, dict) else None
    return named if isinstance(named, str) and named in families.NAMES else families.NAMES[0]
