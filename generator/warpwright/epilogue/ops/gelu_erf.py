"""GELU exactly: x/2 * (1 + erf(x / sqrt(2)))  (Hendrycks & Gimpel 2016).

Below zero 1 + erf cancels: from x = -4 down fewer and fewer digits are right, and from -5.54 down the result is -0,
where it should be -8e-8 and closer to zero.
"""

from collections.abc import Mapping
from typing import Any

from warpwright.epilogue.bounds import rounding, spread
from warpwright.epilogue.op import F32_ROUNDOFF, EpilogueOp

_SQRT_HALF = 0.7071067811865476
#: Up to here erff is -1, and the result zero.
_ZERO = -6.0


def _error(xp: Any, x: Any, e: Any, o: Mapping[str, Any]) -> Any:
    def f(y: Any) -> Any:
        return 0.5 * y * (1.0 + xp.erf(y * _SQRT_HALF))

    moved = spread(xp, f, x, e, turn=-0.751792)
    # 1 + erf is off by 4 round-offs at most: erff by 2 units in the last place (CUDA C++ Programming Guide,
    # mathematical functions), so 2 round-offs, its argument by 1.3 of z, which is 0.65 as z erf'(z) < 0.49, the sum
    # by 1. That counts y/2 times, for y from -6 on; below, all of f is lost.
    below = xp.where(e - x > -_ZERO, xp.array(-_ZERO), e - x)
    own = 2 * F32_ROUNDOFF * xp.maximum(x + e, below) + 2 * rounding(xp, xp.abs(f(x)) + moved)
    return moved + xp.where(x + e < _ZERO, xp.abs(f(x + e)), own)


OP = EpilogueOp(
    name="gelu_erf",
    summary="GELU, exact",
    code="x = 0.5 * x * (1.0 + cute.math.erf(x * 0.7071067811865476))",
    reference=lambda xp, x, o: 0.5 * x * (1.0 + xp.erf(x * _SQRT_HALF)),
    error=_error,
    registers=lambda values: values,
)
