"""x <- x + bias[n]: one value per column of D."""

from warpwright.epilogue.bounds import rounding
from warpwright.epilogue.op import EpilogueOp, EpilogueOperand

OP = EpilogueOp(
    name="bias_n",
    summary="x + bias[n]",
    operands=(EpilogueOperand("bias_n", "vector_n"),),
    code="x = x + bias_n",
    reference=lambda xp, x, o: x + o["bias_n"],
    error=lambda xp, x, e, o: e + rounding(xp, xp.abs(x + o["bias_n"]) + e),
    registers=lambda values: values // 2,  # a thread holds each of its columns once
)
