"""Plans a warp-specialised GEMM for Blackwell: TMA ring, tcgen05 into tensor memory, epilogue warps beside.

Data flow, in four hand-overs: producer -> (loaded) -> consumer -> (accumulated) -> epilogue, and back: consumer ->
(consumed) -> producer, epilogue -> (drained) -> consumer. Every number that the template prints is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from warpwright.families.gemm.parts.interface import arguments
from warpwright.families.gemm.parts.limits import limits
from warpwright.families.gemm.sm_100a.asked import asked
from warpwright.families.gemm.sm_100a.budgets import BUDGET
from warpwright.families.gemm.sm_100a.constants import constants
from warpwright.families.gemm.sm_100a.label import label
from warpwright.families.gemm.sm_100a.ring import size
from warpwright.families.gemm.sm_100a.shapes import SHAPE
from warpwright.families.gemm.sm_100a.solution import Solution, solve
from warpwright.families.gemm.sm_100a.work import barriers, copies, mmas, roles, tensor_buffers, tensor_memory
from warpwright.families.gemm.workload.design import TensorDesign
from warpwright.plan.rule import Rule
from warpwright.plan.types import KernelPlan, Plan
from warpwright.point import Point

__all__ = ["RULES", "design_of", "made", "plan", "resolved"]

#: In the order of evaluation; the first one, of the arch, goes before all others.
RULES: tuple[Rule[Any], ...] = (*SHAPE.rules, *BUDGET.rules)


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    s = solve(asked(point))
    first = SHAPE.rules[0].check(s)
    violations = (first,) if first else SHAPE.violations(s) or BUDGET.violations(s)
    canonical = s.computed.canonical
    if violations:
        return Plan("gemm", point.arch, label(s), canonical, point.design.model_dump(mode="json"), violations)
    return made(s, point.arch)


def made(s: Solution, arch: str) -> Plan:
    """Return the plan of a solution; whether it breaks rules is not asked."""
    a = s.asked
    kernel = KernelPlan(
        name="gemm_kernel",
        threads=s.warps.threads,
        cluster=(a.cluster_m, a.cluster_n, 1),
        shared_bytes=size(s.buffers),
        entry_registers=s.warps.entry_registers,
        buffers=(*s.buffers, *tensor_buffers(s)),
        barriers=barriers(s),
        roles=roles(s),
        copies=copies(s),
        mmas=mmas(s),
        tensor_memory=tensor_memory(s),
    )
    return Plan(
        family="gemm",
        arch=arch,
        label=label(s),
        kernel=s.computed.canonical,
        design=design_of(s),
        entry="gemm",
        kernels=(kernel,),
        constants=constants(s),
        arguments=arguments(s.computed, a.by_tma, a.persistent),
        limits=limits(a),
    )


def resolved(plan: Plan) -> Mapping[str, Any]:
    """What the design's open choices became, by their paths in a file."""
    design: TensorDesign = plan.design
    return {
        "design.stages": design.stages,
        "design.registers": "none",
        "design.consumer_warps": design.consumers,
        "design.epilogue_warps": design.epilogue_warps,
        "design.accumulator_stages": design.accumulator_stages,
        "design.epilogue_n": design.subtile_n,
        "design.epilogue_stages": design.subtile_stages,
    }


def design_of(s: Solution) -> TensorDesign:
    """Return the design as it was resolved."""
    a, t, o, _, r, _ = s
    return TensorDesign(
        tile_m=a.tile_m,
        tile_n=a.tile_n,
        tile_k=a.tile_k,
        cluster_m=a.cluster_m,
        cluster_n=a.cluster_n,
        cta_group=cast(Any, a.cta_group),
        stages=r.stages,
        consumers=t.consumers,
        epilogue_warps=4 * t.warpgroups,
        accumulator_stages=t.stages,
        scheduler=a.scheduler,
        raster=a.raster,
        group=a.group,
        snake=a.snake,
        store="tma" if a.by_tma else "direct",
        subtile_n=o.subtile_n,
        subtile_stages=o.subtile_stages,
        c_stages=o.c_stages,
    )
