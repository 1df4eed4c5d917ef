"""GELU by its tanh formula: x/2 * (1 + tanh(u)) with u = sqrt(2/pi) * (x + 0.044715 x^3)  (Hendrycks & Gimpel 2016).

Computed as x / (1 + exp(-2u)), the same number: tanh.approx.f32 is good to 2^-11 only (PTX ISA, tanh). The
division is done in logarithms, as in silu.
"""

from collections.abc import Mapping
from typing import Any

from warpwright.epilogue.op import F32_ROUNDOFF, EpilogueOp

_SQRT_2_OVER_PI = 0.7978845608028654
_CUBIC = 0.044715


def _exponent(x: Any) -> Any:
    return 2.0 * _SQRT_2_OVER_PI * (x + _CUBIC * x * x * x)


def _error(xp: Any, x: Any, e: Any, o: Mapping[str, Any]) -> Any:
    u = _exponent(x)
    value = xp.abs(x / (1.0 + xp.exp(-u)))
    # |gelu'| <= 1.13; a relative error of the exponent scales exp(-u) by |u| times as much, and the value by that times
    # exp(-u) / (1 + exp(-u)). The last exp2 is flushed to zero below 2^-126.
    scaled = xp.where(xp.abs(u) < 128, xp.abs(u), xp.array(0.0))
    tiny = xp.abs(x) * xp.where(xp.abs(u) < 128, xp.array(2.0**-126), xp.exp(-xp.abs(u)))
    return 1.13 * e + value * (16 + 12 * scaled / (1.0 + xp.exp(u))) * F32_ROUNDOFF + tiny


OP = EpilogueOp(
    name="gelu_tanh",
    summary="GELU, tanh formula",
    # power = exp(-2u); the constants are -2 sqrt(2/pi) log2(e) and that times 0.044715.
    code="""\
power = cute.math.exp2(x * (-2.302208198144325 - 0.1029432395800235 * x * x), fastmath=True)
# x / (1 + power); vectors have no reciprocal instruction
x = x * cute.math.exp2(-cute.math.log2(1.0 + power, fastmath=True), fastmath=True)
""",
    reference=lambda xp, x, o: x / (1.0 + xp.exp(-_exponent(x))),
    error=_error,
    registers=lambda values: values,
)
