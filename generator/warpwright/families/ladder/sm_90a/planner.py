"""Plans a rung: the GEMM that it is, or the kernel of one role that comes before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from warpwright.families.gemm.parts.interface import arguments
from warpwright.families.gemm.parts.limits import limits
from warpwright.families.gemm.sm_90a.planner import plan as plan_gemm
from warpwright.families.gemm.sm_90a.work import barriers, copies, mma
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.families.ladder.sm_90a.constants import constants
from warpwright.families.ladder.sm_90a.label import label
from warpwright.families.ladder.sm_90a.rules import RULES
from warpwright.families.ladder.sm_90a.solution import Solution, canonical, memory, solve
from warpwright.families.ladder.workload.design import LadderDesign
from warpwright.plan.types import Barrier, Copy, KernelPlan, Plan, Role
from warpwright.point import Point

__all__ = ["plan", "resolved"]

_MOST_REGISTERS = 255


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    s = solve(point)
    violations = RULES.violations(s)
    kernel = canonical(point, s.solved.computed.canonical)
    if violations:
        return Plan("ladder", point.arch, label(s), kernel, point.design.model_dump(mode="json"), violations)
    if s.one_role:
        return _one_role(s, point.arch, kernel)
    found = plan_gemm(s.point)
    return replace(found, family="ladder", label=label(s), kernel=kernel, design=_design(found.design, s.number))


def resolved(plan: Plan) -> Mapping[str, Any]:
    """What the design's open choices became, by their paths in a file."""
    return {"design.stages": plan.design.stages}


def _design(same: GemmDesign, rung: int) -> LadderDesign:
    return LadderDesign(**{field.name: getattr(same, field.name) for field in fields(same)}, rung=rung)


def _one_role(s: Solution, arch: str, computed: Mapping[str, Any]) -> Plan:
    a, tiles, output, _, ring = s.solved
    buffers, shared_bytes = memory(s)
    duty = "loads, computes and stores in turn"
    kernel = KernelPlan(
        name="gemm_kernel",
        threads=128,
        cluster=(1, 1, 1),
        shared_bytes=shared_bytes,
        entry_registers=_MOST_REGISTERS,
        buffers=buffers,
        barriers=_barriers(s),
        roles=(Role("all", 0, 4, None, duty),),
        copies=_copies(s),
        mmas=(mma(s.solved),),
    )
    design = LadderDesign(
        tile_m=a.tile_m,
        tile_n=a.tile_n,
        tile_k=a.tile_k,
        cluster_m=1,
        cluster_n=1,
        stages=ring.stages,
        producer_warps=0,
        consumers=tiles.consumers,
        schedule="cooperative",
        producer_registers=None,
        consumer_registers=None,
        persistent=s.number == 1,
        raster=a.raster,
        group=a.group,
        store="tma" if a.by_tma else "direct",
        subtile_n=output.subtile_n,
        subtile_stages=output.subtile_stages,
        c_stages=0,
        rung=s.number,
    )
    return Plan(
        family="ladder",
        arch=arch,
        label=label(s),
        kernel=computed,
        design=design,
        entry="gemm",
        kernels=(kernel,),
        constants=constants(s),
        arguments=arguments(s.solved.computed, True, False),  # all rungs are called alike
        limits=limits(a),
    )


def _barriers(s: Solution) -> tuple[Barrier, ...]:
    """Without those that a producer and its consumers have between them."""
    found = []
    for barrier in barriers(s.solved):
        if barrier.name == "ab_full" and s.loads_by_tma:
            found.append(replace(barrier, waits="all", arrives="warp 0: arrive.expect_tx, then TMA"))
        elif barrier.name == "epilogue":
            found.append(replace(barrier, waits="all", arrives="all threads"))
    return tuple(found)


def _copies(s: Solution) -> tuple[Copy, ...]:
    return tuple(copy for copy in copies(s.solved) if s.loads_by_tma or copy.direction == "store")
