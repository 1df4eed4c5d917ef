"""How far a right kernel may be from the float64 reference, element by element, derived from its arithmetic.

**Products.** The product of two f16 or bf16 numbers has at most 22 significant bits: it is exact in float32.

**Sum.** A tensor core does not add like an FPU. It aligns the products of a block and the accumulator to the largest
exponent among them, truncates each to 24 bits and a few more, adds, and truncates the result (Fasi, Higham, Mikaitis,
Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Comput. Sci. 7:e330, 2021, for V100 to A100; Li et al.,
"FTTN", CCGrid 2024, for H100: two extra bits, truncation). With e extra bits, a block of 16 products costs at most
(17 * 2^-e + 1) * 2^-23 of the largest magnitude in it, which sum|a||b| bounds. For e >= 1 that is below 16 * 2^-23.
So we **assume** that the sum of K products is off by at most K truncations of unit u = 2^-23 each:

    |sum computed - sum exact| <= gamma(K) * sum|a||b|,   gamma(n) = n u / (1 - n u)

as for recursive summation in any order (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section
4.2). Accumulators that are rounded to nearest (u = 2^-24) lie within it. The reference's own error, K * 2^-53, is part
of it. Small-integer problems are exact in this arithmetic: their bound is zero, so they show a single lost product,
which for long K the worst-case bound of normal operands would hide.

**Epilogue.** Each operation bounds its own error (generator/warpwright/epilogue/op.py).

**Output.** Rounding to nearest: half a unit in the last place of |value| + error, subnormals included; a value that
the dtype holds exactly and that was computed without error is not rounded. Results that round beyond the largest
finite number are infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpwright.device.xp import Array, Xp

__all__ = ["ACCUMULATOR_UNIT", "Agreement", "accumulation_bound", "compare", "number", "output_rounding"]

#: Truncation of a 24-bit significand.
ACCUMULATOR_UNIT = 2.0**-23
#: Below this, products and sums may be flushed to zero.
_TINY = 2.0**-126

#: stored mantissa bits, smallest normal exponent, largest finite value
_FORMATS = {
    "f16": (10, -14, 65504.0),
    "bf16": (7, -126, (2 - 2.0**-7) * 2.0**127),
    "f32": (23, -126, (2 - 2.0**-23) * 2.0**127),
}
#: The comparison itself is in float64; a ratio of exactly 1 is common (a tie).
_SLACK = 1 + 1e-9


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


def accumulation_bound(xp: Xp, magnitude: Array, k: int) -> Array:
    """Bound on the error of sums of `k` products whose magnitudes sum to `magnitude` (float64)."""
    unit = k * (ACCUMULATOR_UNIT + 2.0**-53)
    return magnitude * (unit / (1 - unit)) + k * _TINY


def output_rounding(xp: Xp, values: Array, error: Array, dtype: str) -> Array:
    """Bound on the rounding of `values`, themselves known to within `error`, to `dtype`; all float64."""
    mantissa, smallest, _ = _FORMATS[dtype]
    reach = xp.abs(values) + error
    exponent = xp.maximum(xp.exponent(reach), xp.array(float(smallest)))
    exponent = xp.where(reach == 0, xp.array(float(smallest)), exponent)
    half_ulp = xp.exp2(exponent - mantissa - 1)
    scaled = values / (2 * half_ulp)
    return xp.where((error == 0) & (scaled == xp.rint(scaled)), 0 * half_ulp, half_ulp)


def compare(xp: Xp, got: Array, values: Array, error: Array, dtype: str) -> Agreement:
    """Compare an output (decoded to float64) with expected values known to within `error` before rounding."""
    if xp.size(got) == 0:
        return Agreement(0, 0, 0.0, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        finite = ~(xp.isnan(values) | xp.isinf(values))
        zero = 0.0 * xp.where(finite, values, xp.array(0.0))
        expected, error = zero + xp.where(finite, values, zero), zero + xp.where(finite, error, zero)
        bound = error + output_rounding(xp, expected, error, dtype)
        overflow = _overflow(dtype)
        # NaN where NaN is due; infinite where it is due or the bound reaches beyond the largest finite number.
        right_nan = xp.isnan(values) & xp.isnan(got)
        right_inf = xp.isinf(got) & (xp.isinf(values) | (xp.abs(expected) + error >= overflow))
        right_inf = right_inf & (xp.sign(got) == xp.sign(values))
        countable = finite & ~(xp.isnan(got) | xp.isinf(got))
        difference = xp.where(countable, xp.abs(got - expected), zero)
        ratio = xp.where(difference == 0, zero, difference / bound)
        wrong = ~(right_nan | right_inf | (countable & (ratio <= _SLACK)))
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


def _overflow(dtype: str) -> float:
    """From here on, rounding to nearest gives infinity."""
    mantissa, _, largest = _FORMATS[dtype]
    return largest + 2.0 ** (math.floor(math.log2(largest)) - mantissa - 1)
