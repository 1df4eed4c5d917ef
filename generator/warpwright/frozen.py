"""The base of every model of what a person writes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Frozen"]


class Frozen(BaseModel):
    """Immutable, strictly typed, closed to unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")
