"""The operands of one case in emulated global memory: no byte to spare around them, every gap poisoned.

What a kernel touches outside a tensor is then either outside every buffer, which the emulator reports, or in a gap
between rows, which is NaN when read and shows in the write counts when written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from warpwright.build.launch_capture import TensorValue
from warpwright.device.problem import Problem, shape_of
from warpwright.device.tensors import layout, quiet_nan
from warpwright.device.xp import Array, NumpyXp
from warpwright.dtypes import dtype
from warpwright.emulate.machine.memory import Access, GlobalMemory
from warpwright.families import workload
from warpwright.plan.types import Argument, Plan

__all__ = ["Operand", "Operands", "place"]


@dataclass(frozen=True)
class Operand:
    """A tensor or vector argument: `raw` is all of its memory, `view` its elements (bits) in the argument's shape."""

    argument: Argument
    address: int
    raw: Array
    view: Array
    strides: tuple[int, ...]  # elements

    @property
    def value(self) -> TensorValue:
        return TensorValue(self.address, tuple(self.view.shape), self.strides, self.argument.dtype)


@dataclass
class Operands:
    """Everything that the launches of one call are given."""

    memory: GlobalMemory
    tensors: dict[str, Operand] = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)

    def values(self, plan: Plan, clusters: int) -> list[TensorValue | int | float]:
        """Return the call's values in the order of the plan's arguments."""
        given: list[TensorValue | int | float] = []
        for argument in plan.arguments:
            if argument.kind != "scalar":
                given.append(self.tensors[argument.name].value)
            else:
                given.append(clusters if argument.role == "grid_limit" else self.scalars[argument.name])
        return given

    def of_role(self, *roles: str) -> list[Operand]:
        return [operand for operand in self.tensors.values() if operand.argument.role in roles]

    def poison(self) -> None:
        """Make everything that is written unwritten again."""
        for operand in self.of_role("output", "workspace"):
            operand.raw[...] = dtype(operand.argument.dtype).poison
            self.memory.buffers[operand.argument.name].writes[...] = 0

    def writes(self, operand: Operand) -> Array:
        """How often each byte of an operand's elements was written, (*shape, element bytes)."""
        counts = self.memory.buffers[operand.argument.name].writes
        size = dtype(operand.argument.dtype).bytes
        shape = (*operand.view.shape, size)
        strides = (*(s * size for s in operand.strides), 1)
        if not operand.view.size:
            return np.zeros(shape, np.uint8)
        return np.lib.stride_tricks.as_strided(counts, shape, strides)

    def touched(self, operand: Operand) -> int:
        """How many bytes of an operand's memory were written at all, those between its elements included."""
        return int(np.count_nonzero(self.memory.buffers[operand.argument.name].writes))


def place(plan: Plan, problem: Problem, seed: int) -> Operands:
    """Fill fresh operands for `problem` and place them, each as badly aligned as its argument allows."""
    xp, family, found = NumpyXp(), workload(plan.family), Operands(GlobalMemory())
    found.scalars |= family.scalars(plan, problem)
    unread, top = family.unread(plan, problem), 1 << 32
    for argument in plan.arguments:
        if argument.kind == "scalar":
            continue
        shape = shape_of(argument, problem.extents)
        strides = layout(argument, problem.extents, problem.padding, problem.odd_strides)
        element = dtype(argument.dtype)
        reach = 0 if 0 in shape else 1 + sum((e - 1) * s for e, s in zip(shape, strides, strict=True))
        raw = np.full(reach, element.poison, dtype=f"int{element.bits}")
        view = np.lib.stride_tricks.as_strided(raw, shape, tuple(s * element.bytes for s in strides))
        if argument.name in unread:
            view[...] = quiet_nan(argument)
        elif argument.role == "input":
            view[...] = family.inputs(xp, plan, argument, problem, seed)
        address = top + argument.alignment
        found.memory.add(argument.name, raw, _access(plan, argument), address)
        found.tensors[argument.name] = Operand(argument, address, raw, view, strides)
        top = (address + raw.nbytes + 0x1FFF) & ~0xFFF
    return found


def _access(plan: Plan, argument: Argument) -> Access:
    """An output of one kernel is written once and never read; between several kernels it may travel."""
    if argument.role == "input":
        return "in"
    return "out" if argument.output and len(plan.kernels) == 1 else "inout"
