"""GELU by its tanh formula: x/2 * (1 + tanh(u)) with u = sqrt(2/pi) * (x + 0.044715 x^3)  (Hendrycks & Gimpel 2016).

Computed as x / (1 + exp(-2u)), the same number: tanh.approx.f32 is good to 2^-11 only (PTX ISA, tanh). The
division is done in logarithms, as in silu, and is flushed alike: from x = -10.01 down the result is -0, where it should
be -1e-37 and closer to zero.
"""

from typing import Any

from warpwright.epilogue.bounds import times_logistic
from warpwright.epilogue.op import EpilogueOp

_SQRT_2_OVER_PI = 0.7978845608028654
_CUBIC = 0.044715


def _exponent(x: Any) -> Any:
    return 2.0 * _SQRT_2_OVER_PI * (x + _CUBIC * x * x * x)


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
    # The argument of exp2, a sum of one sign times x: four roundings, and half a one of each constant.
    error=lambda xp, x, e, o: times_logistic(xp, x, e, _exponent, roundings=4.5, turn=-0.752461, flushed=-10.0),
    registers=lambda values: values,
)
