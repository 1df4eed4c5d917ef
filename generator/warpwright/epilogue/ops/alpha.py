"""x <- alpha * x, with a scalar given at call time."""

from warpwright.epilogue.op import F32_ROUNDOFF, EpilogueOp, EpilogueOperand

OP = EpilogueOp(
    name="alpha",
    summary="alpha * x",
    operands=(EpilogueOperand("alpha", "scalar"),),
    code="x = x * alpha",
    reference=lambda xp, x, o: x * o["alpha"],
    error=lambda xp, x, e, o: xp.abs(o["alpha"]) * (e + F32_ROUNDOFF * (xp.abs(x) + e)),
)
