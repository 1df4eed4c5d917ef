"""Plans an SGEMM for Hopper: a ring of TMA loads, warps that multiply by FFMA, and D straight from their registers.

Data flow: producer warps -> (ab_full) -> consumer warps -> (ab_empty) -> producer warps. Without specialised warps all
of them load with cp.async, and __syncthreads takes the barriers' place. Every number that the template prints is
computed here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from warpwright.archs import SM90A
from warpwright.canonical import plain
from warpwright.families.sgemm.sm_90a.constants import constants
from warpwright.families.sgemm.sm_90a.label import label
from warpwright.families.sgemm.sm_90a.limits import limits
from warpwright.families.sgemm.sm_90a.rules import RULES
from warpwright.families.sgemm.sm_90a.solution import BYTES, Solution, buffers, solve, swizzle
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.types import Argument, Barrier, Copy, KernelPlan, Plan, Role
from warpwright.point import Point

__all__ = ["plan", "resolved"]


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    s = solve(point)
    violations = RULES.violations(s)
    if violations:
        return Plan("sgemm", point.arch, label(s), s.canonical, plain(point.design), violations)
    w, ctas = s.warps, s.design.ctas_per_sm
    kernel = KernelPlan(
        name="sgemm_kernel",
        threads=w.threads,
        cluster=(1, 1, 1),
        shared_bytes=s.shared_bytes,
        entry_registers=w.entry_registers,
        buffers=buffers(s),
        barriers=_barriers(s.stages, w.computing, s.stage_bytes) if s.specialised else (),
        roles=_roles(w.computing, w.producers, w.idle, w.split),
        copies=_copies(s) if s.specialised else (),
        ctas_per_sm=ctas if ctas > 1 else None,
    )
    return Plan(
        family="sgemm",
        arch=point.arch,
        label=label(s),
        kernel=s.canonical,
        design=_design(s),
        entry="sgemm",
        kernels=(kernel,),
        constants=constants(s),
        arguments=_arguments(s.kernel.a.major, s.kernel.b.major, s.kernel.bias),
        limits=limits(s.tile_m, s.tile_n),
    )


def resolved(plan: Plan) -> Mapping[str, Any]:
    """What the design's open choices became, by their paths in a file."""
    design: SgemmDesign = plan.design
    registers: Any = "none"
    if design.consumer_registers is not None:
        registers = {"producer": design.producer_registers, "consumer": design.consumer_registers}
    return {
        "design.lanes_m": design.lanes_m,
        "design.unroll": design.unroll,
        "design.stages": design.stages,
        "design.producer_warps": design.producer_warps,
        "design.registers": registers,
    }


def _design(s: Solution) -> SgemmDesign:
    design = s.design
    producer, consumer = s.warps.split or (None, None)
    return SgemmDesign(
        warps_m=design.warps.m,
        warps_n=design.warps.n,
        thread_m=design.thread.m,
        thread_n=design.thread.n,
        lanes_m=s.lanes_m,
        lane_order=design.lane_order,
        tile_k=design.tile_k,
        unroll=s.unroll,
        stages=s.stages,
        producer_warps=s.warps.producers,
        producer_registers=producer,
        consumer_registers=consumer,
        ctas_per_sm=design.ctas_per_sm,
        raster=design.raster,
        group=design.group,
    )


@functools.lru_cache(maxsize=1024)
def _barriers(stages: int, consumers: int, stage_bytes: int) -> tuple[Barrier, ...]:
    loads = "producer: arrive.expect_tx, then TMA"
    return (
        Barrier("ab_full", "mbarrier", stages, 1, stage_bytes, "consumer", loads, buffer="ab_full"),
        Barrier("ab_empty", "mbarrier", stages, consumers, 0, "producer", "one lane per consumer warp",
                buffer="ab_empty"),
    )  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _roles(computing: int, producers: int, idle: int, split: tuple[int, int] | None) -> tuple[Role, ...]:
    if not producers:
        return (Role("all", 0, computing, None, "load A and B into the ring, multiply, store D"),)
    producer, consumer = split or (None, None)
    found = [
        Role("consumer", 0, computing, consumer, "multiplies, stores D"),
        Role("producer", computing, producers, producer, "loads A and B into the ring"),
    ]
    if idle:
        found.append(Role("idle", computing + producers, idle, producer, "gives its registers up and exits"))
    return tuple(found)


def _copies(s: Solution) -> tuple[Copy, ...]:
    depth, found = s.design.tile_k, []
    for name, rows, extent, major in (("a", "M", s.tile_m, s.kernel.a.major), ("b", "N", s.tile_n, s.kernel.b.major)):
        box = (depth, extent, 1) if major == "k" else (extent, depth, 1)
        found.append(
            Copy(name, "load", "f32", box, swizzle(major, depth), 1, 1, name, modes=(rows, "K", "L")),
        )
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _arguments(a_major: str, b_major: str, bias: bool) -> tuple[Argument, ...]:
    aligned = SM90A.tma_alignment
    found = [
        Argument("a", "tensor", "f32", ("L", "M", "K"), a_major.upper(), "input", aligned, "A"),
        Argument("b", "tensor", "f32", ("L", "K", "N"), b_major.upper(), "input", aligned, "B"),
        Argument("d", "tensor", "f32", ("L", "M", "N"), "N", "output", aligned, "D, the output"),
    ]
    if bias:
        found.append(Argument("bias", "vector", "f32", ("N",), "N", "input", BYTES, "what is added to each row"))
    meaning = "CTAs that the device holds at once"
    found.append(Argument("max_ctas", "scalar", "i32", role="grid_limit", meaning=meaning))
    return tuple(found)
