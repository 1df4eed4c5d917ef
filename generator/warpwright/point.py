"""One point of the design space: the kernel that is asked for and every choice of how to run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Point"]


@dataclass(frozen=True)
class Point:
    """One combination of a sweep; `kernel` and `design` are values of the family's models."""

    family: str
    arch: str
    kernel: Any
    design: Any
