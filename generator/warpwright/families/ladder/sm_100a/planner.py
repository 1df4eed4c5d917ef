"""Plans a rung: the GEMM that it is, or the kernel of one role that comes before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from warpwright.families.gemm.parts.interface import arguments
from warpwright.families.gemm.parts.limits import limits
from warpwright.families.gemm.sm_100a.planner import design_of, made
from warpwright.families.gemm.sm_100a.work import barriers, copies, mmas, tensor_buffers, tensor_memory
from warpwright.families.gemm.workload.design import TensorDesign
from warpwright.families.ladder.sm_100a.constants import constants, padding
from warpwright.families.ladder.sm_100a.label import label
from warpwright.families.ladder.sm_100a.rules import RULES
from warpwright.families.ladder.sm_100a.solution import Solution, alone, canonical, memory, solve
from warpwright.families.ladder.workload.design import TensorLadderDesign
from warpwright.plan.types import Barrier, Copy, KernelPlan, Plan, Role
from warpwright.point import Point

__all__ = ["plan", "resolved"]

_ROLE = "all"


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    s = solve(point)
    violations = RULES.violations(s)
    kernel = canonical(point, s.solved.computed.canonical)
    if violations:
        return Plan("ladder", point.arch, label(s), kernel, point.design.model_dump(mode="json"), violations)
    if s.one_role:
        return _one_role(s, point.arch, kernel)
    return _with_roles(s, kernel)


def resolved(plan: Plan) -> Mapping[str, Any]:
    """What the design's open choices became, by their paths in a file."""
    return {"design.stages": plan.design.stages}


def _design(same: TensorDesign, rung: int) -> TensorLadderDesign:
    return TensorLadderDesign(**{field.name: getattr(same, field.name) for field in fields(same)}, rung=rung)


def _with_roles(s: Solution, computed: Mapping[str, Any]) -> Plan:
    """The GEMM's own kernel, with an SM to itself."""
    found = made(s.solved, s.point.arch)
    own = [[b for b in found.main.buffers if (b.space == "tensor") == tensor] for tensor in (False, True)]
    buffers, shared_bytes = alone(tuple(own[0]))
    kernel = replace(found.main, buffers=(*buffers, *own[1]), shared_bytes=shared_bytes)
    return replace(
        found,
        family="ladder",
        label=label(s),
        kernel=computed,
        design=_design(found.design, s.number),
        kernels=(kernel,),
        constants=(*found.constants, *padding(buffers)),
    )


def _one_role(s: Solution, arch: str, computed: Mapping[str, Any]) -> Plan:
    a = s.solved.asked
    buffers, shared_bytes = memory(s)
    kernel = KernelPlan(
        name="gemm_kernel",
        threads=128,
        cluster=(1, 1, 1),
        shared_bytes=shared_bytes,
        entry_registers=a.arch.registers_per_thread,
        buffers=(*buffers, *tensor_buffers(s.solved)),
        barriers=_barriers(s),
        roles=(Role(_ROLE, 0, 4, None, "loads, computes and stores in turn"),),
        copies=_copies(s),
        mmas=mmas(s.solved),
        tensor_memory=replace(tensor_memory(s.solved), allocates=_ROLE, frees=_ROLE),
    )
    same = design_of(s.solved)
    if s.number == 1:  # it walks over all tiles
        same = replace(same, scheduler="persistent")
    return Plan(
        family="ladder",
        arch=arch,
        label=label(s),
        kernel=computed,
        design=_design(same, s.number),
        entry="gemm",
        kernels=(kernel,),
        constants=constants(s),
        arguments=arguments(s.solved.computed, True, False),  # all rungs are called alike
        limits=limits(a),
    )


def _barriers(s: Solution) -> tuple[Barrier, ...]:
    """Without those by which warps with roles give something back."""
    told = {
        "loaded": "warp 0: arrive.expect_tx, then TMA",
        "accumulated": "commit of warp 0, once per step along K",
        "epilogue": "all threads",
    }
    found = []
    for barrier in barriers(s.solved):
        if barrier.name in told and (barrier.name != "loaded" or s.loads_by_tma):
            state = "phase, from 0" if barrier.state else ""
            found.append(replace(barrier, waits=_ROLE, arrives=told[barrier.name], state=state))
    return tuple(found)


def _copies(s: Solution) -> tuple[Copy, ...]:
    return tuple(copy for copy in copies(s.solved) if s.loads_by_tma or copy.direction == "store")
