"""Operands whose products are NaN, infinite, beyond f32's range, at its very edge, subnormal, or -0.

Every sum stays exact in float32, whatever its order, so that nothing hides behind a bound: special rows of A have one
or two elements that are not zero, and what they meet in B are small integers or quarters of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from warpwright.device.xp import Array

__all__ = ["AT_LARGE", "EVERY", "strew"]

_NAN, _INF = float("nan"), float("inf")
#: Of two indices of K: what large and small elements of A meet there.
AT_LARGE, _AT_SMALL = 0, 2
#: A prime, so that they come to lie everywhere in subtiles, and in a thread's columns.
EVERY = 89


def strew(
    values: Array, name: str, large: float, small: float, rows: Sequence[Mapping[int, float]] = (), every: int = EVERY
) -> None:
    """Put special numbers into small integers, in place; of A (L, M, K), B (L, K, N), or another operand.

    large, small: near the ends of the range. rows: more rows of A, by K the only elements that are not zero. every: so
    many elements of another operand apart.
    """
    if name == "a":
        _rows_of_a(values, [{AT_LARGE: large}, {AT_LARGE: -large}, *rows, {_AT_SMALL: small}, {0: -0.0}])
    elif name == "b":
        _columns_of_b(values)
    else:
        _strewn(values.reshape(-1), large, small, every)


def _rows_of_a(a: Array, alone: Sequence[Mapping[int, float]]) -> None:
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


def _columns_of_b(b: Array) -> None:
    """Put into B (L, K, N), in place, what A's special numbers meet, and some of its own."""
    depth, columns = b.shape[-2:]
    b[..., AT_LARGE, 0::3] = 1.0
    b[..., AT_LARGE, 1::3] = -1.0
    b[..., AT_LARGE, 2::3] = 2.0
    if depth > _AT_SMALL:
        b[..., _AT_SMALL, :] = 0.25 * b[..., _AT_SMALL, :]
    for index, special in enumerate((_NAN, _INF, -_INF)):
        column = columns // (index + 2)
        if columns > 4 * index + 8:
            b[..., AT_LARGE, column] = 1.0  # 2 * 2**127 is infinite in float32, and of another sign perhaps
            b[..., depth - 1, column] = special


def _strewn(flat: Array, large: float, small: float, every: int) -> None:
    """Put special numbers into every so many elements of another operand, in place; `flat` has one mode."""
    for index, special in enumerate((_NAN, _INF, -_INF, -0.0, large, -large, small)):
        flat[7 + 12 * index :: every] = special
