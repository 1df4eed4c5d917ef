"""A GEMM whose rows and batches lie so far apart that no offset of its output fits into 32 bits."""

from __future__ import annotations

from warpwright.device.problem import Case
from warpwright.dtypes import dtype
from warpwright.families.gemm.workload.problems import multiplication
from warpwright.plan.types import Plan

__all__ = ["far"]

#: Few rows and columns, so that the others' rows, which are padded alike, do not reach even further; ragged in both,
#: so that threads compute addresses of D where TMA stores the rest.
_M, _N, _K, _L = 37, 35, 9, 2
#: Elements between the first and the last row of a batch of D: beyond 2^32, so that 32 bits overflow with and without
#: a sign, and no multiple of it.
_REACH = 5 * 2**30


def far(plan: Plan) -> Case:
    """Return the case; padding counts units of an argument's alignment, and D's may be the shortest."""
    output = next(argument for argument in plan.arguments if argument.output)
    unit = max(1, output.alignment // dtype(output.dtype).bytes)
    rows = _M if output.contiguous == "N" else _N
    padding = _REACH // ((rows - 1) * unit) | 1
    return Case(multiplication("far", _M, _N, _K, _L, fill="integer", padding=padding), 1, 1, (1,))
