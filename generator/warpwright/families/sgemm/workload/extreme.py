"""Operands whose results are NaN, infinite, at the edge of f32's range, subnormal, or -0.

Every sum stays exact in f32, whatever its order, so that nothing hides behind a bound: special rows of A have one or
two elements that are not zero, and what they meet in B are small integers or quarters of them.
"""

from __future__ import annotations

from warpwright.device.xp import Array
from warpwright.plan.types import Argument

__all__ = ["strew"]

_NAN, _INF = float("nan"), float("inf")
#: Twice the large one is beyond f32's range; a quarter of the small one is a subnormal number.
_LARGE, _SMALL = 2.0**127, 3 * 2.0**-140
#: Of two indices of K: what large and small elements of A meet there.
_AT_LARGE, _AT_SMALL = 0, 2
#: A prime, so that they come to lie everywhere in a thread's columns.
_EVERY = 89


def strew(values: Array, argument: Argument) -> None:
    """Put special numbers into small integers, in place; of A (L, M, K), B (L, K, N) or the bias."""
    if argument.name == "a":
        _rows_of_a(values)
    elif argument.name == "b":
        _b(values)
    else:
        for index, special in enumerate((_NAN, _INF, -_INF, -0.0, _LARGE, -_LARGE, _SMALL)):
            values[7 + 12 * index :: _EVERY] = special


def _rows_of_a(a: Array) -> None:
    rows, depth = a.shape[-2:]
    last = depth - 1
    # By K: what stands among integers, and the only elements of a row that are not zero.
    among = [{depth // 2: _NAN}, {0: _INF}, {last: -_INF}]
    alone = [{_AT_LARGE: _LARGE}, {_AT_LARGE: -_LARGE}, {_AT_SMALL: _SMALL}, {0: -0.0}]
    specials = [*((row, True) for row in among), *((row, False) for row in alone)]
    for index, (elements, kept) in enumerate(specials[:rows]):
        row = index * rows // len(specials) if rows >= len(specials) else index
        if not kept:
            a[..., row, :] = -0.0
        for k, value in elements.items():
            if k < depth:
                a[..., row, k] = value


def _b(b: Array) -> None:
    depth, columns = b.shape[-2:]
    b[..., _AT_LARGE, 0::3] = 1.0
    b[..., _AT_LARGE, 1::3] = -1.0
    b[..., _AT_LARGE, 2::3] = 2.0
    if depth > _AT_SMALL:
        b[..., _AT_SMALL, :] = 0.25 * b[..., _AT_SMALL, :]
    for index, special in enumerate((_NAN, _INF, -_INF)):
        column = columns // (index + 2)
        if columns > 4 * index + 8:
            b[..., _AT_LARGE, column] = 1.0
            b[..., depth - 1, column] = special
