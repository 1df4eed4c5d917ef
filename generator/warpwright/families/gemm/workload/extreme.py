"""Operands whose results are NaN, infinite, beyond the output's range, at its very edge, subnormal, or -0."""

from __future__ import annotations

from warpwright.device.xp import Array
from warpwright.families.products import extreme
from warpwright.plan.types import Argument

__all__ = ["strew", "within"]

#: By dtype of A or C: doubled it is beyond the range of D (of f16: of an f16 D), but in formats of less range; three
#: quarters of the small one are rounded among the subnormals of an f16 D. Products below float32's normal numbers may
#: be flushed, so bf16's stay above.
_LARGE = {"f16": 65504.0, "bf16": 2.0**127, "f32": 3e38, "tf32": 2.0**127, "e5m2": 57344.0, "e4m3": 448.0}
_LARGE |= {"e2m1": 6.0, "i8": 127.0}
_SMALL = {"f16": 3 * 2.0**-24, "bf16": 3 * 2.0**-120, "f32": 3 * 2.0**-120, "tf32": 3 * 2.0**-120}
_SMALL |= {"e5m2": 3 * 2.0**-16, "e4m3": 3 * 2.0**-9, "e2m1": 0.5, "i8": 3.0}
#: By dtype of B: what meets the large number is so much larger, where that alone is within the range of an f16 D.
_GAIN = {"e4m3": 128.0, "i8": 64.0, "e2m1": 3.0}
#: Formats without NaN and infinities, and what stands for them: the ends of the range.
_ENDS = {"e2m1": (-6.0, 6.0), "i8": (-128.0, 127.0)}


def strew(values: Array, argument: Argument) -> None:
    """Put special numbers into small integers, in place; of A (L, M, K), B (L, K, N), C (L, M, N) or a vector."""
    large, small = _LARGE[argument.dtype], _SMALL[argument.dtype]
    if argument.name == "c" and large != _LARGE["f16"]:
        large /= 4  # three times that is finite in float32, so that beta * C may be rounded by itself or not
    # Where B has the other sign beside it, 65504 + 16 rounds to infinity in f16, 65504 + 8 does not.
    edge = {extreme.AT_LARGE: large, values.shape[-1] - 1: 8.0}
    every = extreme.EVERY if argument.name == "c" else 1 << 40  # in a vector each once
    extreme.strew(values, argument.name, large, small, [edge], every)
    if argument.name == "b" and argument.dtype in _GAIN:
        values[..., extreme.AT_LARGE, :] *= _GAIN[argument.dtype]


def within(values: Array, argument: Argument) -> None:
    """Put the ends of the range where NaN and infinities are, in place, in formats that have none."""
    if argument.dtype in _ENDS:
        low, high = _ENDS[argument.dtype]
        values[(values != values) | (values < low)] = low  # NaN alone is not itself
        values[values > high] = high
