"""What the tensor maps of a launch mean: from the plan's TMA copies and the operands, never from their 128 bytes.

The kernel's host code makes one map per TMA atom, in the order of `plan.tma`, over the operand's two matrix modes and
the batch, the contiguous mode innermost. Beside each map it passes the extents that the map was made with: these are
taken, since they need not be the operand's own (K = 0 is one column that nobody loads, and a map that is stored
through ends with the last whole 16 bytes of a row). Where a mode has one element, or none, its stride means nothing:
the host code then gives the smallest legal one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from warpwright.device.xp import BYTES
from warpwright.emulate.findings import EmulatorError
from warpwright.emulate.launch import TensorMap
from warpwright.emulate.operands import Operand, Operands
from warpwright.plan.types import Plan, TmaCopy

__all__ = ["MAP_BYTES", "map_parameters", "tensor_maps"]

MAP_BYTES = 128
_UNIT = 16  # bytes: every stride of a tensor map is a multiple
_EXTENTS = struct.Struct("<3i")


def map_parameters(plan: Plan, parameter_bytes: Sequence[int]) -> list[int]:
    """Return which kernel parameters are tensor maps, in the order of `plan.tma`. Raises EmulatorError."""
    found = [index for index, size in enumerate(parameter_bytes) if size == MAP_BYTES]
    if len(found) != len(plan.tma):
        raise EmulatorError(
            f"the kernel takes {len(found)} tensor maps, its plan has {len(plan.tma)} TMA copies"
            f" ({', '.join(copy.tensor for copy in plan.tma)}); build the variant again"
        )
    return found


def tensor_maps(
    plan: Plan, parameters: Sequence[int], operands: Operands, values: Sequence[bytes]
) -> dict[int, TensorMap]:
    """Return the meaning of each tensor map by its parameter's index; `values` are the launch's parameters.

    Raises EmulatorError where no extents are passed beside a map.
    """
    found = {}
    for index, copy in zip(parameters, plan.tma, strict=True):
        beside = values[index + 1] if index + 1 < len(values) else b""
        if len(beside) != _EXTENTS.size:
            raise EmulatorError(
                f"parameter {index + 1} should hold the extents of {copy.tensor}: it has {len(beside)} B"
            )
        found[index] = _describe(copy, operands.tensors[copy.tensor], _EXTENTS.unpack(beside))
    return found


def _describe(copy: TmaCopy, operand: Operand, given: tuple[int, ...]) -> TensorMap:
    argument, size = operand.argument, BYTES[copy.dtype]
    batch, *matrix = argument.shape
    extents = dict(zip([*sorted(matrix, key="MNK".index), batch], given, strict=True))  # in the kernel's order of modes
    rest = [mode for mode in matrix if mode != argument.contiguous]
    order = [argument.contiguous, *rest, batch]
    strides = {mode: stride * size for mode, stride in zip(argument.shape, operand.strides, strict=True)}
    own = dict(zip(argument.shape, operand.view.shape, strict=True))
    return TensorMap(
        address=operand.address,
        extents=tuple(extents[mode] for mode in order),
        strides=tuple(strides[mode] if own[mode] > 1 else _UNIT for mode in order[1:]),
        box=copy.box,
        element=size,
        swizzle=copy.swizzle,
    )
