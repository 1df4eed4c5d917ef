"""Outputs against a reference that the user gives, and memory that should have been written."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.checking.device_memory import PATTERN
from warpwright.checking.report import Message

__all__ = ["compare"]


def compare(name: str, got: Any, expected: Any, rtol: float, atol: float) -> list[Message]:
    """Return what is wrong with an output, nothing where it is right.

    Arrays of any library that numpy takes; of one shape, else the shapes are the finding. An element is right where it
    is within atol + rtol * |expected|; NaN equals NaN, and infinities equal themselves alone.
    """
    raw, wanted = np.asarray(got), np.asarray(expected)
    if raw.shape != wanted.shape:
        return [Message("wrong-result", f"{name} has the shape {raw.shape}, its reference {wanted.shape}")]
    missing = _unwritten(raw)
    if missing.any():
        first = np.argwhere(missing)[0].tolist()
        text = f"{int(missing.sum())} of {raw.size} elements of {name} were never written, the first at {first}"
        return [Message("unwritten", text)]
    with np.errstate(all="ignore"):
        values, target = raw.astype(np.float64), wanted.astype(np.float64)
        bound = atol + rtol * np.abs(target)
        near = np.abs(values - target) <= bound
    wrong = ~(near | (values == target) | (np.isnan(values) & np.isnan(target)))
    if not wrong.any():
        return []
    first = tuple(np.argwhere(wrong)[0].tolist())
    text = (
        f"{int(wrong.sum())} of {raw.size} elements of {name} are wrong; the first, {name}{list(first)}, is"
        f" {values[first]:g}, expected {target[first]:g} within {bound[first]:.3g}"
    )
    return [Message("wrong-result", text)]


def _unwritten(array: Any) -> Any:
    """Which elements still hold the pattern of memory that nobody has written (those of 16 and more bits)."""
    size = array.dtype.itemsize
    if size not in (2, 4, 8):
        return np.zeros(array.shape, dtype=bool)
    pattern = int.from_bytes(PATTERN.to_bytes(4, "little") * 2, "little") & ((1 << 8 * size) - 1)
    bits = np.ascontiguousarray(array).view(f"u{size}")
    return bits == np.array(pattern, dtype=f"u{size}")
