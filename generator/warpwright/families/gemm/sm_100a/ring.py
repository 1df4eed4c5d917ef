"""The ring through which A and B come, and the map of shared memory around it."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.families.gemm.parts.boxes import ALIGNMENT, Boxes, boxes, subtile_swizzle
from warpwright.families.gemm.parts.computed import Matrix
from warpwright.families.gemm.sm_100a.asked import Asked
from warpwright.families.gemm.sm_100a.scaled import ATOM_BYTES, scales
from warpwright.families.gemm.sm_100a.tiles import MMA_M, Accumulators, Output
from warpwright.plan.memory import align_up
from warpwright.plan.types import Buffer, Swizzle

__all__ = ["RESPONSE_BYTES", "TILE_STAGES", "Ring", "buffers", "ring", "size", "sized"]

#: More stages than this hide no further latency: at 64 columns of K they cover over 1000 of K.
MAX_AUTO_STAGES = 16
#: Of the ring of tiles that cluster launch control hands out: one is asked for while the one before is computed.
TILE_STAGES = 2
#: What cluster launch control answers with (PTX ISA 9.1, 9.7.13.17).
RESPONSE_BYTES = 16


class Ring(NamedTuple):
    """The ring of A and B."""

    a: Boxes
    b: Boxes
    rows_b: int  # of B (N x K) that a CTA holds: of a pair's, half
    stage_bytes: int  # of A and B in one CTA, and of their scales
    fitting: int  # the largest number of stages that fits; 0 where not even one does
    room: int  # that of which tensor memory holds the scales beside the accumulators; without scales, as many as fit
    stages: int


def ring(a: Asked, t: Accumulators, o: Output) -> Ring:
    """Choose boxes and stages. Defined for every point: rules say what is wrong with one."""
    matrices = a.computed
    rows_b = _rows_b(a)
    scaled = scales(a)
    stage_bytes = (a.tile_m + rows_b) * a.tile_k * matrices.a.bits // 8 + (scaled.bytes if scaled else 0)
    fitting = max(0, a.arch.shared_bytes // stage_bytes)
    while fitting and sized(a, t, o, fitting) > a.arch.shared_bytes:
        fitting -= 1
    # Each stage's scales have columns of tensor memory, too.
    room = max(0, a.arch.tensor_columns - t.used) // scaled.columns if scaled else fitting
    stages = min(MAX_AUTO_STAGES, max(2, min(fitting, room))) if a.stages is None else a.stages
    registers = a.arch.registers_per_thread
    return Ring(
        boxes(matrices.a, a.tile_m, a.tile_k, registers),
        boxes(matrices.b, rows_b, a.tile_k, registers),
        rows_b,
        stage_bytes,
        fitting,
        room,
        stages,
    )


def _rows_b(a: Asked) -> int:
    return max(1, a.tile_n // a.cta_group)


def sized(a: Asked, t: Accumulators, o: Output, stages: int) -> int:
    """Bytes of the map with so many stages of A and B."""
    none = Boxes("none", 1, False)
    return size(buffers(a, t, o, Ring(none, none, _rows_b(a), 0, 0, 0, stages)))


def size(found: tuple[Buffer, ...]) -> int:
    """Bytes of dynamic shared memory that a map takes."""
    last = found[-1]
    return align_up(last.offset + last.bytes, ALIGNMENT)


def buffers(a: Asked, t: Accumulators, o: Output, r: Ring) -> tuple[Buffer, ...]:
    """Return the map of shared memory, in the order of the struct that the kernel declares."""
    found: list[Buffer] = []

    def add(
        name: str, alignment: int, dtype: str, shape: tuple[int, ...], size: int, swizzle: Swizzle, note: str
    ) -> None:
        end = found[-1].offset + found[-1].bytes if found else 0
        found.append(Buffer(name, align_up(end, alignment), size, alignment, dtype, shape, swizzle, note))

    def subtiles(name: str, matrix: Matrix, slots: int, use: str) -> None:
        shape = (MMA_M, o.subtile_n, slots)
        swizzle = subtile_swizzle(matrix, MMA_M, o.subtile_n)
        add(name, ALIGNMENT, matrix.dtype.name, shape, MMA_M * o.subtile_n * slots * matrix.bytes, swizzle, use)

    matrices, stages = a.computed, r.stages
    half = "ring of B tiles" if a.cta_group == 1 else "ring of B tiles, of which the peer has the other half"
    for name, matrix, rows, cut, note in (
        ("a", matrices.a, a.tile_m, r.a, "ring of A tiles"),
        ("b", matrices.b, r.rows_b, r.b, half),
    ):
        bytes_ = rows * a.tile_k * matrix.bits // 8 * stages
        add(name, ALIGNMENT, matrix.dtype.name, (rows, a.tile_k, stages), bytes_, cut.swizzle, note)
    if scaled := scales(a):
        for name, atoms in (("sfa", scaled.deep * scaled.a), ("sfb", scaled.deep * scaled.b)):
            note = f"ring of the scales of {name[-1].upper()}, in atoms"
            add(
                name,
                ALIGNMENT,
                scaled.dtype.name,
                (ATOM_BYTES, atoms, stages),
                ATOM_BYTES * atoms * stages,
                "none",
                note,
            )
    each = " per warpgroup" if t.warpgroups > 1 else ""
    if matrices.read:
        subtiles(
            "c", matrices.read, t.warpgroups * o.c_stages, f"ring of C subtiles{each and f', one{each} and stage'}"
        )
    if o.subtile_stages:
        use = "D subtiles on their way out" + (each and f",{each}")
        subtiles("d", matrices.d, t.warpgroups * o.subtile_stages, use)
    for step in matrices.steps:
        if step.scratch:
            size = step.op.shared_bytes
            add(step.scratch, 16, "u8", (size,), size, "none", f"scratch of {step.op.name}")
    for name, count, note in _mbarriers(a, t, o, stages):
        add(name, 8, "i64", (count,), 8 * count, "none", f"mbarriers: {note}")
    if a.scheduler == "dynamic":
        shape = (RESPONSE_BYTES // 4, TILE_STAGES)
        add("responses", 16, "i32", shape, RESPONSE_BYTES * TILE_STAGES, "none", "of cluster launch control")
    add("tensor_base", 4, "i32", (1,), 4, "none", "where tensor memory begins, as its allocation says")
    return tuple(found)


def _mbarriers(a: Asked, t: Accumulators, o: Output, stages: int) -> list[tuple[str, int, str]]:
    accumulators = t.consumers * t.stages
    found = [
        ("loaded", stages, "A and B are in a stage"),
        ("consumed", stages, "a stage has been multiplied"),
        ("accumulated", accumulators, "an accumulator holds its sums"),
        *([("drained", accumulators, "an accumulator has been read")] if a.several_tiles else []),
    ]
    if o.c_stages:
        found += [("c_full", o.c_stages, "C is in a stage"), ("c_empty", o.c_stages, "a stage of C has been read")]
    if a.scheduler == "dynamic":
        found += [
            ("tile_ready", TILE_STAGES, "the next tile is known"),
            ("tile_taken", TILE_STAGES, "all warps know the next tile"),
        ]
    return found
