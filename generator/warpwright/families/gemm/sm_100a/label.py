"""The readable name of a gemm variant, made from what was resolved. A label is no identity: that is the plan's hash."""

from __future__ import annotations

from warpwright.families.gemm.parts.named import named
from warpwright.families.gemm.sm_100a.solution import Solution

__all__ = ["label"]


def label(s: Solution) -> str:
    """Return e.g. `f16-kkn-128x256x64-c2x1-pair-s4-acc2`, with what differs from the usual appended."""
    a, t, o, _, r, _ = s
    head, chain = named(s.computed)
    text = f"{head}-{a.tile_m}x{a.tile_n}x{a.tile_k}-c{a.cluster_m}x{a.cluster_n}"
    text += f"{'-pair' if a.cta_group == 2 else ''}-s{r.stages}-acc{t.stages}"
    if t.across > 1:
        text += f"-w{4 * t.warpgroups}"
    text += {"persistent": "", "dynamic": "-dyn", "one_tile": "-one"}[a.scheduler]
    if a.raster != "m" or a.group != 8 or a.snake:
        text += f"-{a.raster}{a.group}{'s' if a.snake else ''}"
    if not a.by_tma:
        text += "-direct"
    if o.subtile_n != o.usual_n or o.subtile_stages != o.usual_stages:
        text += f"-e{o.subtile_n}x{o.subtile_stages}"
    return text + chain
