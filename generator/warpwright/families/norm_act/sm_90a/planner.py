"""Plans a normalisation for Hopper: groups of warps with a row each, and a ring between them and who loads.

Data flow with a ring: producer warps -> (row_full) -> groups -> (row_empty) -> producer warps. Every number that the
template prints is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import SM90A
from warpwright.canonical import plain
from warpwright.families.norm_act.sm_90a.constants import constants
from warpwright.families.norm_act.sm_90a.label import label
from warpwright.families.norm_act.sm_90a.rules import RULES
from warpwright.families.norm_act.sm_90a.solution import LANES, ROW_BARRIER_ID, Solution, buffers, solve
from warpwright.families.norm_act.workload.design import NormDesign
from warpwright.plan.types import Argument, Barrier, Copy, KernelPlan, Limit, Plan, Role
from warpwright.point import Point

__all__ = ["plan", "resolved"]


def plan(point: Point) -> Plan:
    """Plan one point; an illegal one comes back with its violations and empty tables."""
    s = solve(point)
    violations = RULES.violations(s)
    if violations:
        return Plan("norm_act", point.arch, label(s), s.computed.canonical, plain(point.design), violations)
    design = s.design
    kernel = KernelPlan(
        name="norm_act_kernel",
        threads=s.threads,
        cluster=(design.ctas_per_row, 1, 1),
        shared_bytes=s.shared_bytes,
        entry_registers=s.entry_registers,
        buffers=buffers(s),
        barriers=_barriers(s),
        roles=_roles(s),
        copies=_copies(s),
        ctas_per_sm=design.ctas_per_sm,
    )
    return Plan(
        family="norm_act",
        arch=point.arch,
        label=label(s),
        kernel=s.computed.canonical,
        design=_design(s),
        entry="norm_act",
        kernels=(kernel,),
        constants=constants(s),
        arguments=_arguments(s),
        limits=(Limit("columns", (("N", 1),), design.columns), Limit("rows", (("M", 1),), s.most_rows)),
    )


def resolved(plan: Plan) -> Mapping[str, int]:
    """What the design's open choices became, by their paths in a file."""
    return {"design.stages": plan.design.stages, "design.producer_warps": plan.design.producer_warps}


def _design(s: Solution) -> NormDesign:
    d = s.design
    return NormDesign(
        specialise=d.specialise,
        columns=d.columns,
        warps_per_row=d.warps_per_row,
        groups=d.groups,
        ctas_per_row=d.ctas_per_row,
        rows_per_group=d.rows_per_group,
        producer_warps=s.producers,
        producer_groups=d.producer_groups,
        stages=s.stages,
        ring=d.ring,
        ctas_per_sm=d.ctas_per_sm,
        persistent=d.persistent,
        row=d.row,
        scales=d.scales,
        reallocate=d.reallocate,
        access_bytes=d.access_bytes,
    )


def _barriers(s: Solution) -> tuple[Barrier, ...]:
    d, found = s.design, list[Barrier]()
    summing = "producer" if d.specialise == "preprocess" else "consumer" if d.specialise == "tma" else "all"
    warps = d.warps_per_row
    if d.specialise == "tma":
        arrives = "producer: arrive.expect_tx, then bulk copies"
        found.append(
            Barrier("row_full", "mbarrier", s.stages, 1, s.row_bytes, "consumer", arrives, (), "row_full", True)
        )
    if s.ahead:
        arrives = "one thread of the group: arrive.expect_tx, then bulk copies"
        rows = d.groups * d.rows_per_group
        row_bytes = s.chunk * s.computed.x.bytes * (2 if s.computed.residual else 1)
        found.append(Barrier("row_full", "mbarrier", rows, 1, row_bytes, "all", arrives, (), "row_full", True))
    if d.ring == "named":
        first, threads = s.ring_barrier_id, s.ring_threads
        for side, waits, arrives in (("full", "consumer", "producer"), ("empty", "producer", "consumer")):
            ids = tuple(range(first, first + s.stages))
            arrives = f"the {arrives}s of the stage, who do not wait"
            found.append(Barrier(f"row_{side}", "named", s.stages, threads, 0, waits, arrives, ids))
            first += s.stages
    elif d.specialise == "preprocess":
        arrives = "one lane per warp of a producer group"
        found.append(
            Barrier("row_full", "mbarrier", s.stages, s.producer_row_warps, 0, "consumer", arrives, (), "row_full")
        )
    if d.specialise != "none" and d.ring == "mbarrier":
        arrives = "one lane per warp of a group"
        found.append(Barrier("row_empty", "mbarrier", s.stages, warps, 0, "producer", arrives, (), "row_empty"))
    if s.shared_out:
        arrives = "one thread: arrive.expect_tx; all warps: st.async"
        told = 4 * s.told * s.parts
        found.append(Barrier("row_told", "mbarrier", d.rows_per_group, 1, told, "all", arrives, (), "row_told"))
        found.append(Barrier("cluster", "cluster", 1, s.threads * d.ctas_per_row, 0, "all", "all"))
    if s.sum_barriers:
        ids = tuple(range(ROW_BARRIER_ID, ROW_BARRIER_ID + s.statistics_groups))
        arrives = "the group's own threads"
        found.append(Barrier("row_sum", "named", 1, LANES * s.statistics_warps, 0, summing, arrives, ids))
    return tuple(found)


def _roles(s: Solution) -> tuple[Role, ...]:
    d = s.design
    consumers = d.groups * d.warps_per_row
    if d.specialise == "none":
        return (Role("all", 0, consumers, None, "loads a row, normalises, activates, stores"),)
    if d.specialise == "tma":
        return (
            Role("consumer", 0, consumers, s.consumer_registers, "normalises a row, activates, stores"),
            Role(
                "producer",
                consumers,
                s.producers,
                s.producer_registers,
                "loads rows into the ring, by one thread of a warp",
            ),
        )
    return (
        Role("consumer", 0, consumers, None, "scales, activates, stores"),
        Role("producer", consumers, s.producers, None, "loads rows of x, normalises them into the ring"),
    )


def _copies(s: Solution) -> tuple[Copy, ...]:
    if s.specialise != "tma" and not s.ahead:
        return ()
    names = ("x", "residual") if s.computed.residual else ("x",)
    return tuple(Copy(name, "load", s.computed.x.name, (s.chunk,), "none", 1, 1, name, "bulk") for name in names)


def _arguments(s: Solution) -> tuple[Argument, ...]:
    c, modes = s.computed, ("M", "N")
    moved = SM90A.tma_alignment if s.specialise == "tma" or s.ahead else s.vector * c.x.bytes
    found = [Argument("x", "tensor", c.x.name, modes, "N", "input", moved, "rows that are normalised")]
    if c.residual:
        found.append(Argument("residual", "tensor", c.x.name, modes, "N", "input", moved, "added to x before"))
    for name, given, meaning in (("weight", c.weight, "what a column is multiplied by"), ("bias", c.bias, "and added")):
        if given:
            found.append(Argument(name, "vector", given.name, ("N",), "N", "input", SM90A.tma_alignment, meaning))
    out = s.vector * c.y.bytes
    found.append(Argument("y", "tensor", c.y.name, modes, "N", "output", out, "what comes of it"))
    if s.design.persistent:
        meaning = "CTAs that the device holds at once"
        found.append(Argument("max_ctas", "scalar", "i32", role="grid_limit", meaning=meaning))
    return tuple(found)
