"""x <- x + bias[m]: one value per row of D."""

from warpwright.epilogue.bounds import rounding
from warpwright.epilogue.op import EpilogueOp, EpilogueOperand

OP = EpilogueOp(
    name="bias_m",
    summary="x + bias[m]",
    operands=(EpilogueOperand("bias_m", "vector_m"),),
    code="x = x + bias_m",
    reference=lambda xp, x, o: x + o["bias_m"],
    error=lambda xp, x, e, o: e + rounding(xp, xp.abs(x + o["bias_m"]) + e),
    registers=lambda values: values // 2,  # a thread holds each of its rows once
)
