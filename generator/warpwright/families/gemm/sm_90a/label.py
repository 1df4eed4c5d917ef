"""The readable name of a gemm variant, made from what was resolved. A label is no identity: that is the plan's hash."""

from __future__ import annotations

from warpwright.families.gemm.parts.named import named
from warpwright.families.gemm.sm_90a.solution import Solution

__all__ = ["label"]


def label(s: Solution) -> str:
    """Return e.g. `f16-kkn-128x256x64-c2x1-s4-coop2`, with what differs from the usual appended."""
    a, _, o, w, r = s
    head, chain = named(s.computed)
    text = (
        f"{head}-{a.tile_m}x{a.tile_n}x{a.tile_k}-c{a.cluster_m}x{a.cluster_n}-s{r.stages}"
        f"-{'ping' if a.pingpong else 'coop'}{a.consumer_warps // 4}"
    )
    if a.producer_warps != 1:
        text += f"-p{a.producer_warps}"
    if w.split != w.usual_split:
        text += f"-r{w.split[0]}.{w.split[1]}" if w.split else "-rnone"
    if not a.persistent:
        text += "-one"
    if a.raster != "m" or a.group != 8:
        text += f"-{a.raster}{a.group}"
    if not a.by_tma:
        text += "-direct"
    if o.subtile_n != o.usual_n or o.subtile_stages != o.usual_stages:
        text += f"-e{o.subtile_n}x{o.subtile_stages}"
    return text + chain
