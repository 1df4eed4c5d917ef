"""Predicts a rung's time from its plan: what each idea hides, and what is left in the open.

Of every tile of K a load waits for memory and then takes its bytes' time, and the MMAs take theirs. What follows the
other adds up; what overlaps costs as much as the longer of the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.ladder.rungs import FIRST_RING, FIRST_TMA
from warpwright.families.ladder.workload.design import LadderDesign
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

__all__ = ["BEGIN", "DRAIN", "Parts", "parts", "predict"]

# Fitted to one run of the nine rungs on an H200 (128 x 128 x 64, 4096^3), whose times they give within 3 %.
#: Of the tensor cores' rate, what a long run of MMAs reaches under the power limit.
REACHED = 0.92
#: Seconds from asking for a stage until its bytes begin to flow, and bytes per clock with which they then do: from L2,
#: which so few bytes per MMA do not exhaust.
LOAD_LATENCY, LOAD_RATE = 0.31e-6, 64
#: Clocks from the end of the MMAs until the next ones begin, where a warpgroup waits for them before anything else.
DRAIN = 100
#: Clocks of a synchronisation of all threads.
SYNCHRONISE = 20
#: Of a tile: clocks of its bias, its conversion and its way through registers, by one warpgroup.
EPILOGUE = 2200
#: Of a CTA: clocks from the end of the one before to its first load, barriers and descriptors included.
BEGIN = 2300


class Parts(NamedTuple):
    """Clocks of what a step along K is made of, and of what a tile takes beside its steps."""

    compute: float  # the MMAs of a step
    transfer: float  # the bytes of a step, from L2
    latency: float  # until they begin to come
    through_registers: float  # what threads that load take to store them, and to say so
    synchronise: float  # until all have read a stage
    epilogue: float


def parts(plan: Plan, device: Device = H200) -> Parts:
    """Return the parts of a legal plan."""
    d: LadderDesign = plan.design
    element = dtype(plan.kernel["dtype"]).bytes
    tile = element * d.tile_k * (d.tile_m + d.tile_n)
    by_threads = d.rung < FIRST_TMA
    written = element * d.tile_m * d.tile_n / LOAD_RATE
    return Parts(
        compute=2 * d.tile_m * d.tile_n * d.tile_k / (REACHED * device.flop_per_clock),
        transfer=element * d.tile_k * (d.tile_m + d.tile_n / d.cluster_m) / LOAD_RATE,
        latency=LOAD_LATENCY * device.hertz,
        through_registers=tile / device.shared_bytes_per_clock + SYNCHRONISE if by_threads else 0.0,
        synchronise=SYNCHRONISE if by_threads else 0.0,
        epilogue=(EPILOGUE + written) / d.sharing,
    )


def predict(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Prediction:
    """Predict a legal plan's time for D (L, M, N) and depth K. Raises ValueError for an illegal plan."""
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    d: LadderDesign = plan.design
    p = parts(plan, device)
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    clusters = _ceil(m, d.tile_m * d.cluster_m) * _ceil(n, d.tile_n) * batches
    tiles = clusters * d.cluster_m
    ctas = min(tiles, 1 if d.one_cta else device.sms // d.cluster_m * d.cluster_m)
    waves = _ceil(tiles, ctas) if tiles else 0
    steps = _ceil(k, d.tile_k)
    load = p.latency + p.transfer
    begin = BEGIN + (load if d.rung >= FIRST_RING else 0.0)  # until the first MMA can begin
    if d.rung < FIRST_RING:  # the warpgroup waits for its MMAs
        step = load + p.through_registers + p.compute + DRAIN + p.synchronise
    else:
        step = max(p.compute, p.transfer, load / (d.stages - 1))  # one of them is read
    beside = p.epilogue
    if d.schedule == "pingpong":  # hidden behind the other warpgroup's tile, as far as that is long enough
        beside = max(0.0, (p.epilogue - steps * step) / 2)
    # A persistent CTA begins once, and its producer runs ahead into the next tile while this one is stored.
    tile, once = (steps * step + beside, begin) if d.persistent else (steps * step + beside + begin, 0.0)
    if d.schedule == "pingpong":
        once += p.epilogue
    busy = (waves * tile + once) / device.hertz if tiles else 0.0
    element = dtype(plan.kernel["dtype"]).bytes
    dram = element * batches * (m * k + k * n + m * n) / device.dram_bytes_per_second
    seconds = max(busy, dram) + device.launch_seconds
    clocks = {"tensor cores": p.compute, "loading": p.transfer, "load latency": p.latency}
    return Prediction(
        seconds=seconds,
        speed=2 * m * n * k * batches / seconds / 1e12,
        rate="TFLOP/s",
        bound=_bound(d, clocks) if busy >= dram else "DRAM",
        clocks={
            **clocks,
            "a step along K": step,
            "a tile beside its steps": tile - steps * step,
            "a CTA's begin and end": once,
        },
        counts={"tile": tiles, "CTA": ctas, "wave": waves},
        notes=(f"of a step of {step:.0f} clocks the tensor cores work {p.compute / step:.0%}",),
    )


def _bound(d: LadderDesign, clocks: Mapping[str, float]) -> str:
    """What a step waits for most: the longest of what overlaps; without a ring, of what follows each other."""
    terms = dict(clocks)
    if d.rung >= FIRST_RING:
        terms["load latency"] = (terms["load latency"] + terms["loading"]) / (d.stages - 1)
    return max(terms, key=lambda term: terms[term])


def _ceil(a: int, b: int) -> int:
    return -(-a // b)
