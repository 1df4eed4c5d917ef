"""The readable name of a rung. A label is no identity: that is the plan's hash."""

from __future__ import annotations

from warpwright.families.ladder.sm_100a.solution import Solution

__all__ = ["label"]


def label(s: Solution) -> str:
    """Return e.g. `f16-5-pair-128x256x64-s4`: the tile of one CTA, and the stages where there is a ring."""
    a = s.solved.asked
    stages = f"-s{s.stages}" if s.stages > 1 else ""
    return f"{s.solved.computed.a.word}-{s.number}-{s.rung.name}-{a.tile_m}x{a.tile_n}x{a.tile_k}{stages}"
