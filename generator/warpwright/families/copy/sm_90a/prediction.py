"""Predicts a copy's time from its plan: DRAM where enough is in flight, else what holds up an SM.

The model counts the clocks in which one SM is through with a chunk, by each of four limits, and takes the slowest; the
chunks of all SMs share DRAM. It ranks designs; it does not replace a measurement.

Its constants are fitted to 129 times of 123 variants at 2^28 elements (NVIDIA H200 at SM clocks of 1.98 GHz, driver
580.159.04, torch 2.11, L2 flushed before each launch): stages of 2 to 32 KiB, rings of 2 to 26, 1 to 8 CTAs per SM,
both ways out, every pair of dtypes. The largest error is 8 %, and predictions rank as times do (Spearman 0.90). Of 73
times at 2^24, to which nothing was fitted, the largest error is 16 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.copy.workload.design import CopyDesign, chunks
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

__all__ = ["LANES", "LOADED_RATE", "LOAD_LATENCY", "dram_rate", "predict", "slice_clocks"]

#: Seconds from asking for a chunk until its bytes begin to flow, where little else is on its way.
LOAD_LATENCY = 0.56e-6
#: What comes with each load waits for all that is in flight on its SM, as read and as written: bytes per second. Two
#: stages of 4 KiB, with f16 both ways, take 0.96 us a turn and four take 1.34.
LOADED_RATE = 42e9
#: Parts of its rate that DRAM loses while reads and writes alternate: to every kernel; to stages beyond 4 KiB; and for
#: each CTA of an SM that stores by TMA, whose writes come in bursts. Found in the times, not derived.
_LOST, _LOST_TO_LARGE, _LOST_TO_TMA = 0.051, 0.026, 0.004
_LARGE_BYTES = 4096
#: Of a lane and element: to convert, multiply, convert; of a lane and vector: to load and to store it. As in the SASS.
_PER_ELEMENT, _PER_VECTOR = 2.5, 2
#: Clocks in which a warp waits for its barrier, signals, and issues its store; four warps of an SM do so at once.
_PER_SLICE = 80
_SCHEDULERS, LANES = 4, 32


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def dram_rate(plan: Plan, sharing: int, device: Device = H200) -> float:
    """Return the bytes per second that DRAM moves, where `sharing` CTAs work on each SM."""
    d: CopyDesign = plan.design
    wide = max(dtype(plan.kernel[name]["dtype"]).bytes for name in "xy")
    large = _LOST_TO_LARGE if d.stage_elements * wide > _LARGE_BYTES else 0
    return device.dram_bytes_per_second / (1 + _LOST + large + (_LOST_TO_TMA * sharing if d.slots else 0))


def slice_clocks(elements: int, wide_bytes: int) -> float:
    """Return the clocks in which one warp waits for so many elements, scales and stores them."""
    return elements * (_PER_ELEMENT + _PER_VECTOR * wide_bytes / 16) / LANES + _PER_SLICE


def predict(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Prediction:
    """Predict a legal plan's time for N elements. Raises ValueError for an illegal plan."""
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    d: CopyDesign = plan.design
    x, y = dtype(plan.kernel["x"]["dtype"]).bytes, dtype(plan.kernel["y"]["dtype"]).bytes
    n, e = extents["N"], d.stage_elements
    found = max(1, chunks(plan, n)) if n else 0
    ctas = min(found, device.sms * d.ctas_per_sm)
    rounds = _ceil(found, ctas) if ctas else 0
    sharing = _ceil(ctas, device.sms)  # CTAs of one SM
    # The whole ring is on its way: a stage is given back as soon as its chunk is in registers.
    in_flight = max(1, sharing) * min(d.stages, max(1, rounds))
    load = device.hertz * (LOAD_LATENCY + in_flight * e * (x + y) / LOADED_RATE)
    clocks = {  # of one SM and chunk
        "L2": e * (x + y) / device.l2_bytes_per_clock,
        # x comes and is read, and y likewise where it leaves through shared memory.
        "shared memory": e * (2 * x + (2 * y if d.slots else 0)) / device.shared_bytes_per_clock,
        "load latency": load / in_flight,
        "instructions": d.consumer_warps * slice_clocks(d.slice_elements, max(x, y)) / _SCHEDULERS,
    }
    on_sm = rounds * sharing * max(clocks.values()) / device.hertz
    rate = dram_rate(plan, sharing, device)
    dram = n * (x + y) / rate
    seconds = max(on_sm, dram) + device.launch_seconds
    share = rate / device.sms  # bytes per second that DRAM has for an SM
    needed = max(2, _ceil(math.ceil(LOAD_LATENCY / (1 / share - 1 / LOADED_RATE)), d.ctas_per_sm * e * (x + y)))
    verdict = "enough" if d.stages >= needed else "too few"
    bound = "DRAM" if dram >= on_sm else max(clocks, key=lambda term: clocks[term])
    note = f"keeping DRAM busy takes {needed} stages per CTA; {d.stages} are {verdict}"
    if bound not in ("DRAM", "load latency"):  # what more stages would do nothing about
        note = f"{bound}, not the number of stages, keeps DRAM from being busy all the time"
    return Prediction(
        seconds=seconds,
        speed=n * (x + y) / seconds / 1e12,
        rate="TB/s",
        bound=bound,
        clocks={**clocks, "DRAM": e * (x + y) / share * device.hertz},
        counts={"chunk": found, "CTA": ctas, "round": rounds},
        notes=(note,),
    )
