"""Operands whose results are NaN, infinite, beyond the output's range, at its very edge, subnormal, or -0.

Every result stays exact in float32, whatever the order of the sum, so that nothing hides behind a bound: special rows
of A have one or two elements that are not zero, and what they meet in B are small integers or quarters of them.
"""

from __future__ import annotations

from warpwright.device.xp import Array
from warpwright.plan.types import Argument

__all__ = ["strew"]

_NAN, _INF = float("nan"), float("inf")
#: By dtype of A: doubled it is beyond the range of D (of f16: of an f16 D); three quarters of the small one are rounded
#: among the subnormals of an f16 D. Products below float32's normal numbers may be flushed, so bf16's stay above.
_LARGE = {"f16": 65504.0, "bf16": 2.0**127, "f32": 3e38}
_SMALL = {"f16": 3 * 2.0**-24, "bf16": 3 * 2.0**-120, "f32": 3 * 2.0**-120}
#: Of two indices of K: what large and small elements of A meet there.
_AT_LARGE, _AT_SMALL = 0, 2
#: A prime, so that they come to lie everywhere in subtiles.
_EVERY = 89


def strew(values: Array, argument: Argument) -> None:
    """Put special numbers into small integers, in place; of A (L, M, K), B (L, K, N), C (L, M, N) or a vector."""
    large, small = _LARGE[argument.dtype], _SMALL[argument.dtype]
    if argument.name == "c" and large > _LARGE["f16"]:
        large /= 4  # three times that is finite in float32, so that beta * C may be rounded by itself or not
    if argument.name == "a":
        _rows_of_a(values, large, small)
    elif argument.name == "b":
        _b(values)
    else:
        flat = values.reshape(-1)
        for index, special in enumerate((_NAN, _INF, -_INF, -0.0, large, -large, small)):
            flat[7 + 12 * index :: _EVERY if len(values.shape) == 3 else 1 << 40] = special


def _rows_of_a(a: Array, large: float, small: float) -> None:
    rows, depth = a.shape[-2:]
    last = depth - 1
    # By K: the only elements of a row that are not zero, or (first) some that stand among integers.
    among = [{depth // 2: _NAN}, {0: _INF}, {last: -_INF}]
    # Where B has the other sign beside it, 65504 + 16 rounds to infinity in f16, 65504 + 8 does not.
    alone = [{_AT_LARGE: large}, {_AT_LARGE: -large}, {_AT_LARGE: large, last: 8.0}, {_AT_SMALL: small}]
    specials = [*((row, True) for row in among), *((row, False) for row in [*alone, {0: -0.0}])]
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
            b[..., _AT_LARGE, column] = 1.0  # 2 * 2**127 is infinite in float32, and of another sign perhaps
            b[..., depth - 1, column] = special
