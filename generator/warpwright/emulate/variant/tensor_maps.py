"""What the tensor maps of a launch mean: from the plan's copies and the operands, never from their 128 bytes.

The kernel's host code makes one map per copy through a tensor map, in the plan's order, the contiguous mode innermost
and then the copy's modes in their order. Beside each map it passes the extents that the map was made with, in the order
of the modes: these are taken, since they need not be the operand's own (K = 0 is one column that nobody loads, and a
map that is stored through ends with the last whole 16 bytes of a row). Where a mode has one element, or none, its
stride means nothing: the host code then gives the smallest legal one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from warpwright.dtypes import dtype
from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.units.tma.tensor_map import TensorMap
from warpwright.emulate.variant.operands import Operand, Operands
from warpwright.plan.types import Copy, KernelPlan

__all__ = ["MAP_BYTES", "map_parameters", "mapped", "tensor_maps"]

MAP_BYTES = 128
_UNIT = 16  # bytes: every stride of a tensor map is a multiple


def mapped(kernel: KernelPlan) -> list[Copy]:
    """Return the copies of a kernel that go through tensor maps."""
    return [copy for copy in kernel.copies if copy.kind == "tensor"]


def map_parameters(kernel: KernelPlan, parameter_bytes: Sequence[int]) -> list[int]:
    """Return which kernel parameters are tensor maps, in the order of `mapped`. Raises EmulatorError."""
    found = [index for index, size in enumerate(parameter_bytes) if size == MAP_BYTES]
    copies = mapped(kernel)
    if len(found) != len(copies):
        raise EmulatorError(
            f"{kernel.name} takes {len(found)} tensor maps, its plan has {len(copies)} copies through one"
            f" ({', '.join(copy.tensor for copy in copies) or 'none'}); build the variant again"
        )
    return found


def tensor_maps(
    kernel: KernelPlan, parameters: Sequence[int], operands: Operands, values: Sequence[bytes]
) -> dict[int, TensorMap]:
    """Return the meaning of each tensor map by its parameter's index; `values` are the launch's parameters.

    Raises EmulatorError where no extents are passed beside a map.
    """
    found = {}
    for index, copy in zip(parameters, mapped(kernel), strict=True):
        operand = operands.tensors[copy.tensor]
        modes = copy.modes or operand.argument.shape
        extents = struct.Struct(f"<{len(modes)}i")
        beside = values[index + 1] if index + 1 < len(values) else b""
        if len(beside) != extents.size:
            raise EmulatorError(
                f"{kernel.name}: parameter {index + 1} should hold the extents {', '.join(modes)} of {copy.tensor} in"
                f" {extents.size} B: it has {len(beside)} B"
            )
        found[index] = _describe(copy, operand, dict(zip(modes, extents.unpack(beside), strict=True)))
    return found


def _describe(copy: Copy, operand: Operand, extents: dict[str, int]) -> TensorMap:
    argument, size = operand.argument, dtype(copy.dtype).bytes
    order = sorted(extents, key=lambda mode: mode != argument.contiguous)
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
