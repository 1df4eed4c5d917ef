"""The readable name of a gemm variant. A label is no identity: that is the hash of the plan."""

from __future__ import annotations

from warpwright.plan.gemm.choices import Choices

__all__ = ["label"]

_LONGEST_CHAIN = 36


def label(c: Choices) -> str:
    """Return e.g. `f16-kkn-128x256x64-c2x1-s4-coop2`, with what differs from the defaults appended."""
    kernel, design = c.point.kernel, c.point.design
    tile, cluster, scheduler = design.tile, design.cluster, design.scheduler
    types = kernel.a.dtype if kernel.a.dtype == kernel.d.dtype else f"{kernel.a.dtype}.{kernel.d.dtype}"
    schedule = "ping" if design.schedule == "pingpong" else "coop"
    parts = [
        types,
        kernel.a.major + kernel.b.major + kernel.d.major,
        f"{tile.m}x{tile.n}x{tile.k}",
        f"c{cluster.m}x{cluster.n}",
        f"s{c.stages}",
        f"{schedule}{design.consumer_warps // 4}",
    ]
    if design.producer_warps != 1:
        parts.append(f"p{design.producer_warps}")
    if design.registers == "none":
        parts.append("rnone")
    elif design.registers != "auto":
        parts.append(f"r{design.registers.producer}.{design.registers.consumer}")
    if scheduler.kind == "one_tile":
        parts.append("one")
    if (scheduler.raster, scheduler.group) != ("m", 8):
        parts.append(f"{scheduler.raster}{scheduler.group}")
    if design.store == "direct":
        parts.append("direct")
    if design.epilogue_n != "auto" or design.epilogue_stages != "auto":
        parts.append(f"e{c.subtile_n}x{c.subtile_stages}")
    if kernel.epilogue:
        chain = "+".join(s.op if s.dtype == "f32" else f"{s.op}.{s.dtype}" for s in kernel.epilogue)
        # A label is part of file names and of a line in the kernel's head.
        parts.append(chain if len(chain) <= _LONGEST_CHAIN else f"{len(kernel.epilogue)}ops")
    if kernel.c is not None:
        parts.append(f"c.{kernel.c.dtype}.{kernel.c.major}")
    return "-".join(parts)
