"""Operands whose results are NaN, infinite, beyond the output's range, at its very edge, subnormal, or -0."""

from __future__ import annotations

from warpwright.device.xp import Array
from warpwright.families.products import extreme
from warpwright.plan.types import Argument

__all__ = ["strew"]

#: By dtype of A: doubled it is beyond the range of D (of f16: of an f16 D); three quarters of the small one are rounded
#: among the subnormals of an f16 D. Products below float32's normal numbers may be flushed, so bf16's stay above.
_LARGE = {"f16": 65504.0, "bf16": 2.0**127, "f32": 3e38}
_SMALL = {"f16": 3 * 2.0**-24, "bf16": 3 * 2.0**-120, "f32": 3 * 2.0**-120}


def strew(values: Array, argument: Argument) -> None:
    """Put special numbers into small integers, in place; of A (L, M, K), B (L, K, N), C (L, M, N) or a vector."""
    large, small = _LARGE[argument.dtype], _SMALL[argument.dtype]
    if argument.name == "c" and large != _LARGE["f16"]:
        large /= 4  # three times that is finite in float32, so that beta * C may be rounded by itself or not
    # Where B has the other sign beside it, 65504 + 16 rounds to infinity in f16, 65504 + 8 does not.
    edge = {extreme.AT_LARGE: large, values.shape[-1] - 1: 8.0}
    every = extreme.EVERY if argument.name == "c" else 1 << 40  # in a vector each once
    extreme.strew(values, argument.name, large, small, [edge], every)
