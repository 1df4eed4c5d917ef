"""The readable name of an SGEMM variant. A label is no identity: that is the hash of the plan."""

from __future__ import annotations

from warpwright.families.sgemm.sm_90a.solution import Solution

__all__ = ["label"]


def label(s: Solution) -> str:
    """Return e.g. `mn-256x128x8-s6-w4x2-t16x8`, with what differs from the usual appended."""
    d, k, w = s.design, s.kernel, s.warps
    parts = [
        f"{k.a.major}{k.b.major}",
        f"{s.tile_m}x{s.tile_n}x{d.tile_k}",
        f"s{s.stages}",
        f"w{d.warps.m}x{d.warps.n}",
        f"t{d.thread.m}x{d.thread.n}",
    ]
    if s.unroll != s.usual_unroll:
        parts.append(f"u{s.unroll}")
    if not s.specialised:
        parts.append("all")
    if w.producers > 1:
        parts.append(f"p{w.producers}")
    if w.split != w.usual_split:
        parts.append(f"r{w.split[0]}.{w.split[1]}" if w.split else "rnone")
    if d.ctas_per_sm != 1:
        parts.append(f"x{d.ctas_per_sm}")
    if d.lane_order != "crossed":
        parts.append(d.lane_order)
    if d.raster != "m" or d.group != 8:
        parts.append(f"{d.raster}{d.group}")
    if not k.bias:
        parts.append("nobias")
    if k.activation != "relu":
        parts.append(k.activation)
    return "-".join(parts)
