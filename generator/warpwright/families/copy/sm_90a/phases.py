"""What a copy's producers and consumers do per chunk, in the prediction's own terms (prediction.py)."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.copy.sm_90a import prediction
from warpwright.families.copy.sm_90a.rules import OVERHEAD
from warpwright.families.copy.workload.design import CopyDesign
from warpwright.plan.phases import Phases
from warpwright.plan.types import Plan

__all__ = ["phases"]


def phases(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Phases:
    """Return the phases of a legal plan for N elements. Raises ValueError for an illegal plan.

    Loading takes x's part of L2 and DRAM; computing takes the instructions that scale a chunk, and y's part. Bulk
    copies are no warp's work; scaling is.
    """
    predicted = prediction.predict(plan, extents, device)
    d: CopyDesign = plan.design
    x, y = dtype(plan.kernel["x"]["dtype"]).bytes, dtype(plan.kernel["y"]["dtype"]).bytes
    n, e = extents["N"], d.stage_elements
    found, ctas, rounds = (predicted.counts[noun] for noun in ("chunk", "CTA", "round"))
    sharing = -(-ctas // device.sms)
    elements = d.slice_elements // prediction.LANES  # of a lane, in a chunk
    return Phases(
        stage=f"{e} elements of x",
        stage_bytes=e * x,
        stages=d.stages,
        held=0,  # a chunk is in registers before its stage is given back
        load={"L2": e * x / device.l2_bytes_per_clock},
        compute={"instructions": predicted.clocks["instructions"], "L2": e * y / device.l2_bytes_per_clock},
        both={term: predicted.clocks[term] for term in ("L2", "shared memory")},
        latency=device.hertz * prediction.LOAD_LATENCY,
        queued=device.hertz * e * (x + y) / prediction.LOADED_RATE,
        steps=rounds * sharing,
        most=max(1, rounds),
        resident=max(1, sharing),
        producer_warps=d.producer_warps,
        consumer_warps=d.consumer_warps,
        consumer_work=prediction.slice_clocks(e, max(x, y)),
        registers=elements * (x + y) // 4 + OVERHEAD,
        asked_bytes=n * (x + y),
        read_bytes=n * x,
        written_bytes=n * y,
        dram_bytes_per_second=prediction.dram_rate(plan, sharing, device),
        pieces=found,
        slots=device.sms * d.ctas_per_sm,
    )
