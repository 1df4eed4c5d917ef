"""x <- x * sigmoid(x) = x / (1 + exp(-x)).

The division is 2^(-log2(1 + exp(-x))): two special-function instructions instead of a division subroutine.
"""

from collections.abc import Mapping
from typing import Any

from warpwright.epilogue.op import F32_ROUNDOFF, EpilogueOp

# ex2.approx.ftz.f32 is good to a relative 2^-22.5, lg2.approx.ftz.f32 to 2^-22 of its value, or absolutely near 1
# (PTX ISA, ex2 and lg2); their arguments carry a few round-offs of |x|.
_RELATIVE = 16 * F32_ROUNDOFF


def _error(xp: Any, x: Any, e: Any, o: Mapping[str, Any]) -> Any:
    value = xp.abs(x / (1.0 + xp.exp(-x)))
    # |silu'| <= 1.1; the argument of exp is off by |x| round-offs, which scales exp(-x) by as much and the value by
    # that times exp(-x) / (1 + exp(-x)). The last exp2 is flushed to zero below 2^-126.
    scaled = xp.where(xp.abs(x) < 128, xp.abs(x), xp.array(0.0))
    tiny = xp.abs(x) * xp.where(xp.abs(x) < 128, xp.array(2.0**-126), xp.exp(-xp.abs(x)))
    return 1.1 * e + value * (_RELATIVE + 8 * F32_ROUNDOFF * scaled / (1.0 + xp.exp(x))) + tiny


OP = EpilogueOp(
    name="silu",
    summary="x / (1 + exp(-x))",
    code="""\
power = cute.math.exp2(x * -1.4426950408889634, fastmath=True)  # log2(e)
# x / (1 + power); vectors have no reciprocal instruction
x = x * cute.math.exp2(-cute.math.log2(1.0 + power, fastmath=True), fastmath=True)
""",
    reference=lambda xp, x, o: x / (1.0 + xp.exp(-x)),
    error=_error,
    registers=lambda values: values,
)
