"""Solves a point: as the GEMM that the rung is, or that it grows into, with what a kernel of one role has instead.

Everything is defined for every point, so that rules can speak of illegal ones without raising.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from warpwright.archs import SM90A
from warpwright.epilogue.step import EpilogueStep
from warpwright.families.gemm import models as gemm
from warpwright.families.gemm.sm_90a import solution as gemm_solution
from warpwright.families.gemm.sm_90a.asked import asked
from warpwright.families.gemm.sm_90a.ring import buffers
from warpwright.families.ladder.models import Design, Kernel
from warpwright.families.ladder.rungs import FIRST_OF_ROLES, FIRST_RING, FIRST_TMA, RUNGS, Rung
from warpwright.plan.memory import align_up
from warpwright.plan.types import Buffer
from warpwright.point import Point

__all__ = ["ALONE_BYTES", "BAND", "VECTOR_BYTES", "Solution", "as_gemm", "canonical", "memory", "solve"]

#: What a thread loads at once: the widest access.
VECTOR_BYTES = 16
#: Clusters of one band, from the rung on that has bands.
BAND = 8
#: Over half of an SM's shared memory: no second CTA fits beside one that has so much.
ALONE_BYTES = align_up(SM90A.shared_per_sm // 2 - SM90A.shared_reserved + 1, 1024)


class Solution(NamedTuple):
    """A point and what follows from it."""

    design: Design
    rung: Rung
    number: int
    point: Point  # the same as a GEMM
    solved: gemm_solution.Solution  # that, made of
    loads_by_tma: bool
    one_role: bool
    stages: int  # of A and B in shared memory


def solve(point: Point) -> Solution:
    """Make every choice."""
    design = cast(Design, point.design)
    rung, number = RUNGS[design.rung - 1], design.rung
    same = as_gemm(point)
    solved = gemm_solution.solve(asked(same))
    return Solution(
        design, rung, number, same, solved, number >= FIRST_TMA, number < FIRST_OF_ROLES, solved.ring.stages
    )


def as_gemm(point: Point) -> Point:
    """The point of the GEMM family that has a rung's tile, stages, cluster and schedule."""
    design, rung = cast(Design, point.design), RUNGS[point.design.rung - 1]
    name = cast(Kernel, point.kernel).dtype
    kernel = gemm.Kernel(
        a=gemm.OperandA(dtype=name, major="k"),
        b=gemm.OperandB(dtype=name, major="k"),
        d=gemm.OperandD(dtype=name, major="n"),
        epilogue=(EpilogueStep(op="bias_n"), EpilogueStep(op="relu")),
    )
    stages = 1 if design.rung < FIRST_RING and design.stages == "auto" else design.stages
    schedule = gemm.Scheduler(
        kind="persistent" if rung.persistent else "one_tile", raster="m", group=BAND if rung.persistent else 1
    )
    same = gemm.Design(
        tile=design.tile,
        cluster=gemm.Cluster(m=rung.cluster_m),
        stages=stages,
        consumer_warps=4 * rung.consumers,
        schedule="pingpong" if rung.pingpong else "cooperative",
        scheduler=schedule,
        store="tma" if design.rung >= FIRST_TMA else "direct",
    )
    return Point("gemm", point.arch, kernel, same)


def canonical(point: Point, same: Mapping[str, Any]) -> Mapping[str, Any]:
    """The kernel as a plan keeps it: what it computes in a GEMM's words, beside the family's own."""
    return {**same, **point.kernel.model_dump(mode="json")}


def memory(s: Solution) -> tuple[tuple[Buffer, ...], int]:
    """The map of shared memory of a kernel of one role, and its bytes in all.

    Without a consumer that runs ahead nobody waits for a stage to be empty; without TMA nobody waits for one to be
    full. What keeps an SM from being shared comes last.
    """
    a, tiles, output, _, ring = s.solved
    dropped = ("ab_empty",) if s.loads_by_tma else ("ab_empty", "ab_full")
    found = [_told(s, buffer) for buffer in buffers(a, tiles, output, ring) if buffer.name not in dropped]
    end = found[-1].offset + found[-1].bytes
    if align_up(end, 1024) < ALONE_BYTES:
        note = "nothing: it keeps other CTAs off this SM"
        found.append(Buffer("padding", end, ALONE_BYTES - end, 1, "u8", (ALONE_BYTES - end,), "none", note))
        end = ALONE_BYTES
    return tuple(found), align_up(end, 1024)


def _told(s: Solution, buffer: Buffer) -> Buffer:
    """A buffer of the GEMM with what is in it, where there is no ring."""
    if s.number < FIRST_RING and buffer.name in ("a", "b"):
        return replace(buffer, note=f"a tile of {buffer.name.upper()}")
    return buffer
