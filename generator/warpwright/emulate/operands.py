"""The operands of one case in emulated global memory: no byte to spare around them, every gap poisoned.

What a kernel touches outside a tensor is then either outside every buffer, which the emulator reports, or in a gap
between rows, which is NaN when read and shows in the write counts when written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from warpwright.build.launch_capture import TensorValue
from warpwright.device.problems import Problem
from warpwright.device.reference import scalar_value
from warpwright.device.tensors import NAN, layout, operand_values
from warpwright.device.xp import BYTES, POISON, Array, NumpyXp
from warpwright.emulate.memory import GlobalMemory
from warpwright.plan.types import Argument, Plan

__all__ = ["MAX_CLUSTERS", "Operand", "Operands", "place"]

MAX_CLUSTERS = "max_clusters"
_BITS = {2: np.int16, 4: np.int32}


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
    """Everything that one launch is given."""

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
                given.append(clusters if argument.name == MAX_CLUSTERS else self.scalars[argument.name])
        return given

    @property
    def output(self) -> Operand:
        return next(t for t in self.tensors.values() if t.argument.output)

    def writes(self) -> tuple[Array, int]:
        """How often each byte of the output's elements was written, (*shape, element bytes), and, as a number, how
        many bytes between its elements were written at all."""
        out = self.output
        counts = self.memory.buffers[out.argument.name].writes
        size = BYTES[out.argument.dtype]
        shape = (*out.view.shape, size)
        strides = (*(s * size for s in out.strides), 1)
        of_view = (
            np.lib.stride_tricks.as_strided(counts, shape, strides) if out.view.size else np.zeros(shape, np.uint8)
        )
        return of_view, int(np.count_nonzero(counts) - np.count_nonzero(of_view))


def place(plan: Plan, problem: Problem, skips: Mapping[str, str], seed: int) -> Operands:
    """Fill fresh operands for `problem` and place them, each as badly aligned as its argument allows."""
    xp, found = NumpyXp(), Operands(GlobalMemory())
    for argument in plan.arguments:
        if argument.kind == "scalar" and argument.name != MAX_CLUSTERS:
            found.scalars[argument.name] = scalar_value(argument.name, problem.fill, problem.zero)
    top = 1 << 32
    for argument in plan.arguments:
        if argument.kind == "scalar":
            continue
        extents = problem.extents()
        shape = tuple(extents[mode] for mode in argument.shape)
        strides = layout(argument, extents, problem.padding, problem.odd_strides)
        size = BYTES[argument.dtype]
        reach = 0 if 0 in shape else 1 + sum((e - 1) * s for e, s in zip(shape, strides, strict=True))
        raw = np.full(reach, POISON[argument.dtype], dtype=_BITS[size])
        view = np.lib.stride_tricks.as_strided(raw, shape, tuple(s * size for s in strides))
        if skips.get(argument.name) in problem.zero:
            view[...] = NAN[argument.dtype]
        elif not argument.output:
            view[...] = operand_values(xp, argument, problem, seed)
        address = top + argument.alignment
        found.memory.add(argument.name, raw, "out" if argument.output else "in", address)
        found.tensors[argument.name] = Operand(argument, address, raw, view, strides)
        top = (address + raw.nbytes + 0x1FFF) & ~0xFFF
    return found
