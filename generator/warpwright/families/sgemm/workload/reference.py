"""The float64 reference: the product from the operands as stored, with the bound on what FFMA makes of it.

A thread starts an element at zero and adds one product after another, each by a fused multiply-add: the exact product
and the sum so far, rounded once to nearest (unit u = 2^-24; subnormal numbers are kept). So the sum of K products is
off by at most

    |sum computed - sum exact| <= gamma(K) * sum|a||b|,   gamma(n) = n u / (1 - n u)

(Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.1: of recursive summation, K roundings
here, since products are not rounded), and by half the smallest subnormal number, 2^-150, for each rounding among those.
The reference's own error, K * 2^-53 of the same sum, is part of the bound. The bias is added with one rounding to f32,
which is that of the output (device/tolerance.py); relu makes no error. Of small integers everything is exact: their
bound is zero, and one lost product shows, which for a long K the worst case would hide.

NaN and infinities are as the mathematics says, but for one thing: a sum beyond f32's range is infinite before the bias
is added. relu keeps NaN.
"""

from __future__ import annotations

import numpy as np

from warpwright.device.xp import Array, Xp
from warpwright.families.products.reference import Product

__all__ = ["UNIT", "finish", "multiply"]

#: Half a unit in the last place of a 24-bit significand: rounding to nearest.
UNIT = 2.0**-24
_TINY = 2.0**-150


def multiply(xp: Xp, a: Array, b: Array, exact: bool) -> Product:
    """Multiply (L, R, K) by (L, K, N), both float64; `exact` when every partial sum is a number of f32, or not finite.

    Then what is beyond f32's range has become infinite.
    """
    values, depth = xp.matmul(a, b), a.shape[-1]
    if exact:
        with np.errstate(over="ignore"):
            return Product(xp.decode(xp.encode(values, "f32"), "f32"), xp.zeros(tuple(values.shape)), True)
    unit = depth * (UNIT + 2.0**-53)
    return Product(values, xp.matmul(xp.abs(a), xp.abs(b)) * (unit / (1 - unit)) + depth * _TINY, False)


def finish(xp: Xp, product: Product, bias: Array | None, relu: bool) -> tuple[Array, Array]:
    """Return D and the bound on its error before it is rounded to f32."""
    with np.errstate(invalid="ignore"):
        values = product.values if bias is None else product.values + bias
    if relu:  # max(x, 0), which NaN stays
        values = xp.where(values < 0, 0 * xp.abs(xp.where(xp.isinf(values), xp.array(1.0), values)), values)
    return values, product.bound
