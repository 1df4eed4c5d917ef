"""Operands whose results are NaN, infinite, at the edge of f32's range, subnormal, or -0."""

from __future__ import annotations

from warpwright.device.xp import Array
from warpwright.families.products.extreme import AT_LARGE, AT_SMALL, EVERY, columns_of_b, rows_of_a, strewn
from warpwright.plan.types import Argument

__all__ = ["strew"]

#: Twice the large one is beyond f32's range; a quarter of the small one is a subnormal number.
_LARGE, _SMALL = 2.0**127, 3 * 2.0**-140


def strew(values: Array, argument: Argument) -> None:
    """Put special numbers into small integers, in place; of A (L, M, K), B (L, K, N) or the bias."""
    if argument.name == "a":
        rows_of_a(values, [{AT_LARGE: _LARGE}, {AT_LARGE: -_LARGE}, {AT_SMALL: _SMALL}, {0: -0.0}])
    elif argument.name == "b":
        columns_of_b(values)
    else:
        strewn(values, _LARGE, _SMALL, EVERY)
