"""The inputs of one problem on the device: drawn once for all variants that share them, watched, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpwright.device import tensors
from warpwright.device.backend import Backend
from warpwright.device.held import held_bytes, numbers
from warpwright.device.problem import Problem
from warpwright.device.subject import Subject
from warpwright.device.tensors import GuardedBuffer
from warpwright.device.xp import Array, Xp
from warpwright.families.running import Memo, Sample
from warpwright.plan.types import Argument

__all__ = ["Inputs", "along", "shared_inputs"]


@dataclass(frozen=True)
class _Bits:
    """What is held of an input, dense, shared by all variants of the same dtype, and their checksum."""

    bits: Array
    checksum: int


@dataclass
class Inputs:
    """Filled buffers by argument, with checksums of what a launch must not change."""

    backend: Backend
    sample: Sample | None
    buffers: Mapping[str, GuardedBuffer]
    _shared: tuple[_Bits, ...]
    _checksums: Mapping[str, int]

    def stored(self, name: str) -> Array:
        """An input as stored, in float64, along the sample where the problem has one."""
        buffer, sample = self.buffers[name], self.sample
        chosen = {sample.mode: self.backend.xp.index(sample.indices)} if sample else {}
        return numbers(self.backend.xp, buffer.argument, buffer.view, chosen)

    def trespasses(self) -> list[str]:
        """Say in words which inputs were overwritten."""
        xp = self.backend.xp
        changed = [name for name, b in self.buffers.items() if xp.checksum(b.raw) != self._checksums[name]]
        faults = [f"input {name} or its guard band was overwritten" for name in changed]
        if any(xp.checksum(shared.bits) != shared.checksum for shared in self._shared):
            faults.append("memory of other tensors was overwritten")
        return faults


def shared_inputs(
    backend: Backend, subject: Subject, problem: Problem, seed: int, sample: Sample | None, memo: Memo
) -> Inputs:
    """Allocate and fill the inputs; `memo` keeps their bits for the next variant."""
    xp, plan, workload = backend.xp, subject.plan, subject.workload
    unread = workload.unread(plan, problem)
    shared: list[_Bits] = []

    def filled(argument: Argument) -> GuardedBuffer:
        buffer = tensors.make_buffer(xp, argument, problem)

        def draw(given: Problem) -> Array:
            def make() -> tuple[_Bits, int]:
                bits = workload.inputs(xp, plan, argument, given, seed)
                return _Bits(bits, xp.checksum(bits)), xp.size(bits) * held_bytes(argument)

            found: _Bits = memo(("input", argument.name, argument.dtype, argument.shape, given), make)
            shared.append(found)
            return found.bits

        if argument.name in unread:
            tensors.fill_nan(buffer)
        else:
            tensors.fill(buffer, problem, draw)
        return buffer

    buffers = {argument.name: filled(argument) for argument in subject.arguments("input")}
    checksums = {name: xp.checksum(buffer.raw) for name, buffer in buffers.items()}
    return Inputs(backend, sample, buffers, tuple(shared), checksums)


def along(xp: Xp, argument: Argument, view: Array, sample: Sample | None) -> Array:
    """Return of an argument's elements those of the sample, all where it has none or lacks the sample's mode."""
    if sample is None or sample.mode not in argument.shape:
        return view
    return view[(slice(None),) * argument.shape.index(sample.mode) + (xp.index(sample.indices),)]
