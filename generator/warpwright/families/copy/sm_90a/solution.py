"""The numbers of a copy plan: what follows from the point by plain arithmetic, legal or not.

Everything is defined for every point, so that rules can speak of illegal ones without raising.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from warpwright.archs import SM90A
from warpwright.canonical import plain
from warpwright.dtypes import Dtype, dtype
from warpwright.families.copy.models import Design, Kernel
from warpwright.plan.memory import align_up
from warpwright.plan.types import Buffer
from warpwright.point import Point

__all__ = ["IN_FLIGHT", "LANES", "VECTOR_BYTES", "Computed", "Solution", "buffers", "size", "solve"]

LANES = 32
#: What a lane moves at once, of the wider dtype: the widest access to shared memory.
VECTOR_BYTES = 16
#: Bytes of stages per SM, over all its CTAs, that `stages: auto` makes room for. By Little's law: x has half of DRAM's
#: share of an SM (H200: 4.27 TB/s are 32 bytes in a nanosecond), and a load takes 2 us where DRAM is that busy
#: (prediction.py), so that 32 KiB are just enough. As measured, 64 are as fast at 2^28 elements and 1 to 4 % faster at
#: 2^24; 128 and more gain nothing at 2^28.
IN_FLIGHT = 64 * 1024
#: Where a buffer of bulk copies starts.
_ALIGNMENT = 128
#: Buffers per warp on the way out: one is stored while the next one is filled.
_AUTO_SLOTS = 2


class Computed(NamedTuple):
    """What a kernel computes."""

    x: Dtype
    y: Dtype
    x_bytes: int  # of an element
    y_bytes: int
    canonical: Mapping[str, Any]  # the kernel as a plan keeps it


class Solution(NamedTuple):
    """A point and its direct consequences. Lengths in elements unless a name ends in `_bytes`."""

    design: Design
    computed: Computed
    stage_elements: int  # one chunk: what a CTA copies at a time, and what one stage holds
    slice_elements: int  # of a chunk, that one consumer warp scales
    vector: int  # what a lane moves at once
    vectors: int  # of a lane in one slice
    grain: int  # what fills whole 16 bytes of x and of y: the unit of bulk copies
    warps: int
    threads: int
    entry_registers: int  # per thread at launch, with which the CTAs share an SM
    vector_registers: int  # that a lane's share of a slice takes, as x and as y
    slots: int  # buffers per consumer warp through which y leaves; none where threads store directly
    shared_limit: int  # bytes of shared memory that one of the CTAs of an SM may have
    fitting_stages: int  # the largest ring that fits; 0 where not even one stage does
    stages: int
    shared_bytes: int
    most_chunks: int  # that 32 bits count, and a step of every producer of every CTA beyond them


def solve(point: Point) -> Solution:
    """Make every choice."""
    design, computed = cast(Design, point.design), _computed(cast(Kernel, point.kernel))
    _, _, x_bytes, y_bytes, _ = computed
    wide_bytes, consumers, ctas = max(x_bytes, y_bytes), design.consumer_warps, design.ctas_per_sm
    stage = design.stage_bytes // wide_bytes
    vector = VECTOR_BYTES // wide_bytes
    vectors = stage // consumers // (LANES * vector)
    warps = consumers + design.producer_warps
    # Registers are granted in steps of 8. Warps are dealt out to the SM's four quarters, each with a fourth of the
    # registers: 10 warps count as 12.
    granted = SM90A.registers // align_up(LANES * warps * ctas, 4 * LANES) // 8 * 8
    slots = 0 if design.store == "direct" else _AUTO_SLOTS if design.slots == "auto" else design.slots
    limit = min(SM90A.shared_bytes, SM90A.shared_per_sm // ctas - SM90A.shared_reserved)
    x_stage, out = stage * x_bytes, slots * (stage // consumers * consumers) * y_bytes
    # Every stage takes its bytes and two barriers'; what is left for padding may cost one or two stages more.
    fitting = max(0, (limit - out) // (x_stage + 16))
    while fitting and size(x_stage, out, fitting) > limit:
        fitting -= 1
    enough = -(-IN_FLIGHT // (design.stage_bytes * ctas))
    stages = max(2, min(fitting, enough)) if design.stages == "auto" else design.stages
    return Solution(
        design=design,
        computed=computed,
        stage_elements=stage,
        slice_elements=stage // consumers,
        vector=vector,
        vectors=vectors,
        grain=SM90A.tma_alignment // min(x_bytes, y_bytes),
        warps=warps,
        threads=LANES * warps,
        entry_registers=min(SM90A.registers_per_thread, granted),
        vector_registers=vectors * vector * (x_bytes + y_bytes) // 4,
        slots=slots,
        shared_limit=limit,
        fitting_stages=fitting,
        stages=stages,
        shared_bytes=size(x_stage, out, stages),
        most_chunks=(2**31 - 1) // (design.producer_warps + 1),
    )


@functools.lru_cache(maxsize=64)
def _computed(kernel: Kernel) -> Computed:
    x, y = dtype(kernel.x.dtype), dtype(kernel.y.dtype)
    return Computed(x, y, x.bytes, y.bytes, plain(kernel))


# Shared memory ----------------------------------------------------------------------------------------------


def size(x_stage: int, out: int, stages: int) -> int:
    """Return the bytes of the map that `buffers` lays out: a ring of stages of `x_stage` bytes, and `out` for y."""
    end = align_up(x_stage * stages, _ALIGNMENT) + out if out else x_stage * stages
    return align_up(align_up(end, 8) + 16 * stages, _ALIGNMENT)


def buffers(s: Solution) -> tuple[Buffer, ...]:
    """Return the map of shared memory, in the order of the struct that the kernel declares."""
    x, y, x_bytes, y_bytes, _ = s.computed
    stages, end = s.stages, s.stage_elements * x_bytes * s.stages
    found = [
        Buffer("x", 0, end, _ALIGNMENT, x.name, (s.stage_elements, stages), "none", "ring of chunks of x"),
    ]
    if s.slots:
        start, slots = align_up(end, _ALIGNMENT), s.design.consumer_warps * s.slots
        end = start + s.slice_elements * y_bytes * slots
        note = "slices of y on their way out, per consumer warp"
        found.append(
            Buffer("y", start, end - start, _ALIGNMENT, y.name, (s.slice_elements, slots), "none", note),
        )
    for side in ("full", "empty"):
        start = align_up(end, 8)
        end = start + 8 * stages
        note = f"mbarriers: stage is {side}"
        found.append(Buffer(f"x_{side}", start, 8 * stages, 8, "i64", (stages,), "none", note))
    return tuple(found)
