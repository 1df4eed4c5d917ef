"""The operands of one case in emulated global memory: no byte to spare around them, every gap poisoned.

What a kernel touches outside a tensor is then either outside every buffer, which the emulator reports, or in a gap
between rows, which is NaN when read and shows in the write counts when written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from warpwright.build.launch_capture import TensorValue
from warpwright.device.held import held_bytes, held_shape, held_strides
from warpwright.device.problem import Problem, shape_of, shared
from warpwright.device.tensors import layout, quiet_nan
from warpwright.device.xp import Array, NumpyXp
from warpwright.dtypes import dtype
from warpwright.emulate.machine.memory import SPARSE, Access, GlobalMemory, Runs, sparse
from warpwright.families import workload
from warpwright.plan.types import Argument, Plan

__all__ = ["Operand", "Operands", "place"]

#: Bytes from which on a tensor is there in part where only parts are used.
_PART = 1 << 22


@dataclass(frozen=True)
class Operand:
    """A tensor or vector argument: `raw` is all of its memory, `view` what is held of it (bits): its elements, or bytes
    where several share one (device/held.py).

    An output that is an input has the input's memory; `before` is what that held.
    """

    argument: Argument
    address: int
    raw: Array
    view: Array
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # elements
    regions: tuple[tuple[slice, ...], ...] = ()  # of a tensor that is there in part: what of it is filled and due
    buffer: str = ""  # in memory, where it is another argument's
    before: Array | None = None

    @property
    def value(self) -> TensorValue:
        return TensorValue(self.address, self.shape, self.strides, self.argument.dtype)


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
        """Make everything that is written unwritten again, and inputs what they were."""
        for operand in self.of_role("output", "workspace"):
            if operand.before is not None:
                operand.raw[...] = operand.before
                self.written(operand)[...] = 0
                continue
            poison = dtype(operand.argument.dtype).poison
            for region in operand.regions:
                operand.view[region] = poison
                self.writes(operand)[region] = 0
            if not operand.regions:
                operand.raw[...] = poison
                self.written(operand)[...] = 0

    def written(self, operand: Operand) -> Array:
        """How often each byte of an operand's memory was written."""
        return self.memory.buffers[operand.buffer or operand.argument.name].writes

    def writes(self, operand: Operand) -> Array:
        """How often each byte of an operand's elements was written, (*shape, element bytes)."""
        counts = self.written(operand)
        size = dtype(operand.argument.dtype).bytes
        shape = (*operand.view.shape, size)
        strides = (*(s * size for s in operand.strides), 1)
        if not operand.view.size:
            return np.zeros(shape, np.uint8)
        return np.lib.stride_tricks.as_strided(counts, shape, strides)

    def touched(self, operand: Operand) -> int:
        """How many bytes of an operand's memory were written at all, those between its elements included.

        Of one that is there in part, those alone: what lies between is in no buffer, or never asked for.
        """
        if operand.regions:
            counts = self.writes(operand)
            return sum(int(np.count_nonzero(counts[region])) for region in operand.regions)
        return int(np.count_nonzero(self.written(operand)))


def place(plan: Plan, problem: Problem, seed: int, parts: Sequence[Mapping[str, slice]] = ({},)) -> Operands:
    """Fill fresh operands for `problem` and place them, each as badly aligned as its argument allows.

    `parts`: by mode, the indices that are used; of tensors that would take too much memory only these are there.
    """
    xp, family, found = NumpyXp(), workload(plan.family), Operands(GlobalMemory())
    found.scalars |= family.scalars(plan, problem)
    unread, top, same = family.unread(plan, problem), 1 << 32, shared(plan.arguments, problem)
    for argument in sorted(plan.arguments, key=lambda each: bool(each.in_place)):
        if argument.kind == "scalar":
            continue
        if same and argument.in_place:
            source = found.tensors[argument.in_place]
            found.tensors[argument.name] = replace(
                source, argument=argument, buffer=argument.in_place, before=source.raw.copy()
            )
            continue
        shape = shape_of(argument, problem.extents)
        strides = layout(same.get(argument.name, argument), problem.extents, problem.padding, problem.odd_strides)
        held, steps, size = held_shape(argument, shape), held_strides(argument, strides), held_bytes(argument)
        reach = 0 if 0 in held else 1 + sum((e - 1) * s for e, s in zip(held, steps, strict=True))
        large = reach * size >= (_PART if {} not in parts else SPARSE)
        integer, poison = np.dtype(f"int{8 * size}"), dtype(argument.dtype).poison
        raw = sparse(reach * size).view(integer) if large else np.full(reach, poison, dtype=integer)
        view = np.lib.stride_tricks.as_strided(raw, held, tuple(s * size for s in steps))
        of = [mode.partition("/")[0] for mode in argument.shape]
        named = [{mode: part[mode] for mode in of if mode in part} for part in parts]
        regions = tuple(tuple(_region(mode, part) for mode in argument.shape) for part in named)
        whole: tuple[slice, ...] = (slice(None),) * len(shape)
        for part, region in zip(named, regions, strict=True) if large else [(dict[str, slice](), whole)]:
            if argument.name in unread:
                view[region] = quiet_nan(argument)
            elif argument.role == "input":
                view[region] = family.inputs(xp, plan, argument, _of_part(problem, part), seed)
        address = top + same.get(argument.name, argument).alignment
        runs = _runs(size, held, steps) if large else None
        access = "inout" if argument.name in same else _access(plan, argument)
        found.memory.add(argument.name, raw, access, address, runs)
        found.tensors[argument.name] = Operand(argument, address, raw, view, shape, strides, regions if large else ())
        top = (address + raw.nbytes + 0x1FFF) & ~0xFFF
    return found


def _region(mode: str, part: Mapping[str, slice]) -> slice:
    """What of an argument's mode belongs to a part: of M/128, the groups of rows that a part begins and ends in."""
    name, _, unit = mode.partition("/")
    used = part.get(name, slice(None))
    return slice(used.start // int(unit), -(-used.stop // int(unit))) if unit and name in part else used


def _of_part(problem: Problem, part: Mapping[str, slice]) -> Problem:
    """A problem of the extents of a part, with other random numbers than its other parts."""
    if not part:
        return problem
    sizes = tuple((mode, part[mode].stop - part[mode].start if mode in part else size) for mode, size in problem.sizes)
    starts = "-".join(str(each.start) for each in part.values())
    return replace(problem, name=f"{problem.name}-{starts}", sizes=sizes)


def _runs(size: int, shape: Sequence[int], strides: Sequence[int]) -> Runs | None:
    """How the elements lie apart, of `size` bytes each, None where they do not."""
    apart = sorted(
        ((stride * size, extent) for stride, extent in zip(strides, shape, strict=True) if stride > 1 and extent > 1),
        reverse=True,
    )
    run = next(extent for stride, extent in zip(strides, shape, strict=True) if stride == 1)
    return Runs(run * size, tuple(apart)) if apart else None


def _access(plan: Plan, argument: Argument) -> Access:
    """An output of one kernel is written once and never read; between several kernels it may travel."""
    if argument.role == "input":
        return "in"
    return "out" if argument.output and len(plan.kernels) == 1 else "inout"
