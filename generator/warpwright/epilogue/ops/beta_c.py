"""x <- x + beta * C, with a matrix C and a scalar given at call time; where beta is zero, C is never read."""

from collections.abc import Mapping
from typing import Any

from warpwright.epilogue.bounds import rounding
from warpwright.epilogue.op import EpilogueOp, EpilogueOperand


def _reference(xp: Any, x: Any, o: Mapping[str, Any]) -> Any:
    # IEEE would make 0 * NaN a NaN: with beta = 0 the operand does not exist.
    return x if o["beta"] == 0 else x + o["beta"] * o["c"]


def _error(xp: Any, x: Any, e: Any, o: Mapping[str, Any]) -> Any:
    if o["beta"] == 0:
        return e
    term = o["beta"] * o["c"]
    e = e + rounding(xp, term)
    return e + rounding(xp, xp.abs(x + term) + e)


OP = EpilogueOp(
    name="beta_c",
    summary="x + beta * C",
    operands=(EpilogueOperand("beta", "scalar"), EpilogueOperand("c", "tile", skip_if_zero="beta")),
    code="x = x + c * beta",
    reference=_reference,
    error=_error,
    registers=lambda values: values,
)
