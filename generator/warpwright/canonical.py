"""Canonical JSON and digests: one text per value, so that equal values have equal hashes everywhere."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

__all__ = ["canonical_json", "digest", "plain"]


def plain(value: Any) -> Any:
    """Reduce dataclasses, pydantic models, tuples and mappings to dicts, lists and scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json"))
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} has no canonical JSON form: {value!r}")


def canonical_json(value: Any) -> str:
    """Return the one JSON text of `value`: keys sorted, no spaces, no NaN (ValueError)."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 (hex) of a value's canonical JSON, or of text as it stands."""
    text = value if isinstance(value, str) else canonical_json(value)
    return hashlib.sha256(text.encode()).hexdigest()
