"""Plans a copy for Hopper: a ring of bulk loads, consumer warps that scale, and two ways out.

Data flow: producer warps -> (x_full) -> consumer warps -> (x_empty) -> producer warps. Every number that the template
prints is computed here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from warpwright.archs import SM90A
from warpwright.canonical import plain
from warpwright.families.copy.sm_90a.constants import constants
from warpwright.families.copy.sm_90a.label import label
from warpwright.families.copy.sm_90a.rules import RULES
from warpwright.families.copy.sm_90a.solution import Solution, buffers, solve
from warpwright.families.copy.workload.design import CopyDesign
from warpwright.plan.types import Argument, Barrier, Copy, KernelPlan, Plan, Role
from warpwright.point import Point

__all__ = ["plan", "resolved"]


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    s = solve(point)
    violations = RULES.violations(s)
    if violations:
        return Plan("copy", point.arch, label(s), s.computed.canonical, plain(point.design), violations)
    design = s.design
    kernel = KernelPlan(
        name="copy_kernel",
        threads=s.threads,
        cluster=(1, 1, 1),
        shared_bytes=s.shared_bytes,
        entry_registers=s.entry_registers,
        buffers=buffers(s),
        barriers=_barriers(s),
        roles=_roles(design.consumer_warps, design.producer_warps, s.slots > 0),
        copies=_copies(s),
        ctas_per_sm=design.ctas_per_sm,
    )
    return Plan(
        family="copy",
        arch=point.arch,
        label=label(s),
        kernel=s.computed.canonical,
        design=_design(s),
        entry="copy",
        kernels=(kernel,),
        constants=constants(s),
        arguments=_arguments(s.computed.x.name, s.computed.y.name, s.most_chunks * s.stage_elements),
    )


def resolved(plan: Plan) -> Mapping[str, int]:
    """What the design's open choices became, by their paths in a file."""
    return {"design.stages": plan.design.stages, "design.slots": plan.design.slots}


def _design(s: Solution) -> CopyDesign:
    design = s.design
    return CopyDesign(
        stage_elements=s.stage_elements,
        stages=s.stages,
        consumer_warps=design.consumer_warps,
        producer_warps=design.producer_warps,
        ctas_per_sm=design.ctas_per_sm,
        store=design.store,
        slots=s.slots,
    )


def _barriers(s: Solution) -> tuple[Barrier, ...]:
    stage = s.stage_elements * s.computed.x_bytes
    warps = s.design.consumer_warps
    return (
        Barrier("x_full", "mbarrier", s.stages, 1, stage, "consumer", "producer: arrive.expect_tx, then bulk copy",
                buffer="x_full", partial=True),
        Barrier("x_empty", "mbarrier", s.stages, warps, 0, "producer", "one lane per consumer warp", buffer="x_empty"),
    )  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _roles(consumers: int, producers: int, through_shared: bool) -> tuple[Role, ...]:
    way = "stores through shared memory" if through_shared else "stores from registers"
    return (
        Role("consumer", 0, consumers, None, f"multiplies by alpha, converts, {way}"),
        Role("producer", consumers, producers, None, "loads chunks of x into the ring"),
    )


def _copies(s: Solution) -> tuple[Copy, ...]:
    found = [Copy("x", "load", s.computed.x.name, (s.stage_elements,), "none", 1, 1, "x", "bulk")]
    if s.slots:
        found.append(Copy("y", "store", s.computed.y.name, (s.slice_elements,), "none", 1, 1, "y", "bulk"))
    return tuple(found)


@functools.lru_cache(maxsize=256)
def _arguments(x: str, y: str, most: int) -> tuple[Argument, ...]:
    alignment = SM90A.tma_alignment
    return (
        Argument("x", "vector", x, ("N",), "N", "input", alignment, "what is copied", most),
        Argument("y", "vector", y, ("N",), "N", "output", alignment, "alpha x", most, in_place="x" if x == y else ""),
        Argument("alpha", "scalar", "f32", meaning="alpha, by which x is multiplied"),
        Argument("max_ctas", "scalar", "i32", role="grid_limit", meaning="CTAs that the device holds at once"),
    )
