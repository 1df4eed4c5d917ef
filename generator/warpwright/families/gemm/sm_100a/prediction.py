"""Predicts a gemm's time on B200 from its plan, by the clocks of `clocks.py`; no Blackwell device has confirmed one."""

from __future__ import annotations

import math
from collections.abc import Mapping

from warpwright.archs import B200, Device
from warpwright.dtypes import SCALED, dtype
from warpwright.families.gemm.sm_100a import clocks
from warpwright.families.gemm.sm_100a.clocks import Shape
from warpwright.plan.prediction import Prediction
from warpwright.plan.types import Plan

__all__ = ["UNTRIED", "of_shape", "predict", "shape_of"]

UNTRIED = "modelled: no Blackwell device has run this kernel"


def predict(plan: Plan, extents: Mapping[str, int], device: Device = B200) -> Prediction:
    """Predict a legal plan's time for D (L, M, N) and depth K. Raises ValueError for an illegal plan."""
    return of_shape(shape_of(plan), extents, device)


def shape_of(plan: Plan) -> Shape:
    """Return a legal plan in plain numbers. Raises ValueError for an illegal one."""
    if not plan.legal:
        raise ValueError(f"{plan.label} is illegal: {plan.violations[0].message}")
    d = plan.design
    word = plan.kernel["a"]["dtype"]
    a = next(argument for argument in plan.arguments if argument.name == "a")
    output = next(argument for argument in plan.arguments if argument.output)
    # D, and what the epilogue reads beside it.
    beside = [x for x in plan.arguments if x.shape == output.shape and x.role == "input"]
    return Shape(
        tile_m=d.tile_m,
        tile_n=d.tile_n,
        tile_k=d.tile_k,
        bits=dtype(a.dtype).bits,
        written=sum(dtype(x.dtype).bits / 8 for x in (output, *beside)),
        cta_group=d.cta_group,
        cluster_m=d.cluster_m,
        cluster_n=d.cluster_n,
        stages=d.stages,
        accumulator_stages=d.accumulator_stages,
        consumers=d.consumers,
        epilogue_warps=d.epilogue_warps,
        persistent=d.scheduler != "one_tile",
        block=SCALED[word].block if word in SCALED else 0,
        scale_bytes=sum(b.bytes for b in plan.main.buffers if b.name in ("sfa", "sfb")) / d.stages,
    )


def of_shape(s: Shape, extents: Mapping[str, int], device: Device = B200) -> Prediction:
    """Predict the time of a kernel in plain numbers."""
    m, n, k, batches = (extents[mode] for mode in "MNKL")
    tiles = clocks.launched(s, m, n, k, batches, device.sms)
    c = clocks.clocks(s, tiles.steps, device)
    seconds = clocks.seconds(s, m, n, k, batches, device)
    waits = (c.load + clocks.chain(s)) / s.stages
    terms = {
        "tensor cores": tiles.steps * c.compute,
        "L2": tiles.steps * c.transfer,
        "load latency": tiles.steps * waits,
        "epilogue that nothing hides": c.beside,
    }
    dram = clocks.dram_seconds(s, m, n, k, batches, device) + device.launch_seconds >= seconds
    return Prediction(
        seconds=seconds,
        speed=2 * m * n * k * batches / seconds / 1e12,
        rate="TFLOP/s",
        bound="DRAM" if dram else max(terms, key=lambda term: terms[term]),
        clocks={**terms, "a step along K": c.step, "epilogue": c.epilogue, "a CTA's begin and end": c.once},
        counts={"tile": tiles.tiles, "CTA": tiles.ctas, "wave": tiles.waves},
        notes=(_stages_note(s, c, dram), UNTRIED),
    )


def _stages_note(s: Shape, c: clocks.Clocks, dram: bool) -> str:
    """How many stages hide the latency of loads behind the slower of MMAs and L2; more of them gain nothing."""
    if s.in_turn:
        return f"of a step of {c.step:.0f} clocks the tensor cores work {c.compute / c.step:.0%}"
    slower = "tensor cores" if c.compute >= c.transfer else "L2"
    needed = max(2, math.ceil((c.load + clocks.chain(s)) / max(c.compute, c.transfer)))
    if dram and s.stages < needed:
        return f"hiding the latency of a load takes {needed} stages; with {s.stages}, DRAM still takes longer"
    verdict = "enough" if s.stages >= needed else "too few"
    return f"hiding the latency of a load behind {slower} takes {needed} stages; {s.stages} are {verdict}"
