"""Integer arithmetic of PTX that numpy and Python do not give as it is: divisions, shifts, bit fields.

Functions named s* take Python integers, the others take integers and arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpwright.emulate.numbers.formats import Array


def sdiv(a: int, b: int) -> int:
    """div.s: truncates; division by zero gives all ones, as the hardware does."""
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else -1


def srem(a: int, b: int) -> int:
    return a - b * sdiv(a, b) if b else a


def vdiv(a: Any, b: Any) -> Array:
    a, b = np.broadcast_arrays(a, b)
    safe = np.where(b == 0, 1, b)
    quotient: Array = np.floor_divide(a, safe)
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient * safe != a) & ((a < 0) != (safe < 0)))
        return np.where(b == 0, -1, quotient).astype(a.dtype)
    result: Array = np.where(b == 0, ~np.zeros_like(a), quotient)
    return result


def vrem(a: Any, b: Any) -> Array:
    a, b = np.broadcast_arrays(a, b)
    result: Array = np.where(b == 0, a, a - b * vdiv(a, b))
    return result


def shl(x: Any, n: Any, bits: int) -> Array:
    if isinstance(n, int) and n < bits and not isinstance(x, int):
        return x << n  # type: ignore[no-any-return]
    kind = np.dtype(f"u{bits // 8}")
    x, n = np.asarray(x, dtype=kind), np.asarray(n, dtype=np.uint32)
    result: Array = np.where(n < bits, x << (n & (bits - 1)).astype(kind), kind.type(0))
    return result


def shr(x: Any, n: Any, bits: int) -> Array:
    if isinstance(n, int) and n < bits and not isinstance(x, int):
        return x >> n  # type: ignore[no-any-return]
    kind = np.dtype(f"u{bits // 8}")
    x, n = np.asarray(x, dtype=kind), np.asarray(n, dtype=np.uint32)
    result: Array = np.where(n < bits, x >> (n & (bits - 1)).astype(kind), kind.type(0))
    return result


def sar(x: Any, n: Any, bits: int) -> Array:
    kind = np.dtype(f"i{bits // 8}")
    shifted: Array = np.asarray(x, dtype=kind) >> np.minimum(np.asarray(n, dtype=np.uint32), bits - 1).astype(kind)
    return shifted


def lop3(a: Any, b: Any, c: Any, table: int) -> Any:
    """lop3.b32: bit i of the table is the result where (a, b, c) spell i; works on integers and arrays."""
    result = a & 0
    for i in range(8):
        if table >> i & 1:
            result = result | ((a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c))
    return result & 0xFFFFFFFF


def prmt(a: Any, b: Any, c: Any) -> Array:
    """prmt.b32, default mode: each selector nibble picks a byte of {b, a}; its top bit replicates the sign."""
    a, b, c = (np.asarray(v, dtype=np.uint64) for v in (a, b, c))
    source = a | (b << np.uint64(32))
    result = np.zeros(np.broadcast(a, b, c).shape, dtype=np.uint64)
    for i in range(4):
        nibble = (c >> np.uint64(4 * i)) & np.uint64(15)
        byte = (source >> ((nibble & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
        byte = np.where(nibble & np.uint64(8), (byte >> np.uint64(7)) * np.uint64(0xFF), byte)
        result |= byte << np.uint64(8 * i)
    return result


def _each(function: Callable[..., int], *operands: Any) -> Array:
    """`function` of plain integers, lane by lane: for what is rare and has no numpy form."""
    lanes = np.broadcast(*operands, 0)
    return np.array([function(*values[:-1]) for values in lanes], dtype=np.uint64).reshape(lanes.shape)


def bfe(x: Any, position: Any, length: Any, signed: bool, bits: int) -> Array:
    def one(v: int, p: int, n: int) -> int:
        v, p, n = int(v), int(p) & 255, int(n) & 255
        field = (v >> p) & ((1 << n) - 1) if n else 0
        sign = v >> min(p + n - 1, bits - 1) & 1 if signed and n else 0
        held = max(0, min(n, bits - p))
        return (field | (-1 << held) if sign else field) & ((1 << bits) - 1)

    result: Array = _each(one, x, position, length)
    return result


def bfi(a: Any, b: Any, position: Any, length: Any, bits: int) -> Array:
    def one(x: int, y: int, p: int, n: int) -> int:
        mask = (((1 << (int(n) & 255)) - 1) << (int(p) & 255)) & ((1 << bits) - 1)
        return (int(y) & ~mask) | ((int(x) << (int(p) & 255)) & mask)

    result: Array = _each(one, a, b, position, length)
    return result


def bits_of(name: str, x: Any, bits: int) -> Array:
    """popc, clz, brev, bfind of unsigned values."""
    table: dict[str, Callable[[int], int]] = {
        "popc": lambda v: bin(v).count("1"),
        "clz": lambda v: bits - v.bit_length(),
        "brev": lambda v: int(f"{v:0{bits}b}"[::-1], 2),
        "bfind": lambda v: v.bit_length() - 1 & 0xFFFFFFFF,
    }
    result: Array = _each(lambda v: table[name](int(v)), np.asarray(x))
    return result


def funnel(a: Any, b: Any, c: Any, left: bool, wrap: bool) -> Array:
    """shf.{l,r}.{wrap,clamp}.b32 of the 64-bit value {b, a}."""
    a, b, c = (np.asarray(v, dtype=np.uint64) for v in (a, b, c))
    n = c & np.uint64(31) if wrap else np.minimum(c, np.uint64(32))
    both = a | (b << np.uint64(32))
    result: Array = ((both << n) >> np.uint64(32) if left else both >> n) & np.uint64(0xFFFFFFFF)
    return result


def mulhi64(a: Any, b: Any, signed: bool) -> Array:
    result: Array = _each(lambda x, y: (int(x) * int(y) >> 64) & (2**64 - 1), a, b)
    return result
