"""The numbers of a normalisation's plan: what follows from the point by plain arithmetic, legal or not.

Everything is defined for every point, so that rules can speak of illegal ones without raising.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

from warpwright.archs import SM90A
from warpwright.families.norm_act.models import Design, Kernel
from warpwright.families.norm_act.sm_90a.computed import Computed, computed_by
from warpwright.plan.memory import align_up, lay_out
from warpwright.plan.types import Buffer
from warpwright.point import Point

__all__ = [
    "IN_FLIGHT",
    "LANES",
    "OVERHEAD",
    "OVERHEAD_AHEAD",
    "ROW_BARRIER_ID",
    "WARPGROUP",
    "Solution",
    "buffers",
    "resolved_producers",
    "solve",
    "turn",
]

LANES = 32
#: The named barrier of the first group that sums a row; 0 is that of the whole CTA.
ROW_BARRIER_ID = 1
#: Bytes of x on their way per SM that `stages: auto` makes room for. By Little's law: reads are half of DRAM's share of
#: an SM (H200: 4.27 TB/s are 32 bytes in a nanosecond), and a load takes up to 2 us where DRAM is that busy.
IN_FLIGHT = 64 * 1024
#: Where a row in shared memory starts: more than the 16 bytes that bulk copies need.
_ALIGNMENT = 128
#: Registers that a lane needs beside the values that it holds: addresses, counters, states, temporaries; and where
#: another thread has asked for its rows.
OVERHEAD, OVERHEAD_AHEAD = 40, 24
#: Elements of a long row that a thread holds at once, and the registers that it has, or holds half as many.
_PART, _ROOM = 16, 96
#: Of the ring of normalised rows, in f32.
_VALUE_BYTES = 4
#: Warps of a warpgroup, whose registers are reallocated together.
WARPGROUP = 4
#: Registers of a thread that only issues bulk copies: the least that setmaxnreg takes; and the most (PTX ISA).
_PRODUCER_REGISTERS, _MOST_REGISTERS = 24, 256


class Solution(NamedTuple):
    """A point and its direct consequences. Lengths in elements unless a name ends in `_bytes`."""

    design: Design
    computed: Computed
    producers: int  # warps
    producer_row_warps: int  # of a producer group
    vector: int  # what a lane moves at once; 0 where that is less than an element
    chunk: int  # of a row, that a group holds in registers at once: all of it, or a part of a long or shared row
    vectors: int  # of a thread of a group in one chunk
    producer_vectors: int  # of a thread of a producer group that preprocesses
    grain: int  # elements that are moved in vectors are a multiple of it
    warps: int
    threads: int
    statistics_warps: int  # that sum a row together
    statistics_groups: int
    entry_registers: int  # per thread at launch, with which the CTAs share an SM
    producer_registers: int | None  # after reallocation
    consumer_registers: int | None
    value_registers: int  # that a thread's part of a row takes, and that of weight and bias
    row_bytes: int  # of one stage
    shared_limit: int  # bytes of shared memory that one of the CTAs of an SM may have
    fitting_stages: int  # the largest ring that fits
    stages: int
    shared_bytes: int
    most_rows: int  # that 32 bits count, and beyond them what a CTA, or all of them in a step, may go on by

    @property
    def specialise(self) -> str:
        return self.design.specialise

    @property
    def long(self) -> bool:
        return self.design.long

    @property
    def ahead(self) -> bool:
        return self.design.ahead

    @property
    def shared_out(self) -> bool:
        """Whether the CTAs of a cluster share a row."""
        return self.design.ctas_per_row > 1

    @property
    def parts(self) -> int:
        """Sums of warps, of which that of a row that CTAs share is made."""
        return self.design.ctas_per_row * self.design.warps_per_row

    @property
    def told(self) -> int:
        """Numbers that a warp tells the others: mean, squares and count (and one more: they are stored at once)."""
        return 4 if self.computed.mean else 1

    @property
    def chunks(self) -> int:
        return -(-self.design.columns // self.chunk)

    @property
    def sum_barriers(self) -> int:
        """Named barriers of groups that sum rows."""
        return self.statistics_groups if self.statistics_warps > 1 and not self.shared_out else 0

    @property
    def ring_barrier_id(self) -> int:
        """Of the first stage's named barrier."""
        return ROW_BARRIER_ID + self.sum_barriers

    @property
    def ring_threads(self) -> int:
        """That share a stage."""
        return LANES * (self.producer_row_warps + self.design.warps_per_row)

    @property
    def row_threads(self) -> int:
        return LANES * self.design.warps_per_row


def solve(point: Point) -> Solution:
    """Make every choice."""
    design, computed = cast(Design, point.design), computed_by(cast(Kernel, point.kernel))
    x, y = computed.x.bytes, computed.y.bytes
    vector = design.access_bytes // max(x, y)
    producers = resolved_producers(design)
    preprocess, ring = design.specialise == "preprocess", design.specialise != "none"
    bulk = design.specialise == "tma" or design.ahead
    row_warps = max(1, producers // design.producer_groups)
    consumers = design.groups * design.warps_per_row
    warps, ctas = consumers + producers, design.ctas_per_sm
    each = LANES * max(vector, 1)
    producer_vectors = -(-design.columns // (each * row_warps)) if preprocess else 0
    long, share = design.long, -(-design.columns // design.ctas_per_row)
    # Registers are granted in steps of 8. Warps are dealt out to the SM's four quarters, each with a fourth of the
    # registers: 10 warps count as 12.
    granted = SM90A.registers // align_up(LANES * warps * ctas, 4 * LANES) // 8 * 8
    entry = min(SM90A.registers_per_thread, granted)
    part = _PART if entry >= _ROOM else _PART // 2
    vectors = max(1, part // max(vector, 1)) if long else -(-share // (each * design.warps_per_row))
    chunk = each * design.warps_per_row * vectors if long else share
    row_bytes = chunk * (_VALUE_BYTES if preprocess else x * (2 if computed.residual else 1)) if ring else 0
    limit = min(SM90A.shared_bytes, SM90A.shared_per_sm // ctas - SM90A.shared_reserved)
    left = (entry * LANES * warps - _PRODUCER_REGISTERS * LANES * producers) // (LANES * consumers) // 8 * 8
    s = Solution(
        design=design,
        computed=computed,
        producers=producers,
        producer_row_warps=row_warps,
        vector=vector,
        chunk=chunk,
        vectors=vectors,
        producer_vectors=producer_vectors,
        grain=SM90A.tma_alignment // x if bulk else max(vector, 1),
        warps=warps,
        threads=LANES * warps,
        statistics_warps=row_warps if preprocess else design.warps_per_row,
        statistics_groups=design.producer_groups if preprocess else design.groups,
        entry_registers=entry,
        producer_registers=_PRODUCER_REGISTERS if design.reallocate else None,
        consumer_registers=min(left, _MOST_REGISTERS) if design.reallocate else None,
        value_registers=_registers(computed, design, max(vector, 1), vectors, producer_vectors),
        row_bytes=row_bytes,
        shared_limit=limit,
        fitting_stages=0,
        stages=0,
        shared_bytes=0,
        most_rows=(2**31 - 1) // (max(design.groups, design.producer_groups) + 1),
    )
    if not design.persistent:  # the last CTA's rows end at the next multiple of what a CTA has
        s = s._replace(most_rows=2**31 - design.groups * design.rows_per_group)
    if design.ctas_per_row > 1:
        s = s._replace(most_rows=(2**31 - 1) // (design.rows_per_group + design.ctas_per_row))
    if not ring:
        stages = 0 if design.stages == "auto" else design.stages
        return s._replace(stages=stages, shared_bytes=_laid_out(s, 0)[1])
    # Every stage takes its bytes and two mbarriers'; what is left for padding may cost a stage.
    fitting = max(0, (limit - _laid_out(s, 0)[1]) // (row_bytes + 16))
    while fitting and _laid_out(s, fitting)[1] > limit:
        fitting -= 1
    stages = _stages(s, fitting) if design.stages == "auto" else design.stages
    if design.ring == "named":
        s = s._replace(most_rows=(2**31 - 1) // (stages + 1))
    return s._replace(stages=stages, fitting_stages=fitting, shared_bytes=_laid_out(s, stages)[1])


def resolved_producers(design: Design) -> int:
    """Warps that load: one for each group of bulk copies (a warpgroup, if it gives registers); four that normalise."""
    if design.producer_warps != "auto":
        return design.producer_warps
    loading = WARPGROUP if design.reallocate else design.producer_groups
    return {"none": 0, "tma": loading, "preprocess": max(4, design.producer_groups)}[design.specialise]


def _stages(s: Solution, fitting: int) -> int:
    """As many as keep enough in flight; of normalised rows, two for each group that takes them."""
    d, unit = s.design, turn(s.design)
    enough = 2 * d.groups if d.specialise == "preprocess" else -(-IN_FLIGHT // (s.row_bytes * d.ctas_per_sm))
    if d.row == "shared":
        enough += s.chunks  # of the row that is there
    wanted = align_up(max(enough, 2), unit)
    if d.ring == "named":
        wanted = min(wanted, (SM90A.named_barriers - s.ring_barrier_id) // 2 // unit * unit)
    return wanted if wanted <= fitting else max(fitting // unit, 1) * unit


def turn(design: Design) -> int:
    """Stages after which every stage is filled and emptied by the same warps again."""
    return math.lcm(design.groups, design.producer_groups)


def _registers(c: Computed, d: Design, vector: int, vectors: int, producer_vectors: int) -> int:
    """Of the thread that holds more: a row in f32, what it is scaled by, and the next row as it comes, if any."""
    came = c.x.bytes * (2 if c.residual else 1)
    # Else they are loaded when due.
    held = d.long or ((d.persistent or d.ahead) and d.scales == "registers")
    scales = sum(of.bytes for of in (c.weight, c.bias) if of) if held else 0
    row = scales + (came if d.specialise == "none" and not d.ahead else 0)
    return max(vectors * vector * (4 + row), producer_vectors * vector * (4 + came)) // 4


# Shared memory ----------------------------------------------------------------------------------------------


def buffers(s: Solution) -> tuple[Buffer, ...]:
    """Return the map of shared memory, in the order of the struct that the kernel declares."""
    return _laid_out(s, s.stages)[0]


def _laid_out(s: Solution, stages: int) -> tuple[tuple[Buffer, ...], int]:
    d, rows = s.design, s.design.groups * s.design.rows_per_group
    found: list[Buffer] = []
    if d.specialise == "tma" and stages:
        found += _inputs(s, s.chunk, stages, f"ring of {'parts of ' if s.long else ''}rows of {{}}")
    if d.specialise == "none" and d.row == "shared":
        found += _inputs(s, d.columns, 1, "a row of {}")
    if d.specialise == "preprocess" and stages:
        note = "ring of normalised rows"
        found.append(Buffer("rows", 0, d.columns * 4 * stages, _ALIGNMENT, "f32", (d.columns, stages), "none", note))
    if s.ahead:
        found += _inputs(
            s, s.chunk, rows, f"{'parts of ' if s.shared_out else ''}rows of {{}}, of one group after another"
        )
    if d.scales == "shared":
        found += [
            Buffer(name, 0, 4 * d.columns, _ALIGNMENT, "f32", (d.columns, 1), "none", f"{name} of each column")
            for name, given in (("weight", s.computed.weight), ("bias", s.computed.bias))
            if given
        ]
    if s.shared_out:
        shape = (s.told, s.parts, rows)
        note = "what all warps of the cluster tell of their parts"
        found.append(Buffer("sums", 0, 4 * math.prod(shape), 16, "f32", shape, "none", note))
    elif s.statistics_warps > 1:
        shape = (s.statistics_warps, 2, s.statistics_groups)
        note = "sums of warps, two of each row"
        found.append(Buffer("sums", 0, 4 * math.prod(shape), 16, "f32", shape, "none", note))
    if s.ahead:
        found.append(Buffer("row_full", 0, 8 * rows, 8, "i64", (rows,), "none", "mbarriers: a row has come"))
    if s.shared_out:
        found.append(Buffer("row_told", 0, 8 * rows, 8, "i64", (rows,), "none", "mbarriers: all have told"))
    if d.specialise != "none" and stages and d.ring == "mbarrier":
        for side in ("full", "empty"):
            note = f"mbarriers: stage is {side}"
            found.append(Buffer(f"row_{side}", 0, 8 * stages, 8, "i64", (stages,), "none", note))
    return lay_out(found)


def _inputs(s: Solution, length: int, count: int, note: str) -> list[Buffer]:
    """Of x, and of the residual if there is one: so many pieces of a row, of so many elements each."""
    x, of = s.computed.x, {"x": "x"} | ({"residual": "the residual"} if s.computed.residual else {})
    size, shape = length * x.bytes * count, (length, count)
    return [Buffer(name, 0, size, _ALIGNMENT, x.name, shape, "none", note.format(what)) for name, what in of.items()]
