"""The float64 reference, with a bound on the error of the kernel's f32 arithmetic, derived and not tuned.

u = 2^-24 is the round-off of f32. A sum of n terms, in whatever order, by chains no longer than h additions, is off by
h u / (1 - h u) times the sum of magnitudes: a thread adds its elements, a warp 5 times, then the warps' sums are
added.

- v = x + residual rounds once; mean = sum * fl(1/n): the sum's error, and 2 roundings.
- d = v - mean rounds once, and carries the errors of v, its own, and of mean, common to the row: a large mean costs
  what it must.
- The variance is the mean of d^2, of which each has twice d's own error times |d|, and its own rounding. The common
  one adds no more than its square: the exact deviations of a row add up to nothing.
- 1/sqrt(variance + eps): rsqrt.approx.ftz.f32 is off by 2^-22.9 at most (PTX ISA, rsqrt). What the variance's error
  makes of it is taken at both ends of the interval.
- d times that, times weight, plus bias: a rounding each. The activation has its operation's own bound.

Where CTAs share a row, each warp takes its own mean m_w, with an error e_w, and the squares of what deviates from it;
n_w (m_w - mean)^2 is added, and y is (d + (m_w - mean)) / sqrt(...), d = v - m_w:
- The squares are off by 2 (m_w - mean) e_w + 2 e_w^2 for each element, by Schwarz's inequality on average no more than
  2 sqrt(variance) E + 2 E^2, E the root of the mean e_w^2: as often u as a sum's chain is long, times that of v^2.
- d and m_w - mean round, and so do their products with the scale: m_w deviates from the mean no more than some v does.

Below 2^-126 f32 loses digits: what is that small adds 2^-149 a step. Sums of squares beyond f32's range are out of
scope: docs/norm_act.md says so. NaN anywhere makes its whole row NaN, and so does an infinity in a layer norm; in an
RMS norm an infinity makes the finite ones of its row zero, before bias, and itself NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from warpwright.device.xp import Array, Xp
from warpwright.epilogue import registry
from warpwright.families.running import Expected

__all__ = ["SPECIAL", "magnitudes", "normalised", "strew", "strew_scales"]

_U, _TINY = 2.0**-24, 2.0**-149
_RSQRT = 2.0**-22.9
#: What is strewn into the first rows of every so many: a prime, so that each group of warps has others behind them.
SPECIAL = (float("nan"), float("inf"), float("-inf"))
_EVERY = 17
#: Beside these in weight and bias, what takes activations to their ends: there exponentials are infinite, or zero.
_ENDS = (0.0, -0.0, 6e4, -6e4, 1e30, -1e30, 6e-8, 1e-40)
#: Primes, so that each of the weight's meets each of the bias's.
_EVERY_OF = {"weight": 61, "bias": 67}
#: Powers of two of rows that are large, and small: in bf16 and f32, and those of them that f16 holds.
_POWERS, _POWERS_F16 = (12, -20, 45, -60), (12, -20)


def strew(values: Array) -> None:
    """Put one that is not finite into some rows of (M, N), each into another column; the others stay finite."""
    rows, columns = values.shape
    for row in range(rows):
        if row % _EVERY < len(SPECIAL):
            values[row, 7 * row % columns] = SPECIAL[row % _EVERY]


def strew_scales(values: Array, name: str) -> None:
    """Put what is not finite, large, tiny or zero into the weight or the bias (N,), up to the last element."""
    every, count = _EVERY_OF[name], values.shape[0]
    for index, special in enumerate((*SPECIAL, *_ENDS)):
        values[(count - 1 - 5 * index) % every :: every] = special


def magnitudes(kernel: Mapping[str, Any], rows: int) -> list[float]:
    """What each row of x is multiplied by: zero; so that its variance is that of eps; and much more, or much less."""
    near_eps = 2.0 ** round(math.log2(kernel["eps"]) / 2)
    powers = _POWERS_F16 if kernel["x"]["dtype"] == "f16" else _POWERS
    chosen = (near_eps, 0.0, *(2.0**power for power in powers))
    return [chosen[row % len(chosen)] for row in range(rows)]


def normalised(
    xp: Xp, kernel: Mapping[str, Any], chain: int, x: Array, operands: Mapping[str, Array], merged: bool = False
) -> Expected:
    """Return y for x (M, N) in float64 with the bound on its error.

    operands: residual (M, N), weight (N,), bias (N,), as the kernel has them. chain: the most additions that a term of
    a row's sum goes through. merged: the statistics of a row are those of its parts.
    """
    with np.errstate(all="ignore"):
        return _normalised(xp, kernel, chain, x, operands, merged and kernel["norm"] == "layer")


def _normalised(
    xp: Xp, kernel: Mapping[str, Any], chain: int, x: Array, operands: Mapping[str, Array], merged: bool
) -> Expected:
    columns = x.shape[1]
    gamma = chain * _U / (1 - chain * _U)
    eps = float(np.float32(kernel["eps"]))
    v, own = x, 0.0 * xp.abs(x)
    common = 0.0 * _sum(own)
    if "residual" in operands:
        v = x + operands["residual"]
        own = _U * xp.abs(v)
    spread = (gamma + 2.01 * _U) * (_sum((xp.abs(v) + own) ** 2) / columns) ** 0.5  # of the means of parts
    if kernel["norm"] == "layer":
        size = _sum(xp.abs(v) + own) / columns
        common = _sum(own) / columns + (gamma + 2.01 * _U) * size
        v = v - _sum(v) / columns
        own = own + _U * (xp.abs(v) + own + common) + _TINY
    square = _sum(v * v) / columns
    moved = _sum(2.0 * xp.abs(v) * own + own * own) / columns + common * (common + 2.0 * _sum(own) / columns)
    if merged:
        moved = moved + 2.0 * spread * (square**0.5 + spread) + 2.0 * common * common + 4.01 * _U * square
        own = own + _U * (xp.abs(v) + 4.0 * _sum(v**8) ** 0.125)  # no less than the largest
    moved = moved + (gamma + 3.01 * _U) * (square + moved) + _TINY
    moved = moved + _U * (square + moved + eps)  # of adding eps
    scale = _power(square + eps)
    least = xp.where(moved < square, square - moved, 0.0 * square)
    slack = xp.maximum(_power(least + eps) - scale, scale - _power(square + moved + eps))
    slack = slack + _RSQRT * (scale + slack)
    value = v * scale
    error = (own + common) * (scale + slack) + xp.abs(v) * slack
    # Where a sum is infinite the scale is zero, and so is every product, without an error.
    error = xp.where(xp.isnan(error) | xp.isinf(error), xp.array(0.0), error)
    error = error + _U * (xp.abs(value) + error) + _TINY
    if "weight" in operands:
        weight = operands["weight"]
        value, error = value * weight, error * xp.abs(weight)
        error = error + _U * (xp.abs(value) + error) + _TINY
    if "bias" in operands:
        value = value + operands["bias"]
        error = error + _U * (xp.abs(value) + error)
    if kernel["activation"] != "identity":
        step = registry.get(kernel["activation"])
        error = step.error(xp, value, _settled(xp, value, error), {})
        value = step.reference(xp, value, {})
    return Expected(value, _settled(xp, value, error))


def _sum(values: Array) -> Array:
    """Over a row; stays a column."""
    return values.sum(1)[:, None]


def _power(values: Array) -> Array:
    return values**-0.5


def _settled(xp: Xp, values: Array, error: Array) -> Array:
    """What is not finite has no error: it comes out of f32 as out of the exact arithmetic."""
    return xp.where(xp.isnan(values) | xp.isinf(values), xp.array(0.0), error)
