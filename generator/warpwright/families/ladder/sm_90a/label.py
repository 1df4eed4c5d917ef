"""The readable name of a rung. A label is no identity: that is the plan's hash."""

from __future__ import annotations

from warpwright.families.ladder.sm_90a.solution import Solution

__all__ = ["label"]


def label(s: Solution) -> str:
    """Return e.g. `f16-4-ring-128x128x64-s6`: the stages where there is a ring."""
    tile, name = s.design.tile, s.solved.computed.a.dtype.name
    stages = f"-s{s.stages}" if s.stages > 1 else ""
    return f"{name}-{s.number}-{s.rung.name}-{tile.m}x{tile.n}x{tile.k}{stages}"
