"""Plans a warp-specialised GEMM for Hopper: TMA ring, wgmma consumers, epilogue through shared memory.

Data flow: producer warps -> (ab_full) -> consumer warpgroups -> (ab_empty) -> producer warps, and the same once
more for C where the epilogue reads it. Every number that the template prints is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from warpwright.families.gemm.parts.interface import arguments
from warpwright.families.gemm.parts.limits import limits
from warpwright.families.gemm.sm_90a.asked import asked
from warpwright.families.gemm.sm_90a.budgets import BUDGET
from warpwright.families.gemm.sm_90a.constants import constants
from warpwright.families.gemm.sm_90a.label import label
from warpwright.families.gemm.sm_90a.ring import buffers, size
from warpwright.families.gemm.sm_90a.shapes import SHAPE
from warpwright.families.gemm.sm_90a.solution import Solution, solve
from warpwright.families.gemm.sm_90a.tiles import WARPS
from warpwright.families.gemm.sm_90a.work import barriers, copies, mma, roles
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.plan.rule import Rule
from warpwright.plan.types import KernelPlan, Plan
from warpwright.point import Point

__all__ = ["RULES", "plan", "resolved"]


#: In the order of evaluation.
RULES: tuple[Rule[Any], ...] = (*SHAPE.rules, *BUDGET.rules)


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    solution = solve(asked(point))
    a, t, o, w, r = solution
    violations = SHAPE.violations(solution) or BUDGET.violations(solution)
    canonical = solution.computed.canonical
    if violations:
        return Plan("gemm", point.arch, label(solution), canonical, point.design.model_dump(mode="json"), violations)
    kernel = KernelPlan(
        name="gemm_kernel",
        threads=w.threads,
        cluster=(a.cluster_m, a.cluster_n, 1),
        shared_bytes=size(a, t, o, r.stages),
        entry_registers=w.entry_registers,
        buffers=buffers(a, t, o, r),
        barriers=barriers(solution),
        roles=roles(solution),
        copies=copies(solution),
        mmas=(mma(solution),),
    )
    found = Plan(
        family="gemm",
        arch=point.arch,
        label=label(solution),
        kernel=canonical,
        design=_design(solution),
        entry="gemm",
        kernels=(kernel,),
        constants=constants(solution),
        arguments=arguments(solution.computed, a.by_tma, a.persistent),
        limits=limits(a),
    )
    return found


def resolved(plan: Plan) -> Mapping[str, Any]:
    """What the design's open choices became, by their paths in a file."""
    design: GemmDesign = plan.design
    registers: Any = "none"
    if design.consumer_registers is not None:
        registers = {"producer": design.producer_registers, "consumer": design.consumer_registers}
    return {
        "design.consumer_warps": WARPS * design.consumers,
        "design.epilogue_warps": WARPS * design.consumers,
        "design.accumulator_stages": 1,
        "design.stages": design.stages,
        "design.registers": registers,
        "design.epilogue_n": design.subtile_n,
        "design.epilogue_stages": design.subtile_stages,
    }


def _design(s: Solution) -> GemmDesign:
    a, t, o, w, r = s
    producer, consumer = w.split or (None, None)
    return GemmDesign(
        tile_m=a.tile_m,
        tile_n=a.tile_n,
        tile_k=a.tile_k,
        cluster_m=a.cluster_m,
        cluster_n=a.cluster_n,
        stages=r.stages,
        producer_warps=a.producer_warps,
        consumers=t.consumers,
        schedule="pingpong" if a.pingpong else "cooperative",
        producer_registers=producer,
        consumer_registers=consumer,
        persistent=a.persistent,
        raster=a.raster,
        group=a.group,
        store="tma" if a.by_tma else "direct",
        subtile_n=o.subtile_n,
        subtile_stages=o.subtile_stages,
        c_stages=o.c_stages,
    )
