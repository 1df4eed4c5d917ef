"""How tiles come and go by TMA: swizzles, the boxes of a stage, and the copies of a plan."""

from __future__ import annotations

import functools
from typing import Literal, NamedTuple

from warpwright.families.gemm.parts.computed import Matrix
from warpwright.plan.types import Copy, Swizzle

__all__ = ["ALIGNMENT", "SWIZZLE_BYTES", "Boxes", "boxes", "copy", "subtile_swizzle", "swizzle_of"]

SWIZZLE_BYTES: dict[Swizzle, int] = {"none": 16, "32B": 32, "64B": 64, "128B": 128, "128B/32B": 128}
#: A swizzle of 128 bytes repeats after 8 lines: where buffers of TMA start.
ALIGNMENT = 1024


class Boxes(NamedTuple):
    """The TMA boxes that make one stage of an operand, each as wide as the swizzle."""

    swizzle: Swizzle
    number: int
    looped: bool  # issued in a loop, not one by one: there are many


@functools.lru_cache(maxsize=1024)
def swizzle_of(span_bytes: int) -> Swizzle:
    """Return the widest swizzle whose span divides a contiguous extent of `span_bytes` bytes."""
    for name in ("128B", "64B", "32B"):
        if span_bytes % SWIZZLE_BYTES[name] == 0:
            return name
    return "none"


@functools.lru_cache(maxsize=4096)
def boxes(matrix: Matrix, rows: int, depth: int, registers: int) -> Boxes:
    """Return the boxes of a stage of A or B; `registers` are those that a thread of the producer may use."""
    extent = (depth if matrix.major == "k" else rows) * matrix.bits // 8
    # Elements of 32 bits along M or N are multiplied in this one swizzle alone (PTX ISA 9.1, 9.7.16.10.1).
    swizzle = "128B/32B" if matrix.word == "tf32" and matrix.major != "k" else swizzle_of(extent)
    number = -(-extent // SWIZZLE_BYTES[swizzle])
    # A box that is issued by itself takes the producer four registers of addresses; a few boxes are quickest so.
    return Boxes(swizzle, number, number > min(4, registers // 4 - 3))


def subtile_swizzle(matrix: Matrix, rows: int, columns: int) -> Swizzle:
    """Return the swizzle of subtiles of C or D."""
    return swizzle_of((columns if matrix.major == "n" else rows) * matrix.bytes)


@functools.lru_cache(maxsize=4096)
def copy(
    tensor: Literal["a", "b", "c", "d"],
    load: bool,
    matrix: Matrix,
    rows: int,
    columns: int,
    swizzle: Swizzle,
    peers: int,
    looped: bool,
) -> Copy:
    """Return the copies of one tile of rows x columns (of A: M x K, of B: N x K), which `peers` CTAs share."""
    along_rows = matrix.major == ("n" if tensor == "b" else "m")
    contiguous, strided = (rows, columns) if along_rows else (columns, rows)
    span = min(8 * SWIZZLE_BYTES[swizzle] // matrix.bits, contiguous)
    return Copy(
        tensor=tensor,
        direction="load" if load else "store",
        dtype=matrix.dtype.name,
        box=(span, strided // peers, 1),
        swizzle=swizzle,
        multicast=peers,
        instructions=1 if looped else contiguous // span,  # a loop holds one
        buffer=tensor,
        modes={"a": ("M", "K", "L"), "b": ("N", "K", "L")}.get(tensor, ("M", "N", "L")),
    )
