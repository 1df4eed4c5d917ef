"""What a run showed against what the plan says: arrivals, bytes, boxes, stages, registers, named barriers.

A kernel that computes the right numbers in another way than its plan says is *degraded*: the plan is what people
read and what the predictions are made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from warpwright.build.launch_capture import Launch
from warpwright.device.problems import Problem, tiling
from warpwright.emulate.machine import RESERVED
from warpwright.plan.dtypes import dtype
from warpwright.plan.types import Barrier, Plan

__all__ = ["Difference", "Seen", "check_launch", "check_plan"]

_SYNC_THREADS = 0  # hardware id of the barrier of all threads of a CTA


@dataclass(frozen=True, order=True)
class Difference:
    """One way in which the run differs from the plan."""

    rule: str
    expected: str
    found: str


@dataclass
class Seen:
    """What all runs of a variant showed together; `copies` by tensor: TMA instructions run and planned."""

    mbarriers: dict[int, dict[str, set[int]]] = field(default_factory=dict)  # by offset in dynamic shared memory
    named: dict[int, set[int]] = field(default_factory=dict)
    registers: dict[int, set[int]] = field(default_factory=dict)  # by warp
    multicast: dict[str, set[int]] = field(default_factory=dict)
    lanes: dict[str, set[int]] = field(default_factory=dict)
    copies: dict[str, set[tuple[int, int]]] = field(default_factory=dict)

    def add(
        self, plan: Plan, problem: Problem, parameters: Sequence[int], observed: Mapping[str, Mapping[Any, Any]]
    ) -> None:
        """Take in the observations of one complete run."""
        for offset, facts in observed["mbarriers"].items():
            known = self.mbarriers.setdefault(
                offset - RESERVED, {key: set() for key in ("counts", "arrivals", "bytes")}
            )
            for key, values in known.items():
                values |= facts[key]
        for identifier, threads in observed["named"].items():
            self.named.setdefault(identifier, set()).update(threads)
        for count, warps in observed["registers"].items():
            for warp in warps:
                self.registers.setdefault(warp, set()).add(count)
        for index, copy in zip(parameters, plan.tma, strict=True):
            facts = observed["tma"].get(index, {"multicast": (), "lanes": (), "copies": 0})
            self.multicast.setdefault(copy.tensor, set()).update(facts["multicast"])
            self.lanes.setdefault(copy.tensor, set()).update(facts["lanes"])
            planned = _planned_elements(plan, copy.tensor, problem) // prod(copy.box)
            unread = copy.tensor == "c" and bool(problem.zero)
            self.copies.setdefault(copy.tensor, set()).add((facts["copies"], 0 if unread else planned))


def _planned_elements(plan: Plan, tensor: str, problem: Problem) -> int:
    """Elements of `tensor` that the CTAs of a GEMM copy, boxes shared by several CTAs counted once."""
    if tensor == "d":
        return _stored_elements(plan, problem)
    t = tiling(plan)
    clusters = -(-problem.m // (t.m * t.cluster_m)) * -(-problem.n // (t.n * t.cluster_n)) * problem.l
    depth = -(-problem.k // t.k) * t.k
    tile = {"a": t.m * depth, "b": t.n * depth}.get(tensor, t.m * t.n)
    shared = {"a": t.cluster_n, "b": t.cluster_m}.get(tensor, 1)
    return clusters * t.cluster_m * t.cluster_n * tile // shared


def _stored_elements(plan: Plan, problem: Problem) -> int:
    """Elements of the boxes of D that are stored: those that begin before the last whole 16 bytes of a row."""
    t = tiling(plan)
    box = next(buffer.shape[:2] for buffer in plan.buffers if buffer.name == "d")
    output = next(argument for argument in plan.arguments if argument.output)
    per_chunk = output.alignment // dtype(output.dtype).bytes
    covered = [
        -(-extent // (tile * ctas)) * tile * ctas
        for extent, tile, ctas in ((problem.m, t.m, t.cluster_m), (problem.n, t.n, t.cluster_n))
    ]
    edge = 0 if output.contiguous == "M" else 1
    whole = (problem.m, problem.n)[edge] // per_chunk * per_chunk
    covered[edge] = -(-whole // box[edge]) * box[edge]
    return prod(covered) * problem.l


def check_launch(plan: Plan, launch: Launch) -> list[Difference]:
    """Compare a launch with the plan."""
    pairs = [
        ("threads", plan.threads, prod(launch.block)),
        ("cluster", plan.cluster, launch.cluster[:2]),
        ("shared memory", plan.shared_bytes, launch.shared_bytes),
    ]
    return [Difference(f"launch: {rule}", str(want), str(got)) for rule, want, got in pairs if want != got]


def check_plan(plan: Plan, seen: Seen) -> list[Difference]:
    """Compare what all runs of a variant showed with the plan; every difference once, sorted."""
    return sorted({*_mbarriers(plan, seen), *_named(plan, seen), *_registers(plan, seen), *_tma(plan, seen)})


def _mbarriers(plan: Plan, seen: Seen) -> Iterable[Difference]:
    offsets = {buffer.name: buffer.offset for buffer in plan.buffers}
    planned: dict[int, tuple[Barrier, int]] = {
        offsets[barrier.buffer] + 8 * stage: (barrier, stage)
        for barrier in plan.barriers
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
        if facts["bytes"] != {barrier.transaction_bytes}:
            yield Difference(f"{name}: bytes per phase", str(barrier.transaction_bytes), _list(facts["bytes"]))


def _named(plan: Plan, seen: Seen) -> Iterable[Difference]:
    planned = {identifier: b for b in plan.barriers if b.kind == "named" for identifier in b.ids}
    for identifier in sorted({*planned, *seen.named}):
        barrier, threads = planned.get(identifier), seen.named.get(identifier, set())
        expected = {barrier.arrivals} if barrier else set()
        if identifier == _SYNC_THREADS and not barrier:
            expected = {plan.threads}  # the barrier of the whole CTA needs no place in a plan
        if threads != expected:
            name = f"named barrier {identifier}{f' ({barrier.name})' if barrier else ''}: threads"
            yield Difference(name, _list(expected), _list(threads))


def _registers(plan: Plan, seen: Seen) -> Iterable[Difference]:
    for role in plan.roles:
        expected = set() if role.registers is None else {role.registers}
        for warp in range(role.first_warp, role.first_warp + role.warps):
            found = seen.registers.get(warp, set())
            if found != expected:
                yield Difference(f"{role.name}: registers after setmaxnreg", _list(expected), _list(found))


def _tma(plan: Plan, seen: Seen) -> Iterable[Difference]:
    for copy in plan.tma:
        what = f"TMA {copy.direction} of {copy.tensor}"
        if seen.multicast[copy.tensor] - {copy.multicast}:
            yield Difference(
                f"{what}: CTAs that receive a box", str(copy.multicast), _list(seen.multicast[copy.tensor])
            )
        wrong = sorted((want, got) for got, want in seen.copies[copy.tensor] if got != want)
        if wrong:
            yield Difference(f"{what}: boxes of {copy.box}", *map(str, wrong[0]))


def _list(values: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(values))) or "none"
