"""GELU exactly: x/2 * (1 + erf(x / sqrt(2)))  (Hendrycks & Gimpel 2016)."""

from collections.abc import Mapping
from typing import Any

from warpwright.epilogue.op import F32_ROUNDOFF, EpilogueOp

_SQRT_HALF = 0.7071067811865476


def _error(xp: Any, x: Any, e: Any, o: Mapping[str, Any]) -> Any:
    # erff is good to 2 units in the last place (CUDA Math API); 1 + erf cancels for x < 0, so its error is
    # absolute: a few round-offs of 1, times |x|/2. Below -16 both are zero: erff is -1 from -4 on.
    reach = xp.where(x < -16, xp.array(16.0), xp.abs(x))
    return 1.13 * e + 8 * F32_ROUNDOFF * reach


OP = EpilogueOp(
    name="gelu_erf",
    summary="GELU, exact",
    code="x = 0.5 * x * (1.0 + cute.math.erf(x * 0.7071067811865476))",
    reference=lambda xp, x, o: 0.5 * x * (1.0 + xp.erf(x * _SQRT_HALF)),
    error=_error,
    registers=lambda values: values,
)
