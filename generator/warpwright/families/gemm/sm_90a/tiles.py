"""How D is divided: which warpgroup computes what of a tile, and in which subtiles it leaves."""

from __future__ import annotations

from typing import NamedTuple

from warpwright.archs import SM90A
from warpwright.families.gemm.sm_90a.asked import Asked

__all__ = ["LANES", "WARPGROUP", "WARPS", "Output", "Tiles", "output", "tiles"]

LANES = 32  # of a warp
WARPS = 4  # of a warpgroup
WARPGROUP = WARPS * LANES  # threads
MMA_M = SM90A.mma.m[0]
#: Columns of a subtile where nobody chooses: the widest that divides the tile and leaves registers to the chain.
_USUAL_COLUMNS = (32, 16, 8)


class Tiles(NamedTuple):
    """Which part of a tile a consumer warpgroup computes."""

    consumers: int  # warpgroups
    sharing: int  # of them, on one tile
    warpgroup_m: int  # rows of D that one of them computes per tile
    accumulators: int  # registers per consumer thread


class Output(NamedTuple):
    """In which subtiles of MMA_M rows D leaves, and C comes."""

    subtile_n: int  # columns
    usual_n: int  # where nobody chooses
    subtiles: int  # of one warpgroup and tile
    subtile_stages: int  # buffers per warpgroup through which D leaves; 0 where threads store
    usual_stages: int
    c_stages: int  # stages of the ring of C; 0 where there is none


def tiles(a: Asked) -> Tiles:
    """Divide the tile among warpgroups. Defined for every point: rules say what is wrong with one."""
    consumers = max(1, a.consumer_warps // WARPS)
    sharing = 1 if a.pingpong else consumers
    warpgroup_m = a.tile_m // sharing
    return Tiles(consumers, sharing, warpgroup_m, warpgroup_m * a.tile_n // WARPGROUP)


def output(a: Asked, t: Tiles) -> Output:
    """Divide what a warpgroup computes into subtiles."""
    usual_n = next((n for n in _USUAL_COLUMNS if a.tile_n % n == 0), 8)
    subtile_n = usual_n if a.epilogue_n is None else a.epilogue_n
    subtiles = t.warpgroup_m // MMA_M * (a.tile_n // subtile_n)
    usual_stages = stages = 0
    if a.by_tma:
        # Slots are dealt out statically, so a tile must end where the next one starts.
        usual_stages = 2 if subtiles % 2 == 0 else 1
        stages = usual_stages if a.epilogue_stages is None else a.epilogue_stages
    c_stages = max(2, stages) if a.computed.tile_operands else 0
    if not a.persistent:
        c_stages = min(c_stages, subtiles)  # of its only tile a CTA takes each subtile of C once
    return Output(subtile_n, usual_n, subtiles, stages, usual_stages, c_stages)
