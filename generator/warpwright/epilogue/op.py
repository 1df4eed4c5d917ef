"""The vocabulary of epilogue operations: what one operation must declare.

An operation is one Python file that assigns `OP = EpilogueOp(...)`. Operations of the package lie in
`generator/warpwright/epilogue/ops/`; a user's own lie in the folders of WARPWRIGHT_OPS (separated as in PATH). The file
imports only this module and the standard library: it travels to GPU hosts inside bundles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: Unit round-off of float32, the type in which every operation computes (IEEE 754, round to nearest).
F32_ROUNDOFF = 2.0**-24

#: f(xp, x, operands) -> x: float64 arrays of shape (L, M, N) or broadcastable to it. `xp` offers abs, exp,
#: tanh, erf, where, maximum, sign and array with one meaning under numpy and torch.
Reference = Callable[[Any, Any, Mapping[str, Any]], Any]
#: f(xp, x, error, operands) -> error: bound on |computed - exact| after the operation, given the exact input
#: `x` and the bound `error` on the input's own deviation; float64 arrays.
ErrorBound = Callable[[Any, Any, Any, Mapping[str, Any]], Any]


@dataclass(frozen=True)
class EpilogueOperand:
    """One operand: a `tile` of shape (M, N) (dtype and major from kernel.c), a vector along M or N, or a scalar.

    `skip_if_zero` names a scalar operand of the same operation: where that is zero, the tile is never read and the
    operation left out.
    """

    name: str
    kind: Literal["tile", "vector_m", "vector_n", "scalar"]
    skip_if_zero: str = ""


@dataclass(frozen=True)
class EpilogueOp:
    """One operation on the float32 vector `x` of a subtile (a thread's share of 64 x epilogue_n elements).

    `code` is rendered as it stands, once per subtile: it may read and must assign `x`; every operand is in
    scope under its own name: a tile or vector as a float32 vector shaped like `x`, a scalar as Float32.
    `registers` is what the operation needs per thread on top of `x` (given the length of `x`); `shared_bytes` what
    it needs of shared memory per CTA beside its tile operand's ring: then `scratch`, a 16-byte aligned pointer to
    bytes, is in scope too, with `consumer` (the warpgroup) and `thread` (0..127) to divide it by.
    """

    name: str
    summary: str
    code: str
    reference: Reference
    error: ErrorBound
    operands: tuple[EpilogueOperand, ...] = ()
    registers: Callable[[int], int] = lambda values: 0
    shared_bytes: int = 0
