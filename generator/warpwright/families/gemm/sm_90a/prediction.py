"""Predicts a gemm's time from its plan: which of tensor cores, L2, shared memory or DRAM bounds it.

The model counts clocks per tile against four measured rates (see `arch.Device`) and takes the slowest. It ranks tiles;
it does not replace a measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from warpwright.archs import H200, Device
from warpwright.dtypes import dtype
from warpwright.families.gemm.workload.design import GemmDesign
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

__all__ = ["predict"]

#: Seconds from asking for a stage until its bytes begin to flow; then they take their time at L2's rate. Measured on
#: H200 (4096^3): two stages of 128 x 256 x 64 take 1.1 us each, of which 49,152 bytes at 46.6 B per clock are 0.7;
#: stages of a few KB take 0.5 us. Predictions of 170 random variants rank as their times do (Spearman 0.87).
LOAD_LATENCY = 0.5e-6


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def predict(plan: Plan, extents: Mapping[str, int], device: Device = H200) -> Prediction:
    """Predict a legal plan's time for D (L, M, N) and depth K. Raises ValueError for an illegal plan."""
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    d: GemmDesign = plan.design
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    a = next(argument for argument in plan.arguments if argument.name == "a")
    output = next(argument for argument in plan.arguments if argument.output)
    element, written = dtype(a.dtype).bytes, dtype(output.dtype).bytes
    # D, and what the epilogue reads beside it.
    written += sum(dtype(x.dtype).bytes for x in plan.arguments if x.shape == output.shape and x.role == "input")

    clusters = _ceil(m, d.tile_m * d.cluster_m) * _ceil(n, d.tile_n * d.cluster_n) * batches
    size = d.cluster_m * d.cluster_n
    tiles = clusters * size
    ctas = min(tiles, device.sms // size * size)
    waves = _ceil(tiles, ctas) if tiles else 0
    # The padded depth: whole stages are loaded and multiplied.
    depth = _ceil(k, d.tile_k) * d.tile_k
    stored = written * d.tile_m * d.tile_n
    stage_bytes = element * (d.tile_m + d.tile_n) * d.tile_k
    load_clocks = LOAD_LATENCY * device.hertz + stage_bytes / device.l2_bytes_per_clock
    loaded = element * depth * (d.tile_m / d.cluster_n + d.tile_n / d.cluster_m)
    clocks = {
        "tensor cores": 2 * d.tile_m * d.tile_n * depth / device.flop_per_clock,
        "L2": (loaded + stored) / device.l2_bytes_per_clock,
        # A ring of S stages has S - 1 loads in flight while one stage is read.
        "load latency": depth // d.tile_k * load_clocks / (d.stages - 1),
        "shared memory": (2 * element * depth * (d.tile_m + d.tile_n) + 2 * stored) / device.shared_bytes_per_clock,
    }
    # Pingpong hides the epilogue behind the other warpgroup's MMAs; else shared memory and L2 take their time alone.
    epilogue = 0.0 if d.schedule == "pingpong" else stored / device.l2_bytes_per_clock
    compute = waves * (max(clocks.values()) + epilogue) / device.hertz
    dram = batches * (element * (m * k + k * n) + written * m * n) / device.dram_bytes_per_second
    seconds = max(compute, dram) + device.launch_seconds
    return Prediction(
        seconds=seconds,
        speed=2 * m * n * k * batches / seconds / 1e12,
        rate="TFLOP/s",
        bound=max(clocks, key=lambda term: clocks[term]) if compute >= dram else "DRAM",
        clocks={**clocks, "epilogue that nothing hides": epilogue},
        counts={"tile": tiles, "CTA": ctas, "wave": waves},
        notes=(
            _stages_note(clocks, d.stages, depth // d.tile_k * load_clocks, compute < dram),
            "the epilogue's arithmetic is left out",
        ),
    )


def _stages_note(clocks: Mapping[str, float], stages: int, waited: float, dram_bound: bool) -> str:
    """Say how many stages hide the latency of loads behind the slowest of the other terms; more of them gain nothing.

    `waited` is what the loads of a tile take one after the other, in clocks.
    """
    others = {term: value for term, value in clocks.items() if term != "load latency"}
    slowest = max(others, key=lambda term: others[term])
    needed = max(2, 1 + math.ceil(waited / others[slowest]))
    if dram_bound and stages < needed:
        return f"hiding the latency of a load takes {needed} stages; with {stages}, DRAM still takes longer"
    verdict = "enough" if stages >= needed else "too few"
    return f"hiding the latency of a load behind {slowest} takes {needed} stages; {stages} are {verdict}"
