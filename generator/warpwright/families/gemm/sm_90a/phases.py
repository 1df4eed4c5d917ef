"""What a gemm's producer and consumers do per stage, in the prediction's own terms (prediction.py)."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.gemm.sm_90a import prediction
from warpwright.families.gemm.sm_90a.tiles import WARPGROUP, WARPS
from warpwright.families.gemm.sm_90a.warps import CONSUMER_OVERHEAD
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.plan.phases import Phases
from warpwright.plan.types import Plan

__all__ = ["phases"]


def phases(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Phases:
    """Return the phases of a legal plan for D (L, M, N) and depth K. Raises ValueError for an illegal plan.

    Loading takes L2's bandwidth; computing takes the tensor cores, and shared memory, which they read and TMA writes.
    """
    predicted = prediction.predict(plan, extents, device)
    d: GemmDesign = plan.design
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    element = dtype(plan.kernel["a"]["dtype"]).bytes
    output = next(argument for argument in plan.arguments if argument.output)
    beside = (x for x in plan.arguments if x.shape == output.shape and x.role == "input")
    written, read = dtype(output.dtype).bytes, sum(dtype(x.dtype).bytes for x in beside)
    deep = -(-k // d.tile_k)
    tiles, waves = predicted.counts["tile"], predicted.counts["wave"]
    clocks = {term: value / max(1, deep) for term, value in predicted.clocks.items()}
    stage_bytes = element * (d.tile_m + d.tile_n) * d.tile_k
    loaded = element * d.tile_k * (d.tile_m / d.cluster_n + d.tile_n / d.cluster_m)
    return Phases(
        stage=f"{d.tile_m} x {d.tile_k} of A, {d.tile_n} x {d.tile_k} of B",
        stage_bytes=stage_bytes,
        stages=d.stages,
        held=1,
        load={"L2": loaded / device.l2_bytes_per_clock if deep else 0.0},
        compute={
            "tensor cores": clocks["tensor cores"],
            "reads of shared memory": stage_bytes / device.shared_bytes_per_clock if deep else 0.0,
        },
        both={term: clocks[term] for term in ("L2", "shared memory")},
        latency=prediction.LOAD_LATENCY * device.hertz + stage_bytes / device.l2_bytes_per_clock if deep else 0.0,
        steps=waves * max(1, deep),
        exposed=waves * predicted.clocks["epilogue that nothing hides"],
        resident=1,
        producer_warps=d.producer_warps,
        consumer_warps=WARPS * d.consumers,
        registers=d.warpgroup_m * d.tile_n // WARPGROUP + CONSUMER_OVERHEAD,
        asked_bytes=tiles * (loaded * deep + (written + read) * d.tile_m * d.tile_n),
        read_bytes=batches * (element * (m * k + k * n) + read * m * n),
        written_bytes=batches * written * m * n,
        dram_bytes_per_second=device.dram_bytes_per_second,
        pieces=tiles,
        slots=device.sms // (d.cluster_m * d.cluster_n) * d.cluster_m * d.cluster_n,
    )
