"""x <- max(x, 0), with NaN kept."""

from warpwright.epilogue.bounds import spread
from warpwright.epilogue.op import EpilogueOp

OP = EpilogueOp(
    name="relu",
    summary="max(x, 0)",
    code="x = cute.where(x < 0.0, 0.0, x)  # a select: max.f32 would turn NaN into 0",
    reference=lambda xp, x, o: xp.where(x < 0, 0.0 * xp.sign(x), x),
    error=lambda xp, x, e, o: spread(xp, lambda y: xp.maximum(y, xp.array(0.0)), x, e),  # a select rounds nothing
)
