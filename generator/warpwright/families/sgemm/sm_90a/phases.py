"""What an SGEMM's producer and consumers do per stage, in the prediction's own terms (prediction.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from warpwright.archs import H200, Device
from warpwright.families.products.tiles import ceil
from warpwright.families.sgemm.sm_90a import prediction
from warpwright.families.sgemm.sm_90a.solution import BYTES
from warpwright.families.sgemm.sm_90a.warps import OVERHEAD, operand_registers
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.phases import Phases, Way
from warpwright.plan.types import Plan

__all__ = ["phases"]


def phases(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Phases | None:
    """Return the phases of a legal plan for D (L, M, N) and depth K, None where all warps do the same.

    Loading takes L2's bandwidth, and no warp's work; computing takes the turns in which schedulers issue, and what a
    warp waits by itself. Raises ValueError for an illegal plan.
    """
    predicted = prediction.predict(plan, extents, device)
    d: SgemmDesign = plan.design
    if not d.specialised:
        return None
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    tiles, ctas, waves = (predicted.counts[noun] for noun in ("tile", "CTA", "wave"))
    deep, sharing = ceil(k, d.tile_k), ceil(ctas, device.sms)  # stages of a tile; tiles of an SM at once
    last = ceil(tiles - max(0, waves - 1) * ctas, device.sms)
    stage_bytes, stored = BYTES * (d.tile_m + d.tile_n) * d.tile_k, BYTES * d.tile_m * d.tile_n
    per_tile = {term: max(0.0, value - prediction.TILE_LATENCY) for term, value in predicted.clocks.items()}
    clocks = {term: value / (deep * sharing) if deep and tiles else 0.0 for term, value in per_tile.items()}
    issue, alone = clocks["FFMA issue"], clocks["latency of a warp"]
    steps = deep * (max(0, waves - 1) * sharing + last)
    dram = BYTES * batches * (m * k + k * n + m * n) / device.dram_bytes_per_second
    # What a wave takes beside its stages; of the last one also what its fewer tiles wait for.
    exposed = float(waves * prediction.TILE_LATENCY)
    on_sms = (predicted.seconds - device.launch_seconds) * prediction.HERTZ
    if predicted.seconds - device.launch_seconds > dram:
        exposed = max(0.0, on_sms - steps * max(clocks.values()))
    majors = [plan.kernel[name]["major"] for name in "ab"]  # where threads load, A M-major and B N-major alone
    operands = operand_registers(d.thread_m, d.thread_n, *(major == "k" for major in majors))
    return Phases(
        stage=f"{d.tile_m} x {d.tile_k} of A, {d.tile_n} x {d.tile_k} of B",
        stage_bytes=stage_bytes,
        stages=d.stages,
        held=1,
        load={"L2": stage_bytes / device.l2_bytes_per_clock if deep else 0.0},
        compute={"FFMA issue": issue, "latency of a warp": alone},
        both={term: clocks[term] for term in ("L2", "shared memory")},
        latency=prediction.HERTZ * prediction.LOAD_LATENCY + stage_bytes / device.l2_bytes_per_clock if deep else 0.0,
        steps=max(steps, waves),
        exposed=exposed,
        resident=max(1, sharing),
        producer_warps=d.producer_warps,
        consumer_warps=d.warps_m * d.warps_n,
        consumer_work=alone * sharing * d.warps_m * d.warps_n,
        pace=max(issue, clocks["L2"], clocks["shared memory"]),
        registers=min(255, d.thread_m * d.thread_n + operands + OVERHEAD),
        asked_bytes=tiles * (stage_bytes * deep + stored),
        read_bytes=BYTES * batches * (m * k + k * n),
        written_bytes=BYTES * batches * m * n,
        dram_bytes_per_second=device.dram_bytes_per_second,
        pieces=tiles,
        slots=device.sms * d.ctas_per_sm,
        hertz=prediction.HERTZ,
        without=() if majors != ["m", "n"] else tuple(_without(plan, extents, device, stage_bytes)),
    )


def _without(plan: Plan, extents: Mapping[str, int], device: Device, stage_bytes: int) -> Iterator[Way]:
    """The family's own kernels of this tile whose warps all load and compute, with other depths of the ring."""
    d: SgemmDesign = plan.design
    for stages in sorted({2, 3, d.stages}):
        design = dataclasses.replace(
            d, stages=stages, producer_warps=0, producer_registers=None, consumer_registers=None
        )
        seconds = prediction.predict(dataclasses.replace(plan, design=design), extents, device).seconds
        yield Way(stages, seconds, d.ctas_per_sm, stages * stage_bytes)
