"""Conversions of pairs of small floats: fp8, fp6, fp4 and scales, from and to f32, f16x2 and bf16x2.

Two values go together; the first operand of two is the upper one. A pair of e2m1 fills 8 bits, every other one 16.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from warpwright.emulate.numbers.formats import Array, from_half, pack, relu, to_half
from warpwright.emulate.numbers.operation import Operation

_KINDS: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
_NAN = {"e4m3": 0x7F, "e5m2": 0x7F}  # formats without NaN give their largest value for it


def _encode(values: Any, kind: str, positive: bool) -> Array:
    """Encodings of `values`, the nearest (ties to even), beyond the range the largest."""
    wide = np.asarray(relu(values) if positive else values, dtype=np.float32)
    limit = np.float32(ml_dtypes.finfo(_KINDS[kind]).max)
    nan = np.isnan(wide)
    bits = np.clip(np.where(nan, limit, wide), -limit, limit).astype(_KINDS[kind]).view(np.uint8)
    return np.asarray(np.where(nan, np.uint8(_NAN[kind]), bits) if kind in _NAN else bits)


def _joined(high: Array, low: Array, kind: str) -> Array:
    shift = 4 if kind == "e2m1" else 8
    return (high.astype(np.uint16) << shift) | low.astype(np.uint16)


def to_small(high: Any, low: Any, kind: str, positive: bool) -> Array:
    """cvt.rn.satfinite[.relu].KINDx2.f32."""
    return _joined(_encode(high, kind, positive), _encode(low, kind, positive), kind)


def pair_to_small(bits: Any, source: str, kind: str, positive: bool) -> Array:
    """The same from f16x2 or bf16x2."""
    words = np.asarray(bits, dtype=np.uint32)
    high, low = (from_half((words >> s & 0xFFFF).astype(np.uint16), source) for s in (16, 0))
    return to_small(high, low, kind, positive)


def small_to_pair(bits: Any, kind: str, target: str, positive: bool) -> Array:
    """cvt.rn[.relu].f16x2.KINDx2, or bf16x2."""
    words = np.asarray(bits, dtype=np.uint16)
    shift, mask = (4, 15) if kind == "e2m1" else (8, 255)
    high, low = ((words >> s & mask).astype(np.uint8).view(_KINDS[kind]).astype(np.float32) for s in (shift, 0))
    high, low = (relu(v) if positive else v for v in (high, low))
    return pack(to_half(high, target), to_half(low, target))


def _scale(values: Any, up: bool) -> Array:
    """ue8m0 of `values`: a power of two at least (`up`) or at most as large; its magnitude counts."""
    wide = np.abs(np.asarray(values, dtype=np.float32))
    mantissa, exponent = np.frexp(wide)
    power = exponent - 1 + (up & (mantissa > 0.5))
    code = np.clip(power + 127, 0, 254).astype(np.uint8)
    code = np.where(wide == 0, np.uint8(0), np.where(np.isinf(wide), np.uint8(254), code))
    return np.asarray(np.where(np.isnan(wide), np.uint8(255), code))


def to_scales(high: Any, low: Any, up: bool) -> Array:
    """cvt.{rp,rz}.satfinite.ue8m0x2.f32."""
    return _joined(_scale(high, up), _scale(low, up), "ue8m0")


def pair_to_scales(bits: Any, up: bool) -> Array:
    """The same from bf16x2."""
    words = np.asarray(bits, dtype=np.uint32)
    high, low = (from_half((words >> s & 0xFFFF).astype(np.uint16), "bf16") for s in (16, 0))
    return to_scales(high, low, up)


def scales_to_pair(bits: Any) -> Array:
    """cvt.rn.bf16x2.ue8m0x2: 2^-127 is a subnormal, 255 a NaN."""
    words = np.asarray(bits, dtype=np.uint16)
    high, low = (
        np.where(code == 255, np.float32(np.nan), np.ldexp(np.float32(1), code.astype(np.int32) - 127))
        for code in (words >> 8, words & 255)
    )
    return pack(to_half(high, "bf16"), to_half(low, "bf16"))


def small_conversion(parts: tuple[str, ...]) -> Operation | None:
    """What such a cvt computes, None where it is none or not emulated."""
    if parts[0] != "cvt" or len(parts) < 3:
        return None
    target, source, mods = parts[-2], parts[-1], set(parts[1:-2])
    positive, rest = "relu" in mods, mods - {"relu"}
    small, wide = target.removesuffix("x2"), source.removesuffix("x2")
    held = "u16"
    if target == "ue8m0x2" and rest in ({"rp", "satfinite"}, {"rz", "satfinite"}, {"rp"}, {"rz"}) and not positive:
        if source == "f32":
            return Operation(held, ("f32", "f32"), f"to_scales({{0}},{{1}},{'rp' in rest})")
        return Operation(held, ("u32",), f"pair_to_scales({{0}},{'rp' in rest})") if source == "bf16x2" else None
    if target == "bf16x2" and source == "ue8m0x2" and mods == {"rn"}:
        return Operation("u32", (held,), "scales_to_pair({0})")
    if small in _KINDS and target.endswith("x2") and rest == {"rn", "satfinite"}:
        if source == "f32":
            return Operation(held, ("f32", "f32"), f"to_small({{0}},{{1}},'{small}',{positive})")
        if source in ("f16x2", "bf16x2"):
            return Operation(held, ("u32",), f"pair_to_small({{0}},'{wide}','{small}',{positive})")
    if wide in _KINDS and source.endswith("x2") and target in ("f16x2", "bf16x2") and rest == {"rn"}:
        return Operation("u32", (held,), f"small_to_pair({{0}},'{wide}','{small}',{positive})")
    return None


#: What the expressions above may call.
NAMES: dict[str, Any] = {
    f.__name__: f for f in (to_small, pair_to_small, small_to_pair, to_scales, pair_to_scales, scales_to_pair)
}
