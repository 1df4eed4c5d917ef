"""What an arithmetic instruction computes, as expressions; and the integer types."""

from __future__ import annotations

from dataclasses import dataclass

INTEGERS = {"u16": 16, "s16": 16, "b16": 16, "u32": 32, "s32": 32, "b32": 32, "u64": 64, "s64": 64, "b64": 64}


@dataclass(frozen=True)
class Operation:
    """`vector` and `scalar` hold {0}, {1}, ... for the operands; a missing `scalar` is the vector one on one lane."""

    result: str
    sources: tuple[str, ...]
    vector: str
    scalar: str | None = None
    ufunc: str | None = None
