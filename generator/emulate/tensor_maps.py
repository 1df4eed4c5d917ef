"""What the tensor maps of a launch mean: from the plan's TMA copies and the operands, never from their 128 bytes.

The kernel's host code makes one map per TMA atom, in the order of `plan.tma`, over the operand's two matrix modes and
the batch, the contiguous mode innermost. Where a mode has one element, or none, its stride means nothing: the host
code then gives the smallest legal one, and an extent of at least 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from generator.device.xp import BYTES
from generator.emulate.findings import EmulatorError
from generator.emulate.launch import TensorMap
from generator.emulate.operands import Operands
from generator.plan.types import Plan

__all__ = ["MAP_BYTES", "map_parameters", "tensor_maps"]

MAP_BYTES = 128
_UNIT = 16  # bytes: every stride of a tensor map is a multiple


def map_parameters(plan: Plan, parameter_bytes: Sequence[int]) -> list[int]:
    """Return which kernel parameters are tensor maps, in the order of `plan.tma`. Raises EmulatorError."""
    found = [index for index, size in enumerate(parameter_bytes) if size == MAP_BYTES]
    if len(found) != len(plan.tma):
        raise EmulatorError(
            f"the kernel takes {len(found)} tensor maps, its plan has {len(plan.tma)} TMA copies"
            f" ({', '.join(copy.tensor for copy in plan.tma)}); build the variant again"
        )
    return found


def tensor_maps(plan: Plan, parameters: Sequence[int], operands: Operands) -> dict[int, TensorMap]:
    """Return the meaning of each tensor map by its parameter's index."""
    found = {}
    for index, copy in zip(parameters, plan.tma, strict=True):
        operand = operands.tensors[copy.tensor]
        argument, size = operand.argument, BYTES[copy.dtype]
        batch = argument.shape[0]
        rest = [mode for mode in argument.shape[1:] if mode != argument.contiguous]
        at = [argument.shape.index(mode) for mode in (argument.contiguous, *rest, batch)]
        extents = [operand.view.shape[mode] for mode in at]
        strides = [
            operand.strides[mode] * size if extent > 1 else _UNIT
            for mode, extent in zip(at[1:], extents[1:], strict=True)
        ]
        found[index] = TensorMap(
            address=operand.address,
            extents=tuple(max(extent, 1) for extent in extents),
            strides=tuple(strides),
            box=copy.box,
            element=size,
            swizzle=copy.swizzle,
        )
    return found
