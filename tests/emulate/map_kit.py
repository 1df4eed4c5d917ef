"""Tensor maps as bytes, for tests: encoded from what they mean."""

from __future__ import annotations

from warpwright.emulate import TensorMap
from warpwright.emulate.units.tma.encoding import BYTES, changed

TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "u4", "u4.p64", "u6.p32")
SWIZZLES = ("none", "32B", "64B", "128B")


def encoded(what: TensorMap, behind: int = 0xA5) -> bytes:
    """The 128 bytes of a map as the driver encodes it; `behind`: what fills those that the hardware does not read."""
    raw = bytes(64) + bytes([behind]) * (BYTES - 64)
    kind = what.type or {1: "u8", 2: "u16", 4: "u32", 8: "u64"}[what.element]
    swizzle, _, atom = what.swizzle.partition("/")
    fields = {
        "address": what.address,
        "rank": len(what.extents) - 1,
        "type": TYPES.index(kind.replace("tf32", "f32")),
        "tf32": int("tf32" in kind),
        "swizzle": SWIZZLES.index(swizzle),
        "atom": int(atom == "32B"),
        "fill": int(what.fill == "nan"),
    }
    for name, value in fields.items():
        raw = changed(raw, name, value)
    steps = what.steps or (1,) * len(what.box)
    for mode, (extent, box, step) in enumerate(zip(what.extents, what.box, steps, strict=True)):
        for name, value in (("extent", extent), ("box", box), ("step", step)):
            raw = changed(raw, name, value - 1, mode)
    for mode, stride in enumerate(what.strides):
        raw = changed(changed(raw, "stride", stride >> 4, mode), "stride_high", stride >> 36, mode)
    return raw
