"""What a run showed against what the plan says: arrivals, bytes, boxes, stages, registers, named barriers.

A kernel that computes the right numbers in another way than its plan says is *degraded*: the plan is what people
read and what the predictions are made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from warpwright.device.problem import Problem
from warpwright.dtypes import dtype
from warpwright.emulate.machine.addresses import RESERVED
from warpwright.emulate.variant.check_tensor_memory import SeenTensorMemory, check_tensor_memory
from warpwright.emulate.variant.tensor_maps import mapped
from warpwright.families import workload
from warpwright.plan.types import Barrier, Copy, KernelPlan, Plan

__all__ = ["Difference", "Seen", "SeenKernel", "check_plan"]

_SYNC_THREADS = 0  # hardware id of the barrier of all threads of a CTA


@dataclass(frozen=True, order=True)
class Difference:
    """One way in which the run differs from the plan."""

    rule: str
    expected: str
    found: str


@dataclass
class SeenKernel:
    """What all runs of one kernel showed together.

    `boxes` by tensor: instructions run through its tensor map, and planned. `bulk` by direction: bytes likewise.
    `multicast` by tensor or direction.
    """

    kernel: KernelPlan
    mbarriers: dict[int, dict[str, set[int]]] = field(default_factory=dict)  # by offset in dynamic shared memory
    named: dict[int, set[int]] = field(default_factory=dict)
    registers: dict[int, set[int]] = field(default_factory=dict)  # by warp
    multicast: dict[str, set[int]] = field(default_factory=dict)
    boxes: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    bulk: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    tensor: SeenTensorMemory = field(default_factory=SeenTensorMemory)

    def add(
        self, copied: Mapping[str, int], parameters: Sequence[int], observed: Mapping[str, Mapping[Any, Any]]
    ) -> None:
        """Take in the observations of one complete run; `copied`: elements that it had to copy, by tensor."""
        for offset, facts in observed["mbarriers"].items():
            known = self.mbarriers.setdefault(
                offset - RESERVED, {key: set() for key in ("counts", "arrivals", "bytes", "ranks")}
            )
            for key, values in known.items():
                values |= facts[key]
        for identifier, threads in observed["named"].items():
            self.named.setdefault(identifier, set()).update(threads)
        for count, warps in observed["registers"].items():
            for warp in warps:
                self.registers.setdefault(warp, set()).add(count)
        for index, copy in zip(parameters, mapped(self.kernel), strict=True):
            facts = observed["tma"].get(index, {"multicast": (), "copies": 0})
            self.multicast.setdefault(copy.tensor, set()).update(facts["multicast"])
            planned = copied[copy.tensor] // prod(copy.box)
            self.boxes.setdefault(copy.tensor, set()).add((facts["copies"], planned))
        for way in ("load", "store"):
            copies = _bulk(self.kernel, way)
            facts = observed.get("bulk", {}).get(way, {"multicast": (), "bytes": 0})
            planned = sum(copied[copy.tensor] * dtype(copy.dtype).bits // 8 for copy in copies)
            self.multicast.setdefault(way, set()).update(facts["multicast"])
            self.bulk.setdefault(way, set()).add((facts["bytes"], planned))
        phases = {offset - RESERVED: facts["phases"] for offset, facts in observed["mbarriers"].items()}
        self.tensor.add(self.kernel, phases, observed)


@dataclass
class Seen:
    """What all runs of a variant showed together, per kernel of its plan."""

    plan: Plan
    kernels: tuple[SeenKernel, ...]

    @classmethod
    def of(cls, plan: Plan) -> Seen:
        """Nothing yet."""
        return cls(plan, tuple(SeenKernel(kernel) for kernel in plan.kernels))

    def add(
        self, problem: Problem, parameters: Sequence[Sequence[int]], observed: Sequence[Mapping[str, Mapping[Any, Any]]]
    ) -> None:
        """Take in one complete run of a problem: per kernel, its parameters that are tensor maps and what it showed."""
        copied = workload(self.plan.family).copied(self.plan, problem)
        for kernel, maps, facts in zip(self.kernels, parameters, observed, strict=True):
            kernel.add(copied, maps, facts)


def check_plan(seen: Seen) -> list[Difference]:
    """Compare what all runs of a variant showed with the plan; every difference once, sorted."""
    found = set()
    for each in seen.kernels:
        whose = f"{each.kernel.name}: " if len(seen.kernels) > 1 else ""
        for check in (_mbarriers, _named, _registers, _tensor_copies, _bulk_copies):
            found |= {replace(difference, rule=whose + difference.rule) for difference in check(each)}
        found |= {Difference(whose + rule, *told) for rule, *told in check_tensor_memory(each.kernel, each.tensor)}
    return sorted(found)


def _mbarriers(seen: SeenKernel) -> Iterable[Difference]:
    offsets = {buffer.name: buffer.offset for buffer in seen.kernel.buffers if buffer.space == "shared"}
    planned: dict[int, tuple[Barrier, int]] = {
        offsets[barrier.buffer] + 8 * stage: (barrier, stage)
        for barrier in seen.kernel.barriers
        if barrier.kind == "mbarrier"
        for stage in range(barrier.stages)
    }
    for offset in sorted(set(seen.mbarriers) - set(planned)):
        yield Difference("mbarriers", "none beside the plan's", f"one at offset {offset}")
    for offset, (barrier, stage) in planned.items():
        name, facts = f"{barrier.name}[{stage}]", seen.mbarriers.get(offset)
        if facts is None:
            yield Difference(f"{name}: initialised", "yes", "no")
            continue
        if facts["counts"] != {barrier.arrivals}:
            yield Difference(f"{name}: arrival count", str(barrier.arrivals), _list(facts["counts"]))
        if facts["arrivals"] != {barrier.arrivals}:
            yield Difference(f"{name}: arrivals per phase", str(barrier.arrivals), _list(facts["arrivals"]))
        most = barrier.transaction_bytes
        if barrier.partial:
            if not facts["bytes"] or max(facts["bytes"]) > most:
                yield Difference(f"{name}: bytes per phase", f"at most {most}", _list(facts["bytes"]))
        elif facts["bytes"] != {most}:
            yield Difference(f"{name}: bytes per phase", str(most), _list(facts["bytes"]))
        if barrier.pair and facts["ranks"] != {0}:
            told = {(): "no CTA's", (0,): "the leader's", (1,): "its peer's", (0, 1): "that of both CTAs"}
            yield Difference(f"{name}: used of a pair", told[0,], told[tuple(sorted(facts["ranks"]))])


def _named(seen: SeenKernel) -> Iterable[Difference]:
    planned = {identifier: b for b in seen.kernel.barriers if b.kind == "named" for identifier in b.ids}
    for identifier in sorted({*planned, *seen.named}):
        barrier, threads = planned.get(identifier), seen.named.get(identifier, set())
        expected = {barrier.arrivals} if barrier else set()
        if identifier == _SYNC_THREADS and not barrier:
            expected = {seen.kernel.threads}  # the barrier of the whole CTA needs no place in a plan
        if threads != expected:
            name = f"named barrier {identifier}{f' ({barrier.name})' if barrier else ''}: threads"
            yield Difference(name, _list(expected), _list(threads))


def _registers(seen: SeenKernel) -> Iterable[Difference]:
    for role in seen.kernel.roles:
        expected = set() if role.registers is None else {role.registers}
        for warp in range(role.first_warp, role.first_warp + role.warps):
            found = seen.registers.get(warp, set())
            if found != expected:
                yield Difference(f"{role.name}: registers after setmaxnreg", _list(expected), _list(found))


def _tensor_copies(seen: SeenKernel) -> Iterable[Difference]:
    for copy in mapped(seen.kernel):
        what = f"TMA {copy.direction} of {copy.tensor}"
        if seen.multicast[copy.tensor] - {copy.multicast}:
            yield Difference(
                f"{what}: CTAs that receive a box", str(copy.multicast), _list(seen.multicast[copy.tensor])
            )
        wrong = sorted((want, got) for got, want in seen.boxes[copy.tensor] if got != want)
        if wrong:
            yield Difference(f"{what}: boxes of {copy.box}", *map(str, wrong[0]))


def _bulk(kernel: KernelPlan, way: str) -> list[Copy]:
    return [copy for copy in kernel.copies if copy.kind == "bulk" and copy.direction == way]


def _bulk_copies(seen: SeenKernel) -> Iterable[Difference]:
    for way in ("load", "store"):
        copies = _bulk(seen.kernel, way)
        what = f"bulk {way}" + (f" of {', '.join(copy.tensor for copy in copies)}" if copies else "")
        planned = {copy.multicast for copy in copies}
        if copies and seen.multicast[way] - planned:
            yield Difference(f"{what}: CTAs that receive a run", _list(planned), _list(seen.multicast[way]))
        wrong = sorted((want, got) for got, want in seen.bulk[way] if got != want)
        if wrong:
            yield Difference(f"{what}: bytes", *map(str, wrong[0]))


def _list(values: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(values))) or "none"
