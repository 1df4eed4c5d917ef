"""A loaded variant, and one launch of it: refused, lost with its device, or done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpwright.device.backend import Backend
from warpwright.device.call import CheckedKernel
from warpwright.device.launch import HostError
from warpwright.device.problem import Problem
from warpwright.device.tensors import GuardedBuffer
from warpwright.device.variant import Variant
from warpwright.families import workload
from warpwright.families.running import Workload
from warpwright.plan.types import Argument, Plan

__all__ = ["DeviceLostError", "LaunchRefusedError", "Subject", "bands", "in_place", "launch", "load_subject"]


class LaunchRefusedError(Exception):
    """The launch itself was refused."""


class DeviceLostError(Exception):
    """The device reported an error after the launch: the context is lost."""


@dataclass
class Subject:
    """A loaded variant with what its family knows about running it."""

    variant: Variant
    kernel: CheckedKernel
    workload: Workload

    @property
    def plan(self) -> Plan:
        return self.variant.plan

    def arguments(self, *roles: str) -> list[Argument]:
        """The arguments that lie in memory, those of some roles only where any are named."""
        return [a for a in self.plan.arguments if a.kind != "scalar" and (not roles or a.role in roles)]


def load_subject(backend: Backend, variant: Variant) -> Subject:
    """Load a variant's function. Raises LaunchRefusedError when the device cannot load it, HostError when this host
    can load none."""
    try:
        function = backend.load(variant)
    except HostError:
        raise
    except Exception as error:
        raise LaunchRefusedError(f"loading: {type(error).__name__}: {error}") from error
    kernel = CheckedKernel(variant.plan, function, backend.max_clusters(variant.plan), backend.device_type)
    return Subject(variant, kernel, workload(variant.plan.family))


def launch(
    backend: Backend, subject: Subject, problem: Problem, buffers: Mapping[str, GuardedBuffer], clusters: int
) -> None:
    """Launch once on a problem's scalars, with a grid of at most `clusters`, and wait.

    Raises LaunchRefusedError or DeviceLostError: the context is over.
    """
    given = {name: backend.tensor(b.view, b.argument.dtype) for name, b in buffers.items()}
    given |= subject.workload.scalars(subject.plan, problem)
    given |= {argument.name: clusters for argument in subject.plan.arguments if argument.role == "grid_limit"}
    try:
        subject.kernel(**given)
    except Exception as error:
        raise LaunchRefusedError(f"{problem.name}: {type(error).__name__}: {error}") from error
    try:
        backend.synchronize()
    except Exception as error:
        raise DeviceLostError(f"{problem.name}: {type(error).__name__}: {error}") from error


def in_place(
    same: Mapping[str, Argument], inputs: Mapping[str, GuardedBuffer], outputs: Mapping[str, GuardedBuffer]
) -> dict[str, GuardedBuffer]:
    """Put inputs into the outputs that stand in their place, and return those by the inputs' names.

    same: as `problem.shared` says. The inputs' own buffers keep what they held, for the reference.
    """
    for name, output in same.items():
        outputs[output.name].view[...] = inputs[name].view
    return {name: outputs[output.name] for name, output in same.items()}


def bands(backend: Backend, written: GuardedBuffer, repeat: int) -> list[str]:
    """Say in words what of an output was left unwritten, and what was written around it, or around a workspace."""
    xp, name, faults = backend.xp, written.argument.name, []
    unwritten = written.unwritten(xp) if written.argument.output else 0
    if unwritten:
        at = list(xp.first(written.view == written.pattern))
        faults.append(f"launch {repeat}: {unwritten} elements of {name} were never written, the first at {at}")
    outside = written.trespasses(xp)
    if outside:
        at_offset = written.trespass_offset(xp)
        faults.append(f"launch {repeat}: {outside} elements outside {name} were written, the first {at_offset} from it")
    return faults
