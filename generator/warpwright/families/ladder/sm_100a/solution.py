"""Solves a point: as the GEMM that the rung is, or that it grows into, with what a kernel of one role has instead.

Everything is defined for every point, so that rules can speak of illegal ones without raising.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

from warpwright.archs import SM100A
from warpwright.epilogue.step import EpilogueStep
from warpwright.families.gemm import models as gemm
from warpwright.families.gemm.sm_100a import solution as gemm_solution
from warpwright.families.gemm.sm_100a.asked import asked
from warpwright.families.ladder.models import Design, Kernel
from warpwright.families.ladder.sm_100a.rungs import FIRST_OF_ROLES, FIRST_TMA, RUNGS, Rung
from warpwright.plan.memory import align_up
from warpwright.plan.types import Buffer
from warpwright.point import Point

__all__ = ["ALONE_BYTES", "BAND", "Solution", "alone", "as_gemm", "canonical", "memory", "solve"]

#: Clusters of one band, from the rung on that has bands.
BAND = 8
#: Over half of an SM's shared memory: no second CTA fits beside one that has so much.
ALONE_BYTES = align_up(SM100A.shared_per_sm // 2 - SM100A.shared_reserved + 1, 1024)


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
    """Make every choice. A rung beyond the last one is solved as that: a rule refuses it."""
    design = cast(Design, point.design)
    number = min(design.rung, len(RUNGS))
    same = as_gemm(point)
    solved = gemm_solution.solve(asked(same))
    return Solution(
        design, RUNGS[number - 1], number, same, solved, number >= FIRST_TMA, number < FIRST_OF_ROLES,
        solved.ring.stages,
    )  # fmt: skip


def as_gemm(point: Point) -> Point:
    """The point of the GEMM family that has a rung's tile, stages, pair and schedule.

    The ladder's tile is what a CTA loads for one MMA, the same on every rung: a pair multiplies its rows by the columns
    of both CTAs, and a second consumer has as many rows again.
    """
    design = cast(Design, point.design)
    number = min(design.rung, len(RUNGS))
    rung, tile = RUNGS[number - 1], design.tile
    name = cast(Kernel, point.kernel).dtype
    kernel = gemm.Kernel(
        arch=cast(Any, point.arch),
        a=gemm.OperandA(dtype=name, major="k"),
        b=gemm.OperandB(dtype=name, major="k"),
        d=gemm.OperandD(dtype=name, major="n"),
        epilogue=(EpilogueStep(op="bias_n"), EpilogueStep(op="relu")),
    )
    same = gemm.Design(
        tile=gemm.Tile(m=tile.m * rung.consumers, n=tile.n * rung.cta_group, k=tile.k),
        cluster=gemm.Cluster(m=rung.cta_group),
        cta_group=cast(Any, rung.cta_group),
        stages=rung.stages if design.stages == "auto" else design.stages,
        accumulator_stages=1,
        scheduler=gemm.Scheduler(
            kind="persistent" if rung.persistent else "one_tile", raster="m", group=BAND if rung.persistent else 1
        ),
        store="tma" if number >= FIRST_TMA else "direct",
    )
    return Point("gemm", point.arch, kernel, same)


def canonical(point: Point, same: Mapping[str, Any]) -> Mapping[str, Any]:
    """The kernel as a plan keeps it: what it computes in a GEMM's words, beside the family's own."""
    return {**same, **point.kernel.model_dump(mode="json")}


def memory(s: Solution) -> tuple[tuple[Buffer, ...], int]:
    """The map of shared memory of a kernel of one role, and its bytes in all.

    The same threads do everything in turn: nobody waits for a stage to be empty, or an accumulator; without TMA nobody
    waits for a stage to be full. What keeps an SM from being shared comes last.
    """
    dropped = {"consumed", "drained"} if s.loads_by_tma else {"consumed", "drained", "loaded"}
    found: list[Buffer] = []
    end = 0
    for buffer in s.solved.buffers:
        if buffer.name in dropped:
            continue
        note = f"a tile of {buffer.name.upper()}" if buffer.name in ("a", "b") else buffer.note
        found.append(replace(buffer, offset=align_up(end, buffer.alignment), note=note))
        end = found[-1].offset + buffer.bytes
    return alone(tuple(found))


def alone(buffers: tuple[Buffer, ...]) -> tuple[tuple[Buffer, ...], int]:
    """A map of shared memory that leaves no room for a second CTA on the SM, and its bytes in all."""
    end = buffers[-1].offset + buffers[-1].bytes
    if align_up(end, 1024) >= ALONE_BYTES:
        return buffers, align_up(end, 1024)
    note = "nothing: it keeps other CTAs off this SM"
    padding = Buffer("padding", end, ALONE_BYTES - end, 1, "u8", (ALONE_BYTES - end,), "none", note)
    return (*buffers, padding), ALONE_BYTES
