"""The readable name of a copy variant. A label is no identity: that is the hash of the plan."""

from __future__ import annotations

from warpwright.families.copy.sm_90a.solution import Solution

__all__ = ["label"]


def label(s: Solution) -> str:
    """Return e.g. `f16.f32-4k-s4-c4-x4-direct`, with what differs from the defaults appended."""
    design, x, y = s.design, s.computed.x.name, s.computed.y.name
    size = design.stage_bytes
    parts = [
        x if x == y else f"{x}.{y}",
        f"{size // 1024}k" if size % 1024 == 0 else str(size),
        f"s{s.stages}",
        f"c{design.consumer_warps}",
        f"x{design.ctas_per_sm}",
        design.store,
    ]
    if design.producer_warps != 1:
        parts.append(f"p{design.producer_warps}")
    if s.slots not in (0, 2):
        parts.append(f"o{s.slots}")
    return "-".join(parts)
