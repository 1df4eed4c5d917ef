"""Predicts a normalisation's time from its plan: DRAM where rows come and go fast enough, else what holds up an SM.

A group of warps has a row for as long as the steps take that wait for one another (load, sum, sum of squares, activate,
store), and for as long as the other warps of its SM issue instructions in between; the SM is through with as many rows
in that time as it has groups. The rows of all SMs share DRAM. The model ranks designs; it does not replace a
measurement.

Its constants are instructions as counted in the SASS, latencies that copies were found to have (families/copy), and
times of a row fitted to some 50 variants of rows of 1024 to 65536 (NVIDIA H200 at SM clocks of 1.98 GHz, driver
580.159.04, torch 2.11, L2 flushed before each launch).
"""

from __future__ import annotations

from collections.abc import Mapping

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.norm_act.workload.design import NormDesign, chunk, loads_of_row, rows_at_once, walked, walks
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

__all__ = ["predict"]

#: Clocks per second of an SM that mostly waits: the power limit is far.
CLOCK = 1.98e9
#: Seconds from asking for a row until its bytes begin to flow, and the bytes per second of what is in flight on an SM,
#: as read and as written, that come before them.
LOAD_LATENCY, LOADED_RATE = 0.56e-6, 42e9
#: Part of its rate that DRAM loses while reads and writes alternate, and some SMs are done before others; and where
#: CTAs of a few rows go to whichever SM is free.
LOST, LOST_AHEAD = 0.12, 0.02
#: Seconds for which a group has a row by itself: at least, where it was not asked for long ago; for each element of a
#: lane; for each of its warps.
ROW, ROW_ELEMENT, ROW_WARP = 0.2e-6, 0.022e-6, 0.03e-6
#: The same of producers that normalise, whose warps hand a row on before it is activated.
PRODUCED, PRODUCED_ELEMENT = 0.3e-6, 0.01e-6
#: What a CTA with one row for each group takes besides, until its row and its scales are there; and where no other is
#: on its SM meanwhile, until it is launched.
ONCE, ALONE = 0.3e-6, 1.2e-6
#: Seconds for each CTA of a cluster, until all have told what they sum; they also begin together.
EXCHANGED = 0.08e-6
#: Seconds of a step of a walk over a long row, chunk by chunk, for which its warps wait; and where they load as well.
STEP, STEP_OWN = 0.3e-6, 0.5e-6
#: Seconds in which one thread waits for a stage and issues the bulk copy of a row.
ISSUED = 0.19e-6
#: Instructions of a lane and element: to convert, sum, subtract, square, scale; for weight or bias, in registers or in
#: shared memory; to round to y; through the ring of normalised rows.
_NORM, _SCALE, _SCALE_SHARED, _STORE, _RING = {"layer": 5.0, "rms": 3.0}, 1.5, 0.9, 0.5, 0.5
_ACTIVATION = {"identity": 0.0, "relu": 1.0, "silu": 5.0, "gelu_tanh": 7.0, "gelu_erf": 22.0}
#: What a lane saves of them for each element of rows that come at once: bf16 is widened by one instruction, and nothing
#: is asked of full rows (560 instead of 705 for 32 elements).
_SAVED = 4.5
#: Of those, special functions, of which an SM does 16 in a clock.
_SPECIAL = {"identity": 0, "relu": 0, "silu": 2, "gelu_tanh": 2, "gelu_erf": 1}
_SPECIAL_RATE = 16
#: Instructions of a warp and row besides: sums over lanes, barriers, addresses.
_PER_ROW = 110
_SCHEDULERS, _LANES = 4, 32


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def predict(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Prediction:
    """Predict a legal plan's time for M rows of N elements. Raises ValueError for an illegal plan."""
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    d: NormDesign = plan.design
    m, n = extents["M"] * d.ctas_per_row, _ceil(extents["N"], d.ctas_per_row)  # a CTA's part of a row is a row to it
    rows = m if n else 0
    x, y = (dtype(plan.kernel[name]["dtype"]).bytes for name in "xy")
    moved = n * (x * (2 if plan.kernel["residual"] else 1) + y)
    ctas = min(_ceil(rows, 1 if d.persistent else rows_at_once(plan)), device.sms * d.ctas_per_sm)
    sharing = max(1, _ceil(ctas, device.sms))  # CTAs of one SM
    rounds = _ceil(rows, device.sms * sharing)  # of one row for each CTA
    clocks = {term: CLOCK * time for term, time in _times(plan, n, moved, sharing, max(1, rounds), device).items()}
    on_sm = rounds * sharing * max(clocks.values()) / CLOCK
    rate = device.dram_bytes_per_second / (1 + (LOST_AHEAD if d.ahead else LOST))
    dram = m * moved / rate
    # The last CTAs come to an end half of their time after one another: persistent ones' is told in rounds.
    last = 0.5 * rows_at_once(plan) * sharing * max(clocks.values()) / CLOCK if d.ahead else 0.0
    seconds = max(on_sm, dram) + last + device.launch_seconds
    bound = "DRAM" if dram >= on_sm else max(clocks, key=lambda term: clocks[term])
    return Prediction(
        seconds=seconds,
        speed=m * moved / seconds / 1e12,
        rate="TB/s",
        bound=bound,
        clocks={**clocks, "DRAM": moved / (rate / device.sms) * CLOCK},
        counts={"row": rows, "CTA": ctas, "round": rounds},
        notes=(_note(d, bound),),
    )


def _times(plan: Plan, n: int, moved: int, sharing: int, rounds: int, device: Device) -> dict[str, float]:
    """Seconds of one SM and row, by each limit."""
    d: NormDesign = plan.design
    kernel = plan.kernel
    long, read = d.long, moved - n * dtype(kernel["y"]["dtype"]).bytes
    norm = _NORM[kernel["norm"]] + (1.5 if kernel["residual"] else 0.0)
    held = _SCALE_SHARED if d.scales == "shared" else _SCALE
    finish = held * sum(bool(kernel[name]) for name in ("weight", "bias")) + _ACTIVATION[kernel["activation"]] + _STORE
    preprocess = d.specialise == "preprocess"
    each = norm + finish + (2 * _RING if preprocess else 0.0) - (_SAVED if d.ahead else 0.0)
    row_warps = d.producer_warps // d.producer_groups if preprocess else d.warps_per_row
    lane = n / (_LANES * row_warps)
    issue = (lane * each + _PER_ROW) / _SCHEDULERS / CLOCK  # of one warp and row
    special = _SPECIAL[kernel["activation"]]
    steps = walked(plan) * _ceil(n, chunk(plan))  # of walks over a long row, which L2 serves from the second on
    again = n * sum(dtype(kernel[name]["dtype"]).bytes for name in ("weight", "bias") if kernel[name]) if long else 0
    again += (walks(plan) - 1) * read
    found = {
        "L2": (moved + again) / device.l2_bytes_per_clock / CLOCK,
        "special functions": n * special / _SPECIAL_RATE / CLOCK,
        "instructions": row_warps * issue,
    }
    groups = (d.producer_groups if preprocess else d.groups) * sharing
    others = groups * row_warps * issue
    if preprocess:
        found["producers"] = (PRODUCED + PRODUCED_ELEMENT * lane + others) / groups
        mine = n / (_LANES * d.warps_per_row)
        work = mine * (finish + _RING) / _SCHEDULERS / CLOCK
        found["consumers"] = (ROW / 2 + ROW_ELEMENT / 2 * mine) / (d.groups * sharing) + d.warps_per_row * work
        loads = 2 * groups  # a row that is reduced, and the next one
    else:
        own = (
            steps * (STEP if d.specialise == "tma" else STEP_OWN) if long else ROW_ELEMENT * lane + ROW_WARP * row_warps
        )
        own += 0.0 if d.ahead or long else ROW
        own += EXCHANGED * d.ctas_per_row if d.ctas_per_row > 1 else 0.0
        found["groups"] = (own + others) / groups
        if not d.persistent:
            found["groups"] += (ONCE + (ALONE if d.ctas_per_sm == 1 else 0.0)) / groups / d.rows_per_group
        loads = (d.rows_per_group if d.ahead else 2) * groups
    if d.specialise == "tma":
        found["issue of loads"] = ISSUED * loads_of_row(plan, n) / (d.producer_groups * sharing)
        loads = d.stages * sharing
    in_flight = min(loads, rounds * sharing) * d.ctas_per_row * chunk(plan) / d.columns
    # All walks but the last one read alone.
    waits = (walks(plan) - 1) * (LOAD_LATENCY + in_flight * read / LOADED_RATE)
    found["load latency"] = (waits + LOAD_LATENCY + in_flight * moved / LOADED_RATE) / in_flight
    return found


def _note(d: NormDesign, bound: str) -> str:
    """What would help, in words."""
    if bound == "DRAM":
        return "DRAM is busy all the time: no split of warps is faster"
    if bound == "load latency":
        more = {"none": "groups, rows per group or CTAs per SM", "tma": "stages", "preprocess": "producer groups"}[
            d.specialise
        ]
        return f"too little is in flight: more {more} would help"
    if bound in ("groups", "consumers", "producers"):
        return f"the {bound} take turns too slowly: more of them, or more warps for a row, would help"
    if bound == "issue of loads":
        return "one thread issues a copy for each row: more producer groups, or longer rows, would help"
    return f"{bound} of an SM take as long, however they are divided"
