"""The numbers of an SGEMM plan: what follows from the point by plain arithmetic, legal or not.

Everything is defined for every point, so that rules can speak of illegal ones without raising.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from warpwright.archs import SM90A
from warpwright.canonical import plain
from warpwright.families.sgemm.models import Design, Kernel
from warpwright.families.sgemm.sm_90a.lanes import LANES
from warpwright.families.sgemm.sm_90a.warps import Warps, two_vectors, warps
from warpwright.plan.memory import align_up
from warpwright.plan.types import Buffer, Swizzle
from warpwright.point import Point

__all__ = ["BYTES", "LANES", "MOST_STAGES", "VECTOR", "Solution", "alignment", "buffers", "size", "solve", "swizzle"]

BYTES = 4  # of an element
VECTOR = 4  # elements that a lane reads at once: 16 bytes
#: More stages hide no further latency: 5 loads of 12 KiB or more are on their way to each SM.
MOST_STAGES = 6
#: Steps of K that are written out: more FFMAs than these no longer fit the instruction cache of a scheduler.
_AUTO_UNROLL = 8
_SWIZZLES: Mapping[int, Swizzle] = {32: "32B", 64: "64B", 128: "128B"}


class Solution(NamedTuple):
    """A point and its direct consequences, in elements unless a name ends in `_bytes`."""

    design: Design
    kernel: Kernel
    canonical: Mapping[str, Any]  # the kernel as a plan keeps it
    specialised: bool
    lanes_m: int
    lanes_n: int
    tile_m: int
    tile_n: int
    warps: Warps
    unroll: int
    usual_unroll: int  # where nobody chooses
    stage_bytes: int  # of A and B
    vectors_a: int  # of 16 bytes of A in a stage, that the threads of an unspecialised CTA load
    vectors_b: int
    shared_limit: int  # bytes of shared memory that one of the CTAs of an SM may have
    fitting_stages: int  # the largest ring that fits; 0 where not even one stage does
    stages: int
    shared_bytes: int


def solve(point: Point) -> Solution:
    """Make every choice."""
    design, kernel = cast(Design, point.design), cast(Kernel, point.kernel)
    thread, grid, depth = design.thread, design.warps, design.tile_k
    # Warps as square as can be, so that a step of K reads the fewest bytes of shared memory.
    lanes_m = (4 if thread.m > thread.n else 8) if design.lanes_m == "auto" else design.lanes_m
    lanes_n = LANES // lanes_m
    tile_m, tile_n = grid.m * lanes_m * thread.m, grid.n * lanes_n * thread.n
    specialised = design.specialise == "producer"
    ctas = design.ctas_per_sm
    limit = min(SM90A.shared_bytes, SM90A.shared_per_sm // ctas - SM90A.shared_reserved)
    start = alignment(kernel)
    stage_bytes = (tile_m + tile_n) * depth * BYTES
    fitting = max(0, limit // stage_bytes)
    while fitting and size(tile_m, tile_n, depth, fitting, specialised, start) > limit:
        fitting -= 1
    # Of K-major rows four steps are read at once, a vector.
    along_k = kernel.a.major == "k", kernel.b.major == "k"
    vectors = 2 if two_vectors(thread.m, thread.n, *along_k) else 1
    usual_unroll = VECTOR * vectors if any(along_k) else min(_AUTO_UNROLL, depth)
    stages = min(MOST_STAGES, max(2, fitting)) if design.stages == "auto" else design.stages
    return Solution(
        design=design,
        kernel=kernel,
        canonical=plain(kernel),
        specialised=specialised,
        lanes_m=lanes_m,
        lanes_n=lanes_n,
        tile_m=tile_m,
        tile_n=tile_n,
        warps=warps(design, kernel),
        unroll=usual_unroll if design.unroll == "auto" else design.unroll,
        usual_unroll=usual_unroll,
        stage_bytes=stage_bytes,
        vectors_a=tile_m * depth // VECTOR,
        vectors_b=tile_n * depth // VECTOR,
        shared_limit=limit,
        fitting_stages=fitting,
        stages=stages,
        shared_bytes=size(tile_m, tile_n, depth, stages, specialised, start),
    )


# Shared memory ----------------------------------------------------------------------------------------------


def swizzle(major: str, depth: int) -> Swizzle:
    """Rows of K are swizzled as wide as they are, so that lanes beside each other read without conflicts."""
    return _SWIZZLES[depth * BYTES] if major == "k" else "none"


def alignment(kernel: Kernel) -> int:
    """Where a ring starts, in bytes: where the pattern of the widest swizzle begins anew, if there is one."""
    return 1024 if "k" in (kernel.a.major, kernel.b.major) else 128


def size(tile_m: int, tile_n: int, depth: int, stages: int, specialised: bool, start: int) -> int:
    """Return the bytes of the map that `buffers` lays out."""
    end = align_up(tile_m * depth * BYTES * stages, start) + tile_n * depth * BYTES * stages
    return align_up(end + (16 * stages if specialised else 0), start)


def buffers(s: Solution) -> tuple[Buffer, ...]:
    """Return the map of shared memory, in the order of the struct that the kernel declares."""
    found: list[Buffer] = []
    end, start, depth = 0, alignment(s.kernel), s.design.tile_k
    for name, rows, major in (("a", s.tile_m, s.kernel.a.major), ("b", s.tile_n, s.kernel.b.major)):
        offset, total = align_up(end, start), rows * depth * BYTES * s.stages
        what = f"ring of {name.upper()} tiles"
        shape = (rows, depth, s.stages)
        found.append(Buffer(name, offset, total, start, "f32", shape, swizzle(major, depth), what))
        end = offset + total
    for side in ("full", "empty") if s.specialised else ():
        note = f"mbarriers: stage is {side}"
        found.append(Buffer(f"ab_{side}", end, 8 * s.stages, 8, "i64", (s.stages,), "none", note))
        end += 8 * s.stages
    return tuple(found)
