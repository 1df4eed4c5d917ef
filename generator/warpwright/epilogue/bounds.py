"""What operations build their error bounds from: what becomes of the input's error, and what a rounding adds.

Imports only its siblings and the standard library: it travels to GPU hosts inside bundles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warpwright.epilogue.op import F32_ROUNDOFF

__all__ = ["rounding", "spread", "times_logistic"]

#: Half the spacing of float32's subnormals: what a rounding costs there, however small the number.
_F32_HALF_SPACING = 2.0**-150
#: Largest finite float32.
_F32_MAX = (2 - 2.0**-23) * 2.0**127
#: ex2.approx.ftz.f32, relative: 2 ulp from the correctly rounded result (PTX ISA 9.1, ex2), which is half an ulp off
#: itself; an ulp is 2^-23 at most. Results below 2^-126 are flushed to zero.
_EX2 = 5 * F32_ROUNDOFF
#: lg2.approx.ftz.f32: absolute for arguments within (0.5, 2), relative elsewhere (PTX ISA 9.1, lg2).
_LG2 = 2.0**-22
_LN_2 = 0.6931471805599453
#: The largest u / (1 + exp(u)).
_BEND = 0.2785
#: exp(-u) beyond this exceeds 2^126 by far: its reciprocal is flushed, however wrong u is.
_FAR = 128.0
#: Products of errors, each below 2^-12.
_SECOND_ORDER = 1 + 2.0**-10


def rounding(xp: Any, size: Any) -> Any:
    """Bound on one rounding to float32 of results of up to `size` in magnitude, subnormal ones included."""
    return F32_ROUNDOFF * xp.abs(size) + _F32_HALF_SPACING


def spread(xp: Any, f: Callable[[Any], Any], x: Any, e: Any, turn: float | None = None) -> Any:
    """The largest |f(y) - f(x)| of all y that are at most `e` away from `x`: what f makes of its input's error.

    `f` is monotone, or falls up to `turn` and rises from there on.
    """
    value = f(x)
    low = xp.abs(f(xp.maximum(x - e, xp.array(-_F32_MAX))) - value)
    found = xp.maximum(low, xp.abs(f(x + e) - value))
    if turn is None:
        return found
    there = xp.abs(f(xp.array(turn)) - value)
    return xp.where(xp.abs(x - turn) <= e, xp.maximum(found, there), found)


def times_logistic(
    xp: Any, x: Any, e: Any, exponent: Callable[[Any], Any], roundings: float, turn: float, flushed: float
) -> Any:
    """Bound for f(x) = x / (1 + exp(-u)), u = exponent(x), computed as x * ex2(-lg2(1 + ex2(-u log2(e)))).

    The argument of the first ex2 is off by `roundings` round-offs of itself; f falls up to `turn`. Up to `flushed` (a
    little above, for certainty) 1 / (1 + exp(-u)) is below 2^-126, and f comes out as zero.
    """

    def f(y: Any) -> Any:
        return y / (1.0 + xp.exp(-exponent(y)))

    moved = spread(xp, f, x, e, turn)
    # An error of -u scales exp(-u) by as much, and f by that times exp(-u) / (1 + exp(-u)), which is 1 at most, and
    # times u at most _BEND for positive u. The logarithm is ln(2) at most for positive u, and else at most ln(2) - u.
    depth = -exponent(xp.maximum(x - e, xp.array(-_F32_MAX)))
    depth = xp.where(depth > _FAR, xp.array(_FAR), xp.maximum(depth, xp.array(0.0)))
    each = 2 * _EX2 + 2 * F32_ROUNDOFF + _LG2 * _LN_2 + roundings * F32_ROUNDOFF * _BEND
    relative = (each + (_LG2 + roundings * F32_ROUNDOFF) * depth) * _SECOND_ORDER
    lost = xp.abs(f(xp.where(x + e < flushed, x + e, xp.array(flushed))))
    lost = xp.where(x - e < flushed, lost, xp.array(0.0))
    return moved + relative * (xp.abs(f(x)) + moved) + lost + _F32_HALF_SPACING
