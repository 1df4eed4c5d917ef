"""Lays buffers out in shared memory by the rules of the DSL's `cute.struct`, to the byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from warpwright.plan.types import Buffer

__all__ = ["align_up", "lay_out"]


def align_up(value: int, alignment: int) -> int:
    """Return the smallest multiple of `alignment` that is not below `value` (both in bytes)."""
    return -(-value // alignment) * alignment


def lay_out(buffers: Iterable[Buffer]) -> tuple[tuple[Buffer, ...], int]:
    """Assign offsets in order and return the buffers with the total, both in bytes.

    Like a C struct, the whole is padded to its strictest alignment.
    """
    placed: list[Buffer] = []
    offset = 0
    alignment = 1
    for buffer in buffers:
        offset = align_up(offset, buffer.alignment)
        placed.append(replace(buffer, offset=offset))
        offset += buffer.bytes
        alignment = max(alignment, buffer.alignment)
    return tuple(placed), align_up(offset, alignment)
