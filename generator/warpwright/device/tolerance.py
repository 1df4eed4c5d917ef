"""How far a right output may be from its float64 reference, element by element, and whether it is.

A family bounds the error of its own arithmetic; what is common to all is that the result is rounded once, to the
output's dtype.

**Rounding.** To nearest: half a unit in the last place of |value| + error, subnormals included; a value that the dtype
holds exactly and that was computed without error is not rounded. Results that round beyond the largest finite number
are infinite, and only those: from half an ulp beyond it on, ties included, a finite number is wrong. Integers are not
rounded at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.device.xp import Array, Xp
from warpwright.dtypes import dtype as described
from warpwright.protocols import LARGEST_RATIO

__all__ = ["Agreement", "compare", "number", "output_rounding"]


@dataclass(frozen=True)
class Agreement:
    """How one output compares with its reference.

    `ratio` is max |out - expected| / bound (right when <= 1), `relative` the Frobenius norm of the difference over that
    of the reference, both over finite elements. `wrong` counts elements outside their bound or not finite alike.
    """

    elements: int
    wrong: int
    ratio: float
    relative: float
    worst: dict[str, Any] = field(default_factory=dict)  # of the first wrong element: index, got, expected, bound


def number(value: float) -> float | str:
    """A figure for JSON, which has no NaN and no infinity."""
    return value if math.isfinite(value) else repr(value)


def output_rounding(xp: Xp, values: Array, error: Array, dtype: str) -> Array:
    """Bound on the rounding of `values`, themselves known to within `error`, to `dtype`; all float64."""
    form = described(dtype).format
    if form is None:
        return 0.0 * error
    smallest = xp.array(float(form.smallest))
    reach = xp.abs(values) + error
    exponent = xp.where(reach == 0, smallest, xp.maximum(xp.exponent(reach), smallest))
    half_ulp = xp.exp2(exponent - form.mantissa - 1)
    scaled = values / (2 * half_ulp)
    return xp.where((error == 0) & (scaled == xp.rint(scaled)), 0 * half_ulp, half_ulp)


def compare(xp: Xp, got: Array, values: Array, error: Array, dtype: str, signed: bool = False) -> Agreement:
    """Compare an output (decoded to float64) with expected values known to within `error` before rounding.

    `signed`: a zero must have the sign of what is expected.
    """
    if xp.size(got) == 0:
        return Agreement(0, 0, 0.0, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        finite = ~(xp.isnan(values) | xp.isinf(values))
        countable = finite & ~(xp.isnan(got) | xp.isinf(got))
        if xp.total(xp.where(countable, xp.array(1.0), xp.array(0.0))) == xp.size(got):
            plain = _compare_finite(xp, got, values, error, dtype, signed)
            if plain is not None:
                return plain
        zero = 0.0 * xp.abs(xp.where(finite, values, xp.array(0.0)))
        expected, error = zero + xp.where(finite, values, zero), zero + xp.where(finite, error, zero)
        bound = error + output_rounding(xp, expected, error, dtype)
        overflow = _overflow(dtype)
        # NaN where NaN is due; infinite where it is due or the bound reaches beyond the largest finite number.
        right_nan = xp.isnan(values) & xp.isnan(got)
        right_inf = xp.isinf(got) & (xp.isinf(values) | (xp.abs(expected) + error >= overflow))
        right_inf = right_inf & (xp.sign(got) == xp.sign(values))
        must_overflow = xp.abs(expected) - error >= overflow  # at the edge itself, a finite number is half an ulp away
        difference = xp.where(countable, xp.abs(got - expected), zero)
        ratio = xp.where(difference == 0, zero, difference / bound)
        wrong = ~(right_nan | right_inf | (countable & ~must_overflow & (ratio <= LARGEST_RATIO)))
        if signed:
            wrong = wrong | _other_zeros(xp, got, values)
        number_wrong = int(xp.total(zero + wrong))
        norm = math.sqrt(xp.total(xp.where(countable, expected, zero) ** 2))
        relative = math.sqrt(xp.total(difference**2)) / norm if norm else 0.0
        worst = {}
        if number_wrong:
            index = xp.first(wrong)
            worst = {
                "index": list(index),
                "got": number(float(got[index])),
                "expected": number(float(values[index])),
                "bound": number(float(bound[index])),
            }
        return Agreement(xp.size(got), number_wrong, xp.largest(ratio), relative, worst)


def _other_zeros(xp: Xp, got: Array, values: Array) -> Array:
    """Where a zero has the other sign."""
    return (got == 0) & ~xp.isnan(values) & (xp.signbit(got) != xp.signbit(values))


def _compare_finite(xp: Xp, got: Array, values: Array, error: Array, dtype: str, signed: bool) -> Agreement | None:
    """The same where all is finite, as it mostly is; None where anything is wrong or may overflow."""
    if signed and not xp.all(~_other_zeros(xp, got, values)):
        return None
    size = xp.abs(values)
    if not xp.largest(size + error) < _overflow(dtype):
        return None
    bound = error + output_rounding(xp, values, error, dtype)
    difference = xp.abs(got - values)
    ratio = xp.largest(xp.where(difference == 0, xp.array(0.0), difference / bound))
    if not ratio <= LARGEST_RATIO:
        return None
    norm = math.sqrt(xp.total(values**2))
    return Agreement(xp.size(got), 0, ratio, math.sqrt(xp.total(difference**2)) / norm if norm else 0.0)


def _overflow(dtype: str) -> float:
    """From where on a number is beyond a type's finite ones."""
    known = described(dtype)
    return 2.0 ** (known.bits - 1) if known.format is None else known.format.overflow
