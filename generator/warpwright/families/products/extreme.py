"""Operands whose products are NaN, infinite, beyond f32's range, at its very edge, subnormal, or -0.

Every sum stays exact in float32, whatever its order, so that nothing hides behind a bound: special rows of A have one
or two elements that are not zero, and what they meet in B are small integers or quarters of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warpwright.device.xp import Array

__all__ = ["AT_LARGE", "AT_SMALL", "EVERY", "columns_of_b", "rows_of_a", "strewn"]

_NAN, _INF = float("nan"), float("inf")
#: Of two indices of K: what large and small elements of A meet there.
AT_LARGE, AT_SMALL = 0, 2
#: A prime, so that they come to lie everywhere in subtiles, and in a thread's columns.
EVERY = 89


def rows_of_a(a: Array, alone: Sequence[Mapping[int, float]]) -> None:
    """Put special numbers into A (L, M, K), in place; `alone` are, by K, the only ones of a row that are not zero."""
    rows, depth = a.shape[-2:]
    among = [{depth // 2: _NAN}, {0: _INF}, {depth - 1: -_INF}]  # integers
    specials = [*((row, True) for row in among), *((row, False) for row in alone)]
    for index, (elements, kept) in enumerate(specials[:rows]):
        row = index * rows // len(specials) if rows >= len(specials) else index
        if not kept:
            a[..., row, :] = -0.0
        for k, value in elements.items():
            if k < depth:
                a[..., row, k] = value


def columns_of_b(b: Array) -> None:
    """Put into B (L, K, N), in place, what A's special numbers meet, and some of its own."""
    depth, columns = b.shape[-2:]
    b[..., AT_LARGE, 0::3] = 1.0
    b[..., AT_LARGE, 1::3] = -1.0
    b[..., AT_LARGE, 2::3] = 2.0
    if depth > AT_SMALL:
        b[..., AT_SMALL, :] = 0.25 * b[..., AT_SMALL, :]
    for index, special in enumerate((_NAN, _INF, -_INF)):
        column = columns // (index + 2)
        if columns > 4 * index + 8:
            b[..., AT_LARGE, column] = 1.0  # 2 * 2**127 is infinite in float32, and of another sign perhaps
            b[..., depth - 1, column] = special


def strewn(flat: Array, large: float, small: float, every: int) -> None:
    """Put special numbers into every so many elements of another operand, in place; `flat` has one mode."""
    for index, special in enumerate((_NAN, _INF, -_INF, -0.0, large, -large, small)):
        flat[7 + 12 * index :: every] = special
