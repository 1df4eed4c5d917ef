"""The readable name of a variant. A label is no identity: that is the hash of the plan."""

from __future__ import annotations

from warpwright.families.norm_act.sm_90a.solution import Solution

__all__ = ["label"]


def label(s: Solution) -> str:
    """Return e.g. `layer.wb.gelu_tanh-bf16-4096-tma-3x4-s8`, with what differs from the defaults appended.

    After the kernel: columns, how warps are specialised, groups x warps and producers, stages.
    """
    d, c = s.design, s.computed
    x, y = c.x.name, c.y.name
    operands = "".join(letter for letter, given in zip("rwb", (c.residual, c.weight, c.bias), strict=True) if given)
    parts = [
        ".".join(part for part in (c.canonical["norm"], operands, c.canonical["activation"]) if part),
        x if x == y else f"{x}.{y}",
        f"{d.columns}.{d.row}" if d.long else str(d.columns),
        d.specialise,
        f"{d.groups}x{d.warps_per_row}" + (f".{s.producers}" if d.specialise == "preprocess" else ""),
    ]
    if d.producer_groups > 1:
        parts.append(f"q{d.producer_groups}")
    if d.specialise != "none":
        parts.append(f"s{s.stages}")
    if d.ring == "named":
        parts.append("bar")
    if d.ctas_per_row > 1:
        parts.append(f"c{d.ctas_per_row}")
    if d.ctas_per_sm > 1:
        parts.append(f"x{d.ctas_per_sm}")
    if d.scales == "shared":
        parts.append("ws")
    if d.reallocate:
        parts.append("r")
    if not d.persistent:
        parts.append("once" if d.rows_per_group == 1 else f"once{d.rows_per_group}")
    if d.access_bytes != 16:
        parts.append(f"a{d.access_bytes}")
    return "-".join(parts)
