"""The float64 reference: exact products, with the bound on the one rounding to f32 before that to y's dtype.

The product of two f32 numbers has 48 significant bits and an exponent that float64 holds: v = alpha x is exact here.
The kernel rounds it to f32, at most half a unit in the last place away: 2^-24 |v|, and 2^-150 among subnormals; not at
all where v is an f32 number, as all products of small integers are. What comes then, the rounding to y's dtype, is
common to all families (device/tolerance.py). NaN and infinities propagate as the mathematics says; with alpha = 0 too,
so that 0 * NaN and 0 * Inf are NaN. A zero has the sign of its product: -0 is copied as -0.
"""

from __future__ import annotations

import math

import numpy as np

from warpwright.device.xp import Array, Xp
from warpwright.families.running import Expected

__all__ = ["SPECIAL", "alpha_of", "product", "strew"]

_ROUNDOFF, _TINY = 2.0**-24, 2.0**-150
#: What is strewn among integers: not finite, too large for a narrower dtype or once it is doubled, subnormal.
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 65504.0, -65520.0, 6e-8, -1e-7, 3e38, -1e-40)
#: A prime, so that they come to lie everywhere within vectors and slices.
_EVERY = 61


def alpha_of(fill: str, zero: tuple[str, ...], special: tuple[str, ...] = ()) -> float:
    """Return alpha: odd in its last bit, or an integer where x is, or 1 beside what is `extreme`; or zero, infinite
    or NaN where the problem says so."""
    if "alpha" in zero:
        return 0.0
    if "alpha" in special:
        return math.nan if fill == "normal" else -math.inf
    if fill == "extreme":
        return 1.0
    return float(np.float32(-1.3)) if fill == "normal" else 2.0


def strew(values: Array) -> None:
    """Put every special number into a vector, over and over."""
    for index, special in enumerate(SPECIAL):
        values[index::_EVERY] = special


def product(xp: Xp, x: Array, alpha: float) -> Expected:
    """Return alpha x for x in float64, of any length, with the bound on its error."""
    with np.errstate(invalid="ignore", over="ignore"):
        values = x * alpha
        single = xp.decode(xp.encode(values, "f32"), "f32")
        error = xp.where(single == values, 0 * xp.abs(values), _ROUNDOFF * xp.abs(values) + _TINY)
        return Expected(values, error, signed=True)
