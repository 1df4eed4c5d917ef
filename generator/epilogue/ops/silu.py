"""x <- x * sigmoid(x) = x / (1 + exp(-x))."""

from generator.epilogue.op import F32_ROUNDOFF, EpilogueOp

# ex2.approx.ftz.f32 has a relative error of at most 2^-22.5 and its argument, scaled by log2(e), one of a few
# round-offs of |x|; rcp.approx one unit in the last place (PTX ISA, ex2 and rcp).
_RELATIVE = 16 * F32_ROUNDOFF


def _error(xp, x, e, o):
    value = xp.abs(x / (1.0 + xp.exp(-x)))
    # |silu'| <= 1.1; the argument of exp is off by |x| round-offs, which scales the value by as much.
    return 1.1 * e + value * (_RELATIVE + 4 * F32_ROUNDOFF * xp.abs(x)) + 1e-37


OP = EpilogueOp(
    name="silu",
    summary="x / (1 + exp(-x))",
    code="x = x / (1.0 + cute.math.exp2(x * -1.4426950408889634, fastmath=True))  # log2(e)",
    reference=lambda xp, x, o: x / (1.0 + xp.exp(-x)),
    error=_error,
    registers=lambda values: values,
)
