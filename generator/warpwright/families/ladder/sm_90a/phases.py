"""What a rung's producer and consumers do per stage, in the prediction's own terms (prediction.py)."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.gemm.sm_90a.tiles import WARPGROUP, WARPS
from warpwright.families.gemm.sm_90a.warps import CONSUMER_OVERHEAD
from warpwright.families.ladder.rungs import FIRST_OF_ROLES
from warpwright.families.ladder.sm_90a import prediction
from warpwright.families.ladder.workload.design import LadderDesign
from warpwright.plan.phases import Phases
from warpwright.plan.types import Plan

__all__ = ["phases"]


def phases(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Phases | None:
    """Return the phases of a legal plan for D (L, M, N) and depth K, None of a rung whose warps all do the same.

    Raises ValueError for an illegal plan.
    """
    predicted = prediction.predict(plan, extents, device)
    d: LadderDesign = plan.design
    if d.rung < FIRST_OF_ROLES:
        return None
    parts = prediction.parts(plan, device)
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    element = dtype(plan.kernel["dtype"]).bytes
    tiles, waves = predicted.counts["tile"], predicted.counts["wave"]
    deep = -(-k // d.tile_k)
    clocks = predicted.clocks
    loaded = element * d.tile_k * (d.tile_m + d.tile_n / d.cluster_m)
    return Phases(
        stage=f"{d.tile_m} x {d.tile_k} of A, {d.tile_n} x {d.tile_k} of B",
        stage_bytes=element * d.tile_k * (d.tile_m + d.tile_n),
        stages=d.stages,
        held=1,
        load={"L2": parts.transfer if deep else 0.0},
        compute={"tensor cores": parts.compute if deep else 0.0},
        both={},
        latency=parts.latency + parts.transfer if deep else 0.0,
        steps=waves * max(1, deep),
        exposed=waves * clocks["a tile beside its steps"] + (clocks["a CTA's begin and end"] if tiles else 0.0),
        resident=1,
        producer_warps=d.producer_warps,
        consumer_warps=WARPS * d.consumers,
        registers=d.warpgroup_m * d.tile_n // WARPGROUP + CONSUMER_OVERHEAD,
        asked_bytes=tiles * (loaded * deep + element * d.tile_m * d.tile_n),
        read_bytes=batches * element * (m * k + k * n),
        written_bytes=batches * element * m * n,
        dram_bytes_per_second=device.dram_bytes_per_second,
        pieces=tiles,
        slots=device.sms // d.cluster_m * d.cluster_m,
    )
