"""How D is divided: which warp multiplies what of a tile, where its sums lie, and in which subtiles they leave."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.families.gemm.sm_100a.asked import Asked
from warpwright.families.gemm.sm_100a.scaled import scales

__all__ = ["LANES", "MMA_M", "WARPGROUP", "WARPS", "Accumulators", "Output", "accumulators", "output", "with_scales"]

LANES = 32  # of a warp
WARPS = 4  # of a warpgroup, which together reach all lanes of tensor memory
WARPGROUP = WARPS * LANES  # threads
#: Rows of one MMA in one CTA: a lane of tensor memory each. With 64 of them, half of the lanes, an MMA takes as long.
MMA_M = 128
#: Columns of a subtile where nobody chooses: the widest that divides what a warpgroup drains.
_USUAL_COLUMNS = (32, 16, 8)
#: Of C's ring of subtiles, at least: one lands while the one before is added.
_C_STAGES = 2
#: Stages of scales, at least, for which there must be room beside a second accumulator: half of a usual ring.
_LEAST_SCALES = 3


class Accumulators(NamedTuple):
    """The sums of a CTA in tensor memory, and who fills and drains them."""

    consumers: int  # warps that issue MMAs, of MMA_M rows each; they share B
    stages: int  # accumulators of each of them
    used: int  # columns of tensor memory, scales behind them
    columns: int  # that are allocated for them: a power of two
    warpgroups: int  # of the epilogue
    across: int  # of them, side by side on the columns of one accumulator


class Output(NamedTuple):
    """In which subtiles of MMA_M rows D leaves, and C comes."""

    subtile_n: int  # columns
    usual_n: int  # where nobody chooses
    subtiles: int  # of one warpgroup and tile
    subtile_stages: int  # buffers per warpgroup through which D leaves; 0 where threads store
    usual_stages: int
    c_stages: int  # stages of the ring of C; 0 where there is none


def accumulators(a: Asked) -> Accumulators:
    """Divide the tile. Defined for every point: rules say what is wrong with one."""
    consumers = max(1, a.tile_m // MMA_M)
    once, scaled = consumers * a.tile_n, scales(a)
    beside = _LEAST_SCALES * scaled.columns if scaled else 0
    stages = a.accumulator_stages
    if stages is None:  # a CTA's only tile has no other one to overlap with
        stages = 2 if 2 * once + beside <= a.arch.tensor_columns and a.several_tiles else 1
    used = stages * once
    columns = max(a.arch.tensor_least, _power_of_two(used))
    warpgroups = max(1, (WARPS * consumers if a.epilogue_warps is None else a.epilogue_warps) // WARPS)
    return Accumulators(consumers, stages, used, columns, warpgroups, max(1, warpgroups // consumers))


def with_scales(a: Asked, t: Accumulators, ring_stages: int) -> Accumulators:
    """The same with the scales of so many stages of the ring behind the accumulators."""
    scaled = scales(a)
    if scaled is None:
        return t
    used = t.used + ring_stages * scaled.columns
    return t._replace(used=used, columns=max(a.arch.tensor_least, _power_of_two(used)))


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()


def output(a: Asked, t: Accumulators) -> Output:
    """Divide what a warpgroup of the epilogue drains into subtiles."""
    columns = a.tile_n // t.across
    usual_n = next((n for n in _USUAL_COLUMNS if columns % n == 0), 8)
    subtile_n = usual_n if a.epilogue_n is None else a.epilogue_n
    subtiles = max(1, columns // subtile_n)
    usual_stages = stages = 0
    if a.by_tma:
        # Slots are dealt out statically, so a tile must end where the next one starts.
        usual_stages = 2 if subtiles % 2 == 0 else 1
        stages = usual_stages if a.epilogue_stages is None else a.epilogue_stages
    c_stages = max(_C_STAGES, stages) if a.computed.tile_operands else 0
    if not a.several_tiles:
        c_stages = min(c_stages, subtiles)  # of its only tile a CTA takes each subtile of C once
    return Output(subtile_n, usual_n, subtiles, stages, usual_stages, c_stages)
