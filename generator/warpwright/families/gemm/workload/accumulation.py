"""How far the sums of a right kernel may be from the exact ones, derived from the arithmetic of tensor cores.

**Products.** The product of two f16, bf16 or tf32 numbers has at most 22 significant bits, of two fp8 numbers 8, of two
e2m1 numbers 4, and 12 with two e4m3 scales; scales that are powers of two add none: all are exact in float32.

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

**tf32.** Operands lie in memory as f32. What becomes of the 13 bits that tf32 has not is said nowhere: cut off, they
cost at most 2^-10 of an element, rounded half of that. The problems here hold tf32 numbers, of which nothing is lost
either way, so that the bound need not cover it.

**Integers.** Sums of products of 8-bit integers are exact in 32 bits up to K = 131 071. Where D is no integer, they are
rounded to float32 once, to nearest, before the epilogue: nothing below 2^24.

**Epilogue.** Each operation bounds its own error (warpwright/epilogue/op.py).
"""

from __future__ import annotations

from warpwright.device.xp import Array, Xp

__all__ = ["ACCUMULATOR_UNIT", "accumulation_bound", "conversion_bound"]

#: Truncation of a 24-bit significand.
ACCUMULATOR_UNIT = 2.0**-23
#: Below this, products and sums may be flushed to zero.
_TINY = 2.0**-126


def accumulation_bound(xp: Xp, magnitude: Array, k: int) -> Array:
    """Bound on the error of sums of `k` products whose magnitudes sum to `magnitude` (float64)."""
    unit = k * (ACCUMULATOR_UNIT + 2.0**-53)
    return magnitude * (unit / (1 - unit)) + k * _TINY


def conversion_bound(xp: Xp, sums: Array) -> Array:
    """Bound on what rounding integers to float32 costs."""
    return xp.where(xp.abs(sums) > 2.0**24, xp.abs(sums) * 2.0**-24, xp.array(0.0))
