"""What a run showed of tensor memory against its plan: who allocates, frees and gives up the permit, and the MMAs.

Pure functions; differences are (rule, expected, found), as `check_plan` tells them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from warpwright.emulate.variant.names import role_names
from warpwright.plan.types import KernelPlan

__all__ = ["SeenTensorMemory", "check_tensor_memory"]

#: The hand-over of a stage of operands to the MMAs.
_LOADED = "loaded"
#: Bits of an instruction descriptor that say which of a column's scale factors, of B and of A, an MMA takes.
_IDS = 3 << 4 | 3 << 29
#: Roles of this name issue MMAs, and no others do.
_ISSUES = "consumer"


@dataclass
class SeenTensorMemory:
    """What all runs of one kernel showed together.

    allocated, freed: (warp, columns, CTAs). permit: warps that gave it up. mmas: (descriptor, warp). stages: for each
    warp that issues MMAs and each run, how many it issued, and planned.
    """

    allocated: set[tuple[int, int, int]] = field(default_factory=set)
    freed: set[tuple[int, int, int]] = field(default_factory=set)
    permit: set[int] = field(default_factory=set)
    mmas: set[tuple[int, int]] = field(default_factory=set)
    stages: dict[int, set[tuple[int, int]]] = field(default_factory=dict)

    def add(self, kernel: KernelPlan, phases: Mapping[int, int], observed: Mapping[str, Mapping[Any, Any]]) -> None:
        """Take in one complete run; `phases` by offset of an mbarrier: how many it had in all CTAs."""
        memory, mmas = observed.get("tensor-memory", {}), observed.get("tensor-mmas", {})
        self.allocated |= memory.get("allocated", set())
        self.freed |= memory.get("freed", set())
        self.permit |= memory.get("permit", set())
        issued: dict[int, int] = {}
        for descriptor, warps in mmas.items():
            for warp, number in warps.items():
                self.mmas.add((descriptor, warp))
                issued[warp] = issued.get(warp, 0) + number
        stages = _stages(kernel, phases)
        if stages is not None and kernel.tensor_memory:
            per_stage = sum(mma.per_stage for mma in kernel.mmas)
            for warp in {*issued, *_issuers(kernel)}:
                self.stages.setdefault(warp, set()).add((issued.get(warp, 0), per_stage * stages))


def _stages(kernel: KernelPlan, phases: Mapping[int, int]) -> int | None:
    """How many stages of operands were loaded; None where the plan has no such hand-over."""
    starts = {buffer.name: buffer.offset for buffer in kernel.buffers if buffer.space == "shared"}
    loaded = [barrier for barrier in kernel.barriers if barrier.name == _LOADED and barrier.buffer in starts]
    if not loaded:
        return None
    return sum(phases.get(starts[b.buffer] + 8 * stage, 0) for b in loaded for stage in range(b.stages))


def _issuers(kernel: KernelPlan) -> set[int]:
    roles = [role for role in kernel.roles if role.name.split()[0] == _ISSUES]
    return {warp for role in roles for warp in range(role.first_warp, role.first_warp + role.warps)}


def check_tensor_memory(kernel: KernelPlan, seen: SeenTensorMemory) -> Iterator[tuple[str, str, str]]:
    """Yield every difference as (rule, expected, found)."""
    planned, role = kernel.tensor_memory, role_names(kernel)
    if planned is None:
        if seen.allocated or seen.mmas:
            yield "tensor memory", "none", "it is used"
        return
    for what, who in (("allocated", planned.allocates), ("freed", planned.frees)):
        found = sorted(getattr(seen, what))
        sizes = {f"{columns} columns by {'a pair' if ctas == 2 else 'a CTA'}" for _, columns, ctas in found}
        wanted = f"{planned.columns} columns by {'a pair' if planned.ctas == 2 else 'a CTA'}"
        if sizes != {wanted}:
            yield f"tensor memory: {what}", wanted, ", ".join(sorted(sizes)) or "nothing"
        yield from _by_one_warp(f"tensor memory: {what} by", who, {warp for warp, *_ in found}, role)
    yield from _by_one_warp("tensor memory: permit given up by", planned.allocates, seen.permit, role)
    yield from _mmas(kernel, seen)


def _by_one_warp(rule: str, who: str, warps: Iterable[int], role: Any) -> Iterator[tuple[str, str, str]]:
    found = sorted(warps)
    if [role(warp) for warp in found] != [who]:
        told = ", ".join(f"warp {warp} ({role(warp) or 'no role'})" for warp in found)
        yield rule, f"one warp ({who})", told or "nobody"


def _mmas(kernel: KernelPlan, seen: SeenTensorMemory) -> Iterator[tuple[str, str, str]]:
    issuers, found = _issuers(kernel), {warp for _, warp in seen.mmas}
    if issuers and found != issuers:
        yield "MMAs: issued by warps", _listed(issuers), _listed(found)
    descriptors = {mma.descriptor for mma in kernel.mmas}
    scaled = any(".block_scale" in mma.instruction for mma in kernel.mmas)
    ran = {descriptor & ~(_IDS if scaled else 0) for descriptor, _ in seen.mmas}
    if None not in descriptors and ran != descriptors:
        yield "MMAs: instruction descriptors", _words(descriptors), _words(ran)
    for warp, runs in sorted(seen.stages.items()):
        wrong = sorted((want, got) for got, want in runs if got != want)
        if wrong and warp in issuers:
            want, got = wrong[0]
            yield f"MMAs: of warp {warp}, for the stages that were loaded", str(want), str(got)


def _words(descriptors: Iterable[int | None]) -> str:
    return ", ".join(f"{each:#x}" for each in sorted(each or 0 for each in descriptors)) or "none"


def _listed(values: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(values))) or "none"
