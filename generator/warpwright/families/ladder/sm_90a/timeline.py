"""When a rung loads, computes and stores, by the clocks of its prediction: a few tiles on one SM, span by span.

`prediction.py` says what a step costs in the long run; here each load and each MMA waits for just what it waits for in
the kernel, so that the two must agree.
"""

from __future__ import annotations

from warpwright.archs import H200, Device
from warpwright.families.ladder.rungs import FIRST_OF_ROLES, FIRST_RING
from warpwright.families.ladder.sm_90a.prediction import BEGIN, DRAIN, parts
from warpwright.families.ladder.workload.design import LadderDesign
from warpwright.plan.step import Span
from warpwright.plan.types import Plan

__all__ = ["STEPS", "TILES", "timeline"]

#: Tiles that one SM computes, and steps along K of each.
TILES, STEPS = 3, 8


def timeline(plan: Plan, tiles: int = TILES, steps: int = STEPS, device: Device = H200) -> tuple[Span, ...]:
    """Return the spans of `tiles` tiles of `steps` steps along K each, in clocks from the launch on."""
    d: LadderDesign = plan.design
    p = parts(plan, device)
    found: list[Span] = []
    issued: list[float] = []  # the begin of each step's MMAs
    computed: list[float] = []  # their end
    loads: list[float] = []  # when each load was asked for
    free = link = 0.0  # when whoever computes and stores is done, and when memory has brought the last load
    stored = [0.0] * max(1, d.consumers)

    def load(number: int, at: float) -> float:
        nonlocal link
        link = max(at + p.latency, link) + p.transfer
        stage = (number if d.persistent else number % steps) % d.stages  # a CTA begins with the first one
        found.append(Span(f"stage {stage}", "load", at, link + p.through_registers))
        loads.append(at)
        return link + p.through_registers

    for tile in range(tiles):
        consumer = tile % 2 if d.schedule == "pingpong" else 0
        if tile == 0 or not d.persistent:  # a CTA's beginning
            found.append(Span("CTA", "begin", free, free + BEGIN))
            free += BEGIN
            link = free
        begun, first = free, tile * steps
        arrived: list[float] = []
        for number in range(first, first + steps):
            if d.rung < FIRST_RING:
                arrived.append(load(number, free))
            elif d.rung < FIRST_OF_ROLES:  # once the MMAs of the step behind have been issued
                arrived.append(load(number, begun if number < first + d.stages else issued[number - d.stages + 1]))
            else:  # the producer waits for an empty stage alone, and for its own CTA
                at = computed[number - d.stages] if number >= d.stages else 0.0
                arrived.append(load(number, max(at, loads[-1] if loads else 0.0, begun if not d.persistent else BEGIN)))
            ready = max(free, stored[consumer]) if number == first else free
            start = max(arrived[-1], ready)
            end = start + p.compute
            found.append(Span("tensor cores", "compute", start, end))
            issued.append(start)
            computed.append(end)
            free = end + (DRAIN + p.synchronise if d.rung < FIRST_RING else 0.0)
        out = free + p.epilogue
        found.append(Span(f"consumer {consumer}" if d.schedule == "pingpong" else "way out", "store", free, out))
        stored[consumer] = out
        if d.schedule != "pingpong":
            free = out
    return tuple(found)
