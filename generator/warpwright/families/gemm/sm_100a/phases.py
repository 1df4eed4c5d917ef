"""What a gemm's producer and consumers do per stage, in the prediction's own terms (clocks.py)."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import B200, Device
from warpwright.dtypes import dtype
from warpwright.families.gemm.sm_100a import clocks
from warpwright.families.gemm.sm_100a.prediction import shape_of
from warpwright.plan.phases import Phases
from warpwright.plan.types import Plan

__all__ = ["phases"]

#: Registers of a thread of the epilogue beside its subtile: addresses, bounds and what its operations use.
_OVERHEAD = 32


def phases(plan: Plan, extents: Mapping[str, int], device: Device = B200) -> Phases:
    """Return the phases of a legal plan for D (L, M, N) and depth K. Raises ValueError for an illegal plan.

    Loading takes L2's bandwidth, computing the tensor cores. A stage is free again when its MMAs are done: that counts
    as part of its latency, so that none is held beside those on their way.
    """
    s = shape_of(plan)
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    tiles = clocks.launched(s, m, n, k, batches, device.sms)
    c = clocks.clocks(s, tiles.steps, device)
    deep = tiles.steps > 0
    output = next(argument for argument in plan.arguments if argument.output)
    read = s.written - dtype(output.dtype).bits / 8
    size = s.cluster_m * s.cluster_n
    return Phases(
        stage=f"{s.tile_m} x {s.tile_k} of A, {s.tile_n // s.cta_group} x {s.tile_k} of B",
        stage_bytes=int(s.stage_bytes),
        stages=s.stages,
        held=0,
        load={"L2": c.transfer if deep else 0.0},
        compute={"tensor cores": c.compute if deep else 0.0},
        both={},
        latency=c.load + clocks.chain(s) if deep else 0.0,
        steps=tiles.waves * max(1, tiles.steps),
        exposed=tiles.waves * c.beside + (c.once if tiles.tiles else 0.0),
        resident=1,
        producer_warps=1,
        consumer_warps=s.consumers,
        registers=plan.design.subtile_n + _OVERHEAD,
        asked_bytes=tiles.tiles * (s.asked_bytes * tiles.steps + s.written * s.tile_m * s.tile_n),
        read_bytes=batches * (s.element_bytes * (m * k + k * n) + read * m * n),
        written_bytes=batches * (s.written - read) * m * n,
        dram_bytes_per_second=clocks.dram_rate(s, device),
        pieces=tiles.tiles,
        slots=max(1, device.sms // size) * size,
    )
