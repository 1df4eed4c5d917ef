"""x <- x * sigmoid(x) = x / (1 + exp(-x)).

The division is 2^(-log2(1 + exp(-x))): two special-function instructions instead of a division subroutine. The last
exp2 flushes what is below 2^-126 to zero: from x = -87.34 down the result is -0, where silu is -1e-36 and closer to
zero.
"""

from warpwright.epilogue.bounds import times_logistic
from warpwright.epilogue.op import EpilogueOp

OP = EpilogueOp(
    name="silu",
    summary="x / (1 + exp(-x))",
    code="""\
power = cute.math.exp2(x * -1.4426950408889634, fastmath=True)  # -log2(e)
# x / (1 + power); vectors have no reciprocal instruction
x = x * cute.math.exp2(-cute.math.log2(1.0 + power, fastmath=True), fastmath=True)
""",
    reference=lambda xp, x, o: x / (1.0 + xp.exp(-x)),
    # The argument of exp2: one rounding, and half a one of the constant.
    error=lambda xp, x, e, o: times_logistic(xp, x, e, lambda y: y, roundings=1.5, turn=-1.278465, flushed=-87.33),
    registers=lambda values: values,
)
