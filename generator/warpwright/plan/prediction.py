"""Predicts a gemm's time from its plan: which of tensor cores, L2, shared memory or DRAM bounds it.

The model counts clocks per tile against four measured rates (see `arch.Device`) and takes the slowest. It ranks tiles;
it does not replace a measurement.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpwright.plan.arch import H200, Device
from warpwright.plan.dtypes import dtype
from warpwright.plan.types import Plan

__all__ = ["Prediction", "predict"]

#: Seconds from asking for a stage until its bytes begin to flow; then they take their time at L2's rate. Measured on
#: H200 (4096^3): two stages of 128 x 256 x 64 take 1.1 us each, of which 49,152 bytes at 46.6 B per clock are 0.7;
#: stages of a few KB take 0.5 us. Predictions of 170 random variants rank as their times do (Spearman 0.87).
LOAD_LATENCY = 0.5e-6


@dataclass(frozen=True)
class Prediction:
    """Seconds in all and what they consist of; `clocks` are per tile and term, `bound` names the largest."""

    seconds: float
    tflops: float
    bound: str
    tiles: int
    waves: int
    ctas: int
    clocks: dict[str, float]
    epilogue_clocks: float
    stages_needed: int


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def predict(plan: Plan, m: int, n: int, k: int, l: int = 1, device: Device = H200) -> Prediction:  # noqa: E741
    """Predict a legal plan's time for D (l, m, n) and depth k. Raises ValueError for an illegal plan."""
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    tile_m, tile_n, tile_k = (int(c.value) for c in plan.constants[:3])
    cluster_m, cluster_n = plan.cluster
    element = dtype(next(a.dtype for a in plan.arguments if a.name == "a")).bytes
    output = dtype(next(a.dtype for a in plan.arguments if a.output)).bytes
    extra = sum(dtype(a.dtype).bytes for a in plan.arguments if a.kind == "tensor" and a.name not in ("a", "b", "d"))

    clusters = _ceil(m, tile_m * cluster_m) * _ceil(n, tile_n * cluster_n) * l
    tiles = clusters * cluster_m * cluster_n
    ctas = min(tiles, device.sms // (cluster_m * cluster_n) * (cluster_m * cluster_n))
    waves = _ceil(tiles, ctas) if tiles else 0
    # The padded depth: whole stages are loaded and multiplied.
    depth = _ceil(k, tile_k) * tile_k
    stored = (output + extra) * tile_m * tile_n
    load_clocks = LOAD_LATENCY * device.hertz + int(plan.facts["stage_bytes"]) / device.l2_bytes_per_clock
    clocks = {
        "tensor cores": 2 * tile_m * tile_n * depth / device.flop_per_clock,
        "L2": (element * depth * (tile_m / cluster_n + tile_n / cluster_m) + stored) / device.l2_bytes_per_clock,
        # A ring of S stages has S - 1 loads in flight while one stage is read.
        "load latency": depth // tile_k * load_clocks / (int(plan.facts["stages"]) - 1),
        "shared memory": (2 * element * depth * (tile_m + tile_n) + 2 * stored) / device.shared_bytes_per_clock,
    }
    # Pingpong hides the epilogue behind the other warpgroup's MMAs; else shared memory and L2 take their time alone.
    alternates = plan.facts["sharing"] == 1 and plan.facts["consumers"] == 2
    epilogue = 0.0 if alternates else stored / device.l2_bytes_per_clock
    per_tile = max(clocks.values()) + epilogue
    elements = m * k + k * n
    dram = l * (element * elements + (output + extra) * m * n) / device.dram_bytes_per_second
    compute = waves * per_tile / device.hertz
    bound = max(clocks, key=lambda term: clocks[term]) if compute >= dram else "DRAM"
    seconds = max(compute, dram) + device.launch_seconds
    flop = 2 * m * n * k * l
    stage_clocks = 2 * tile_m * tile_n * tile_k / device.flop_per_clock
    return Prediction(
        seconds=seconds,
        tflops=flop / seconds / 1e12,
        bound=bound,
        tiles=tiles,
        waves=waves,
        ctas=ctas,
        clocks=clocks,
        epilogue_clocks=epilogue,
        stages_needed=1 + int(-(-load_clocks // stage_clocks)),
    )
