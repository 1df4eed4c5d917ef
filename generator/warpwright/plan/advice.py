"""Weighs whether producer and consumer warps are worth it for one plan and problem, and what else there is to choose.

All of it is arithmetic on the prediction, on `Phases`, and on the limits of an SM; docs/advise.md says how it is meant
and how often it was right.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from warpwright import archs
from warpwright.archs import Arch, Device, arch
from warpwright.families import target
from warpwright.plan.occupancy import rooms
from warpwright.plan.phases import Phases
from warpwright.plan.prediction import Prediction
from warpwright.plan.reasons import reasons, verdict
from warpwright.plan.types import KernelPlan, Plan

__all__ = ["Advice", "Alternative", "advise"]

#: Two mbarriers of 8 bytes, which each stage takes beside its own bytes.
_BARRIERS = 16
_WARP = 32


@dataclass(frozen=True)
class Alternative:
    """Another way to run the same kernel: its predicted seconds, CTAs per SM, and bytes of shared memory of each CTA.

    `gain` is what the plan's time is over this one's, less 1: 0.1 is a tenth faster than the plan. `buffers` are
    stages, or what a kernel without specialised warps (`specialised` False) loads into.
    """

    name: str
    buffers: int
    specialised: bool
    seconds: float
    gain: float
    resident: int
    shared_bytes: int


@dataclass(frozen=True)
class Advice:
    """What is known of a plan on a problem, and what is advised.

    launch_share: of the time, measured or else predicted. specialised: whether warps have roles at all. worth: None
    where that is not known. Where the family does not tell its phases, what stands below `reasons` is missing.
    load, compute: clocks of one stage by term. split: producer and consumer warps that the work asks for.
    needed_stages: the fewest that hide the latency (None: no ring does); fitting_stages: the most that leave the CTAs
    per SM as they are. reserve: how much faster stages come than they are used. rooms: CTAs per SM by what
    allows them. gain: how much longer the fastest way without specialised warps takes, as a part.
    """

    label: str
    extents: Mapping[str, int]
    predicted: Prediction
    measured: float | None = None  # seconds
    launch_share: float = 0.0
    specialised: bool = True
    worth: bool | None = None
    verdict: str = ""
    reasons: tuple[str, ...] = ()
    phases: Phases | None = None
    load: Mapping[str, float] = field(default_factory=dict)
    compute: Mapping[str, float] = field(default_factory=dict)
    split: tuple[int, int] | None = None
    needed_stages: int | None = None
    fitting_stages: int = 0
    reserve: float = 0.0
    shared_bytes: int = 0
    rooms: Mapping[str, int] = field(default_factory=dict)
    gain: float | None = None
    alternatives: tuple[Alternative, ...] = ()

    @property
    def seconds(self) -> float:
        """Measured, else predicted."""
        return self.predicted.seconds if self.measured is None else self.measured

    @property
    def without(self) -> Alternative | None:
        """The fastest way without specialised warps; of equal ones that with fewer buffers."""
        ways = [way for way in self.alternatives if not way.specialised]
        return min(ways, key=lambda way: way.seconds, default=None)


def advise(
    plan: Plan, extents: Mapping[str, int], measured: float | None = None, device: Device | None = None
) -> Advice:
    """Weigh a legal plan on a problem ({"M": 4096, ...}); `measured` are seconds. ValueError for an illegal plan."""
    device = device or archs.device(plan.arch)
    chosen = target(plan.family, plan.arch)
    predicted = chosen.predict(plan, extents, device)
    share = device.launch_seconds / (predicted.seconds if measured is None else measured)
    roles = any(len(kernel.roles) > 1 for kernel in plan.kernels)
    found = Advice(plan.label, extents, predicted, measured, share, roles)
    if not all(predicted.counts.values()):
        return dataclasses.replace(found, worth=False, verdict="nothing to compute: the kernel is not launched")
    phases = None if chosen.phases is None else chosen.phases(plan, extents, device)
    if phases is not None:
        found = dataclasses.replace(
            found,
            phases=phases,
            load=phases.load_terms(device),
            compute=phases.compute_terms(device),
            split=phases.split(device),
            needed_stages=phases.needed(device, phases.resident),
            fitting_stages=_fitting(plan.main, arch(plan.arch), phases),
            reserve=phases.bound(device) / phases.waiting(phases.stages, phases.resident) if phases.latency else 0.0,
            shared_bytes=plan.main.shared_bytes,
            rooms=rooms(plan.main, arch(plan.arch)),
            alternatives=tuple(_alternatives(plan.main, arch(plan.arch), phases, device)),
        )
        if found.without is not None:
            found = dataclasses.replace(found, gain=found.without.seconds / predicted.seconds - 1)
    worth, words = verdict(found, device)
    return dataclasses.replace(found, worth=worth, verdict=words, reasons=tuple(reasons(found, device)))


def _shared(kernel: KernelPlan, phases: Phases, stages: int) -> int:
    """Bytes of shared memory with a ring of `stages`, all else being equal."""
    return kernel.shared_bytes + (stages - phases.stages) * (phases.stage_bytes + _BARRIERS)


def _buffers(number: int) -> str:
    return f"{number} buffer{'' if number == 1 else 's'}"


def _room(limits: Arch, shared: int) -> int:
    """CTAs of so many bytes that an SM's shared memory holds."""
    return limits.shared_per_sm // (shared + limits.shared_reserved)


def _fitting(kernel: KernelPlan, limits: Arch, phases: Phases) -> int:
    """The most stages that fit, with as many CTAs per SM as were promised."""
    share = limits.shared_per_sm // (kernel.ctas_per_sm or 1) - limits.shared_reserved
    left = min(limits.shared_bytes, share) - kernel.shared_bytes
    return phases.stages + max(0, left) // (phases.stage_bytes + _BARRIERS)


def _alternatives(kernel: KernelPlan, limits: Arch, phases: Phases, device: Device) -> Iterator[Alternative]:
    planned = phases.overlapped(device, phases.stages, phases.resident)

    def way(name: str, buffers: int, specialised: bool, seconds: float, resident: int) -> Alternative:
        shared = _shared(kernel, phases, buffers)
        return Alternative(name, buffers, specialised, seconds, planned / seconds - 1, resident, shared)

    work = -(-phases.pieces // device.sms)  # CTAs of an SM that have something to do
    tensor = kernel.tensor_memory  # four warps read all of its lanes; a CTA whose columns are taken waits
    threads = _WARP * max(phases.consumer_warps, 4 if tensor else 1)
    columns = limits.tensor_columns // tensor.columns if tensor else limits.ctas_per_sm
    fits, needed = _fitting(kernel, limits, phases), phases.needed(device, phases.resident)
    hiding = needed if needed is not None and _shared(kernel, phases, needed) <= limits.shared_bytes else phases.stages
    for known in phases.without:
        name = f"all warps load and compute, {_buffers(known.buffers)}"
        gain = planned / known.seconds - 1
        yield Alternative(name, known.buffers, False, known.seconds, gain, known.resident, known.shared_bytes)
    for buffers in () if phases.without else sorted({1, 2, hiding, phases.stages}):
        rooms: tuple[int, ...] = (
            _room(limits, _shared(kernel, phases, buffers)),
            limits.registers // (threads * phases.registers),
            limits.threads_per_sm // threads,
            min(limits.ctas_per_sm, columns),
            work,
        )
        resident = max(1, min(rooms))
        seconds = phases.in_turn(device, buffers, resident)
        yield way(f"all warps load and compute, {_buffers(buffers)}", buffers, False, seconds, resident)
    depths = {phases.stages - 1, phases.stages + 1, hiding, fits} - {phases.stages}
    for stages in sorted(depths):
        shared = _shared(kernel, phases, stages)
        resident = min(phases.resident, _room(limits, shared))
        if stages >= 2 and resident:  # that one CTA has room is also the limit of its shared memory
            seconds = phases.overlapped(device, stages, resident)
            yield way(f"{stages} stages", stages, True, seconds, resident)
    more = phases.resident + 1
    rooms = (
        _room(limits, kernel.shared_bytes),
        limits.registers // (kernel.threads * phases.registers),
        limits.threads_per_sm // kernel.threads,
        min(columns, work),
    )
    if kernel.ctas_per_sm == phases.resident and more <= min(rooms):
        seconds = phases.overlapped(device, phases.stages, more)
        yield way("one CTA more per SM", phases.stages, True, seconds, more)
