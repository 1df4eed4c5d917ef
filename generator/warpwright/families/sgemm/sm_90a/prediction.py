"""Predicts an SGEMM's time from its plan: which of FFMA issue, latency, shared memory, L2 or DRAM bounds it.

The model counts the clocks in which one SM is through with the tiles of its CTAs, by each limit, and takes the slowest:
a scheduler issues one instruction per clock, whichever of its warps it is of, and a warp that waits (for shared memory
at a block of K, for a barrier at a stage) leaves its turns to the others, as long as there are some. It ranks designs;
it does not replace a measurement.

Its constants are fitted to 92 times of twenty-three variants at four problems (NVIDIA H200 at 1980 MHz, driver
580.159.04, L2 flushed before each launch).
"""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import H200, Device
from warpwright.families.products.tiles import ceil, count
from warpwright.families.sgemm.sm_90a.lanes import order
from warpwright.families.sgemm.workload.design import SgemmDesign
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

__all__ = ["predict"]

_BYTES, _VECTOR, _SCHEDULERS, _LANES = 4, 4, 4, 32
#: FFMAs leave the power limit alone, and so the clock is the largest one.
HERTZ = 1.98e9
#: Of the turns of a scheduler, those in which it issues: an FFMA that reads three registers takes two, as some do.
ISSUED = 0.968
#: Turns that a read of 16 bytes per lane takes beside its own, where neighbours share what they read.
SHARED_READ = 1.25
#: Turns around a block of K, and around a stage with and without a producer, where all warps of a scheduler meet; for
#: each vector that a thread copies.
PER_BLOCK, PER_STAGE, PER_STAGE_OF_ALL, PER_COPY = 7, 118, 15, 43
#: Clocks that a warp by itself waits for the operands of a block, and for a stage and its release.
BLOCK_LATENCY, STAGE_LATENCY = 4, 210
#: Clocks around a tile: bias, stores, and the first stage of the next one.
TILE_LATENCY = 6_800
#: Turns until a vector of K of each of a K-major operand's lines has been read, for which all products of a block wait;
#: of both operands, those that read two registers of one bank, of each FFMA.
VECTOR_LATENCY, ONE_BANK = 65, 0.058
#: Seconds from asking for a stage until its bytes begin to flow.
LOAD_LATENCY = 0.7e-6


def predict(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Prediction:
    """Predict a legal plan's time for D (L, M, N) and depth K. Raises ValueError for an illegal plan."""
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    d: SgemmDesign = plan.design
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    tiles = count(d, extents)
    ctas = min(tiles, device.sms * d.ctas_per_sm)
    waves = ceil(tiles, ctas) if tiles else 0
    last = tiles - max(0, waves - 1) * ctas  # tiles of the last wave, of which an SM may have fewer than it could
    stages = ceil(k, d.tile_k)
    along_k = sum(plan.kernel[name]["major"] == "k" for name in "ab")
    whole, rest = (_clocks(d, stages, along_k, ceil(each, device.sms), device) for each in (ctas, last))
    on_sms = (max(0, waves - 1) * max(whole.values()) + max(rest.values()) if tiles else 0.0) / HERTZ
    dram = batches * _BYTES * (m * k + k * n + m * n) / device.dram_bytes_per_second
    seconds = max(on_sms, dram) + device.launch_seconds
    shown = whole if waves > 1 else rest
    return Prediction(
        seconds=seconds,
        speed=2 * m * n * k * batches / seconds / 1e12,
        rate="TFLOP/s",
        bound="DRAM" if dram > on_sms else max(shown, key=lambda term: shown[term]),
        clocks=shown,
        counts={"tile": tiles, "CTA": ctas, "wave": waves},
        notes=(_note(d, tiles, device),),
    )


def _clocks(d: SgemmDesign, stages: int, along_k: int, tiles: int, device: Device) -> dict[str, float]:
    """Of `tiles` tiles that an SM computes at once, each of so many stages; of which `along_k` operands are K-major."""
    depth, warps = stages * d.tile_k, d.warps_m * d.warps_n
    lanes = order(d.lane_order, d.lanes_m)
    reads = (d.thread_m // _VECTOR, d.thread_n // _VECTOR)
    blocks = stages * (d.tile_k // d.unroll)
    wavefronts = [lanes.wavefronts(along_m) for along_m in (True, False)]
    shared_reads = sum(number for number, each in zip(reads, wavefronts, strict=True) if each < _VECTOR)
    issued = depth * (d.thread_m * d.thread_n + sum(reads) + shared_reads * SHARED_READ) + blocks * PER_BLOCK
    if along_k:
        issued += blocks * VECTOR_LATENCY
    if along_k == 2:  # every other value of B is moved
        issued += depth * (d.thread_n // 2 + d.thread_m * d.thread_n * ONE_BANK)
    if d.specialised:
        issued += stages * PER_STAGE
    else:
        vectors = (d.tile_m + d.tile_n) * d.tile_k // (_VECTOR * _LANES * warps)
        issued += stages * (PER_STAGE_OF_ALL + vectors * PER_COPY)
    turns = issued / ISSUED
    alone = turns + blocks * BLOCK_LATENCY + stages * STAGE_LATENCY
    stage_bytes = _BYTES * (d.tile_m + d.tile_n) * d.tile_k
    served = warps * sum(number * each for number, each in zip(reads, wavefronts, strict=True))
    shared = depth * served + stages * stage_bytes / device.shared_bytes_per_clock
    load = HERTZ * LOAD_LATENCY + stage_bytes / device.l2_bytes_per_clock
    stored = _BYTES * d.tile_m * d.tile_n
    found = {
        "FFMA issue": turns * max(1, tiles * warps / _SCHEDULERS),
        "latency of a warp": alone if tiles else 0.0,
        "shared memory": tiles * shared,
        "L2": tiles * (stages * stage_bytes + stored) / device.l2_bytes_per_clock,
        "load latency": stages * load / (d.stages - 1),
    }
    return {term: clocks + TILE_LATENCY for term, clocks in found.items()} if tiles else dict.fromkeys(found, 0.0)


def _note(d: SgemmDesign, tiles: int, device: Device) -> str:
    """Say what part of the SMs' time tiles fill: the last wave may have few."""
    most = device.sms * ceil(tiles, device.sms)
    return f"{tiles} tiles keep {device.sms} SMs busy for {tiles / most:.0%} of the time" if tiles else "nothing to do"
