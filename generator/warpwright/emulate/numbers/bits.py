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


def _alike(a: Any, b: Any) -> list[Array]:
    """Both as arrays of the type that the one of them has which is no Python integer."""
    kind = next(x.dtype for x in (a, b) if not isinstance(x, int))
    return np.broadcast_arrays(np.asarray(a, dtype=kind), np.asarray(b, dtype=kind))  # type: ignore[return-value]


def vdiv(a: Any, b: Any) -> Array:
    a, b = _alike(a, b)
    safe = np.where(b == 0, 1, b)
    quotient: Array = np.floor_divide(a, safe)
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient * safe != a) & ((a < 0) != (safe < 0)))
        return np.where(b == 0, -1, quotient).astype(a.dtype)
    result: Array = np.where(b == 0, ~np.zeros_like(a), quotient)
    return result


def vrem(a: Any, b: Any) -> Array:
    a, b = _alike(a, b)
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
    first, second, third = ((v ^ 0xFFFFFFFF, v) for v in (a, b, c))  # not ~, which makes Python's integers negative
    for i in range(8):
        if table >> i & 1:
            result = result | (first[i >> 2] & second[i >> 1 & 1] & third[i & 1])
    return result


#: prmt.b32 with a mode: the byte of {b, a} that byte i of the result is, by the low two bits of the selector.
PERMUTATIONS: dict[str, Callable[[int, int], int]] = {
    "f4e": lambda i, at: at + i,
    "b4e": lambda i, at: at - i & 7,
    "rc8": lambda _, at: at,
    "ecl": max,
    "ecr": min,
    "rc16": lambda i, at: 2 * (at & 1) + (i & 1),
}
_SELECTORS = {
    mode: np.array([sum(byte(i, at) << 4 * i for i in range(4)) for at in range(4)], dtype=np.uint64)
    for mode, byte in PERMUTATIONS.items()
}


def prmt(a: Any, b: Any, c: Any, mode: str = "") -> Array:
    """prmt.b32: each selector nibble picks a byte of {b, a}, its top bit spreads the sign; a mode makes the nibbles."""
    a, b, c = (np.asarray(v, dtype=np.uint64) for v in (a, b, c))
    if mode:
        c = _SELECTORS[mode][(c & np.uint64(3)).astype(np.int64)]
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
    """popc, clz, brev of unsigned values."""
    table: dict[str, Callable[[int], int]] = {
        "popc": lambda v: bin(v).count("1"),
        "clz": lambda v: bits - v.bit_length(),
        "brev": lambda v: int(f"{v:0{bits}b}"[::-1], 2),
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


def bfind(x: Any, bits: int, shift: bool) -> Array:
    """bfind: the position of the first bit that is not the sign's, all ones without one; `shift`: what moves it up."""

    def one(v: int) -> int:
        at = (~int(v) if int(v) < 0 else int(v)).bit_length() - 1
        return (bits - 1 - at if shift and at >= 0 else at) & 0xFFFFFFFF

    result: Array = _each(one, np.asarray(x))
    return result


def sad(a: Any, b: Any, c: Any, bits: int, signed: bool) -> Array:
    """sad: c + |a - b|, of signed or unsigned values."""
    kind = np.dtype(f"u{bits // 8}")
    a, b = (np.asarray(v, dtype=f"{'i' if signed else 'u'}{bits // 8}") for v in (a, b))
    larger, smaller = (np.asarray(f(a, b)).astype(kind) for f in (np.maximum, np.minimum))
    result: Array = larger - smaller + np.asarray(c).astype(kind)
    return result


def mulhi(a: Any, b: Any, bits: int) -> Array:
    """The upper half of the exact product, as unsigned bits."""
    result: Array = _each(lambda x, y: (int(x) * int(y) >> bits) & ((1 << bits) - 1), a, b)
    return result.astype(f"u{bits // 8}")


def clamped(x: Any, narrow: int, signed: bool, bits: int, into_signed: bool) -> Array:
    """cvt.sat between integers: the low `narrow` bits of `x`, clamped to a range of `bits`; in 16 bits or more."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if into_signed else (0, (1 << bits) - 1)
    held = max(bits, 16)

    def one(v: int) -> int:
        v = int(v) & ((1 << narrow) - 1)
        v -= 1 << narrow if signed and v >> narrow - 1 else 0
        return min(max(v, low), high) & ((1 << held) - 1)

    result: Array = _each(one, np.asarray(x))
    return result.astype(f"u{held // 8}")
