"""x <- alpha * x, with a scalar given at call time."""

from warpwright.epilogue.bounds import rounding
from warpwright.epilogue.op import EpilogueOp, EpilogueOperand

OP = EpilogueOp(
    name="alpha",
    summary="alpha * x",
    operands=(EpilogueOperand("alpha", "scalar"),),
    code="x = x * alpha",
    reference=lambda xp, x, o: x * o["alpha"],
    error=lambda xp, x, e, o: xp.abs(o["alpha"]) * e + rounding(xp, o["alpha"] * (xp.abs(x) + e)),
)
