"""Element types: their names here, in the DSL and in PTX, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Dtype", "dtype"]


@dataclass(frozen=True)
class Dtype:
    name: str
    bytes: int
    dsl: str  # class in the cutlass package


_DTYPES = {
    d.name: d
    for d in (
        Dtype("f16", 2, "Float16"),
        Dtype("bf16", 2, "BFloat16"),
        Dtype("f32", 4, "Float32"),
    )
}


def dtype(name: str) -> Dtype:
    """Return an element type by its name in YAML (KeyError when there is none)."""
    return _DTYPES[name]
