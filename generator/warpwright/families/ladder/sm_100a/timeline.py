"""When a rung loads, computes and stores, by the clocks of its prediction: a few tiles on one SM, span by span.

`clocks.py` of the GEMM says what a step costs in the long run; here each load and each MMA waits for just what it waits
for in the kernel, so that the two must agree.
"""

from __future__ import annotations

from warpwright.archs import B200, Device
from warpwright.families.gemm.sm_100a.clocks import BEGIN, chain, clocks
from warpwright.families.ladder.sm_100a.prediction import shape_of
from warpwright.plan.step import Span
from warpwright.plan.types import Plan

__all__ = ["STEPS", "TILES", "timeline"]

#: Tiles that one SM computes, and steps along K of each.
TILES, STEPS = 3, 8


def timeline(plan: Plan, tiles: int = TILES, steps: int = STEPS, device: Device = B200) -> tuple[Span, ...]:
    """Return the spans of `tiles` tiles of `steps` steps along K each, in clocks from the launch on."""
    s = shape_of(plan)
    c = clocks(s, steps, device)
    stays = s.persistent or s.one_cta
    found: list[Span] = []
    consumed: list[float] = []  # when the MMAs of each step are known to be done
    drained: list[float] = []  # when each tile has left tensor memory
    asked = arrived = free = 0.0  # the last load, from asking to there; when the tensor cores are done

    for tile in range(tiles):
        if tile == 0 or not stays:  # a CTA's beginning
            start = drained[-1] if drained else 0.0
            found.append(Span("CTA", "begin", start, start + BEGIN))
            asked = free = start + BEGIN
        # Accumulators that were filled `accumulator_stages` tiles ago must have been drained.
        empty = drained[tile - s.accumulator_stages] if tile >= s.accumulator_stages else 0.0
        for step in range(steps):
            number = tile * steps + step
            ready = consumed[number - s.stages] if number >= s.stages else 0.0
            if s.in_turn:  # and who loads has stored the tile before
                ready = max(ready, drained[-1] if drained else 0.0)
            asked = max(asked, ready)
            arrived = max(asked + c.load, arrived + c.transfer)
            found.append(Span(f"stage {number % s.stages}", "load", asked, arrived))
            start = max(arrived, free, empty)
            free = start + c.compute
            found.append(Span("tensor cores", "compute", start, free))
            consumed.append(start + chain(s))
        start = max(consumed[-1], drained[-1] if drained else 0.0)
        drained.append(start + c.epilogue)
        found.append(Span("epilogue", "store", start, start + c.epilogue))
    return tuple(found)
