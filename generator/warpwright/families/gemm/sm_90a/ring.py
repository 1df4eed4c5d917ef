"""The ring through which A and B come, and the map of shared memory around it."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.archs import SM90A
from warpwright.families.gemm.parts.boxes import ALIGNMENT, Boxes, boxes, subtile_swizzle
from warpwright.families.gemm.parts.computed import Matrix
from warpwright.families.gemm.sm_90a.asked import Asked
from warpwright.families.gemm.sm_90a.tiles import MMA_M, Output, Tiles
from warpwright.families.gemm.sm_90a.warps import Warps
from warpwright.plan.memory import align_up
from warpwright.plan.types import Buffer, Swizzle

__all__ = ["Ring", "buffers", "ring", "size"]

#: More stages than this hide no further latency: at 64 columns of K they cover over 1000 of K.
MAX_AUTO_STAGES = 16


class Ring(NamedTuple):
    """The ring of A and B."""

    a: Boxes
    b: Boxes
    stage_bytes: int  # of A and B: what lands in a CTA per phase of its full barrier
    fitting: int  # the largest number of stages that fits; 0 where not even one does
    stages: int


def ring(a: Asked, t: Tiles, o: Output, w: Warps) -> Ring:
    """Choose boxes and stages. Defined for every point: rules say what is wrong with one."""
    registers = w.split[0] if w.split else w.entry_registers
    matrices = a.computed
    stage_bytes = (a.tile_m + a.tile_n) * a.tile_k * matrices.a.bytes
    # Every stage takes its bytes and four mbarriers' worth at most; padding is at its largest in `fixed`.
    most = (SM90A.shared_bytes - _fixed(a, t, o)) // (stage_bytes + 16)
    fitting = max(0, most)
    while fitting and size(a, t, o, fitting) > SM90A.shared_bytes:
        fitting -= 1
    stages = min(MAX_AUTO_STAGES, max(2, fitting)) if a.stages is None else a.stages
    return Ring(
        boxes(matrices.a, a.tile_m, a.tile_k, registers),
        boxes(matrices.b, a.tile_n, a.tile_k, registers),
        stage_bytes,
        fitting,
        stages,
    )


def _subtile_bytes(o: Output, matrix: Matrix) -> int:
    return MMA_M * o.subtile_n * matrix.bytes


def _fixed(a: Asked, t: Tiles, o: Output) -> int:
    """Bytes of shared memory beside the ring of A and B, without padding."""
    total = _subtile_bytes(o, a.computed.d) * t.consumers * o.subtile_stages
    if a.computed.read:
        total += _subtile_bytes(o, a.computed.read) * t.sharing * o.c_stages
    return total + sum(step.op.shared_bytes for step in a.computed.steps) + 16 * o.c_stages


def size(a: Asked, t: Tiles, o: Output, stages: int) -> int:
    """Return the bytes of the map that `buffers` lays out, without laying it out."""
    read = a.computed.read
    end = align_up(a.tile_m * a.tile_k * a.computed.a.bytes * stages, ALIGNMENT)
    end += a.tile_n * a.tile_k * a.computed.b.bytes * stages
    if read:
        end = align_up(end, ALIGNMENT) + _subtile_bytes(o, read) * t.sharing * o.c_stages
    if o.subtile_stages:
        end = align_up(end, ALIGNMENT) + _subtile_bytes(o, a.computed.d) * t.consumers * o.subtile_stages
    for step in a.computed.steps:
        if step.scratch:
            end = align_up(end, 16) + step.op.shared_bytes
    return align_up(align_up(end, 8) + 16 * (stages + o.c_stages), ALIGNMENT)


def buffers(a: Asked, t: Tiles, o: Output, r: Ring) -> tuple[Buffer, ...]:
    """Return the map of shared memory, in the order of the struct that the kernel declares."""
    found: list[Buffer] = []
    end = 0

    def add(
        name: str, alignment: int, dtype: str, shape: tuple[int, ...], size: int, swizzle: Swizzle, note: str
    ) -> None:
        nonlocal end
        offset = align_up(end, alignment)
        found.append(Buffer(name, offset, size, alignment, dtype, shape, swizzle, note))
        end = offset + size

    matrices, stages = a.computed, r.stages
    for name, matrix, rows, cut, note in (
        ("a", matrices.a, a.tile_m, r.a, "ring of A tiles"),
        ("b", matrices.b, a.tile_n, r.b, "ring of B tiles"),
    ):
        bytes_ = rows * a.tile_k * matrix.bytes * stages
        add(name, ALIGNMENT, matrix.dtype.name, (rows, a.tile_k, stages), bytes_, cut.swizzle, note)
    subtiles = []
    if matrices.read:
        use = "ring of C subtiles" + (", one per warpgroup and stage" if t.sharing > 1 else "")
        subtiles.append(("c", matrices.read, t.sharing * o.c_stages, use))
    if o.subtile_stages:
        use = "D subtiles on their way out, per warpgroup"
        subtiles.append(("d", matrices.d, t.consumers * o.subtile_stages, use))
    for name, matrix, slots, use in subtiles:
        shape, bytes_ = (MMA_M, o.subtile_n, slots), _subtile_bytes(o, matrix) * slots
        add(name, ALIGNMENT, matrix.dtype.name, shape, bytes_, subtile_swizzle(matrix, MMA_M, o.subtile_n), use)
    for step in matrices.steps:
        if step.scratch:
            size = step.op.shared_bytes
            add(step.scratch, 16, "u8", (size,), size, "none", f"scratch of {step.op.name}")
    for name, count in (("ab", stages), ("c", o.c_stages)):
        for side in ("full", "empty") if count else ():
            add(f"{name}_{side}", 8, "i64", (count,), 8 * count, "none", f"mbarriers: {name} stage is {side}")
    return tuple(found)
