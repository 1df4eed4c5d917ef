"""Number formats, and what numpy does not give bit for bit: conversions, fused multiply-add, approximations.

All functions work on arrays of any shape; `*_bits` arguments and results are unsigned integers. The results of
the `.approx` instructions are rounded from float64, which lies within every error bound that the PTX ISA states.
"""

from __future__ import annotations

import struct
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
F16_TO_F32 = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
DTYPES: dict[str, Any] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "tf32": np.dtype(np.float32),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "s8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
}
F32_NAN = np.uint32(0x7FFFFFFF).view(np.float32)  # the canonical one
_F32_TINY = np.float32(2.0**-126)


def f32(bits: int) -> float:
    """The value of a float32 encoding."""
    value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return value


def f32_bits(value: float) -> int:
    """The float32 encoding nearest to `value` (ties to even), overflow to infinity."""
    return int(np.float32(value).view(np.uint32))


def floats(x: Any) -> Array:
    return np.asarray(x, dtype=np.float32)


def f32_to_f16(x: Any) -> Array:
    """cvt.rn.f16.f32: round to nearest even; NaN becomes the canonical 0x7FFF."""
    x = floats(x)
    bits: Array = x.astype(np.float16).view(np.uint16)
    nan = x != x
    if np.count_nonzero(nan):
        bits[nan] = 0x7FFF
    return bits


def f32_to_bf16(x: Any) -> Array:
    """cvt.rn.bf16.f32: round to nearest even; NaN becomes the canonical 0x7FFF."""
    x = np.ascontiguousarray(floats(x))
    u = x.view(np.uint32)
    bits: Array = ((u + (((u >> 16) & 1) + 0x7FFF)) >> 16).astype(np.uint16)
    nan = x != x
    if nan.any():
        bits[nan] = 0x7FFF
    return bits


def bf16_to_f32(bits: Any) -> Array:
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def f16_to_f32(bits: Any) -> Array:
    return F16_TO_F32.take(np.asarray(bits))


def f32_to_tf32(x: Any) -> Array:
    """cvt.rna.tf32.f32 as bits of a float32 with 10 mantissa bits: nearest, ties away from zero; NaN is 0x7FFFFFFF."""
    x = np.ascontiguousarray(floats(x))
    u = x.view(np.uint32)
    rounded: Array = np.where((u & 0x7F800000) == 0x7F800000, u, (u + 0x1000) & 0xFFFFE000)
    return np.where(x != x, np.uint32(0x7FFFFFFF), rounded)


def pack(high: Array, low: Array) -> Array:
    return (high.astype(np.uint32) << 16) | low


def halves(high: Any, low: Any, kind: str) -> Array:
    """cvt.rn.{f16x2,bf16x2}.f32: two conversions at once; `high` goes to the upper half."""
    if kind == "bf16":
        return pack(f32_to_bf16(high), f32_to_bf16(low))
    shape = np.broadcast(high, low).shape
    both = np.empty((*shape, 2), dtype=np.float16)
    both[..., 0], both[..., 1] = low, high
    bits = both.view(np.uint16)
    nan = (bits & 0x7FFF) > 0x7C00
    if np.count_nonzero(nan):
        bits[nan] = 0x7FFF
    return both.view(np.uint32)[..., 0]


def to_half(x: Any, kind: str) -> Array:
    return f32_to_f16(x) if kind == "f16" else f32_to_bf16(x)


def from_half(bits: Any, kind: str) -> Array:
    return f16_to_f32(bits) if kind == "f16" else bf16_to_f32(bits)


def f32_to_f8x2(high: Any, low: Any, kind: str) -> Array:
    """cvt.rn.satfinite.{e4m3,e5m2}x2.f32: overflow saturates to the largest finite value, NaN becomes 0x7F."""
    limit = float(ml_dtypes.finfo(DTYPES[kind]).max)

    def one(value: Array) -> Array:
        bits = np.clip(value, -limit, limit).astype(DTYPES[kind]).view(np.uint8)
        return np.where(value != value, np.uint8(0x7F), bits)

    result: Array = (one(floats(high)).astype(np.uint16) << 8) | one(floats(low))
    return result


def f8x2_to_f16x2(bits: Any, kind: str) -> Array:
    u = np.asarray(bits).astype(np.uint16)
    high, low = ((v & 0xFF).astype(np.uint8).view(DTYPES[kind]).astype(np.float32) for v in (u >> 8, u))
    return pack(f32_to_f16(high), f32_to_f16(low))


def fma(a: Any, b: Any, c: Any) -> Array:
    """fma.rn.f32, rounded once: where rounding the float64 sum again could differ, the sum is first rounded to odd."""
    product = np.asarray(np.multiply(a, b, dtype=np.float64))  # exact: 48 bits
    total: Array = np.asarray(product + c)
    bits = total.view(np.int64)
    # twice rounded is wrong only from a midpoint of float32, and those (subnormal ones too) end in 28 zero bits
    close = (bits & 0x0FFFFFFF) == 0
    if np.count_nonzero(close):  # of all elements: to choose some takes longer
        back = total - product
        error = (product - (total - back)) + (c - back)  # exact (Knuth's TwoSum)
        fix = close & (error != 0) & ((bits & 1) == 0) & np.isfinite(total)
        if np.count_nonzero(fix):
            bits += np.where(fix, np.where((error > 0) == (total > 0), 1, -1), 0)
    return total.astype(np.float32)


def ftz(x: Any) -> Array:
    """Subnormal float32 values become zero of the same sign (.ftz)."""
    result: Array = floats(x)
    small = np.abs(result) < _F32_TINY
    if np.count_nonzero(small):
        result = np.where(small, np.copysign(np.float32(0), result), result)
    return result


def saturate(x: Any) -> Array:
    """.sat: to [0, 1], NaN to +0."""
    clipped: Array = np.fmin(np.fmax(floats(x), np.float32(0)), np.float32(1))
    return clipped


def satfinite(x: Any, kind: str) -> Array:
    """.satfinite of a conversion to f16 or bf16: beyond the largest finite value that one, of its sign; NaN stays."""
    most = np.float32(65504) if kind == "f16" else np.uint32(0x7F7F0000).view(np.float32)
    found: Array = np.clip(floats(x), -most, most)
    return found


def relu(x: Any) -> Array:
    """.relu: negative values and -0 become +0; NaN stays."""
    x = floats(x)
    result: Array = np.where(x <= 0, np.float32(0), x)
    return result


def fmax(a: Any, b: Any, nan: bool = False) -> Array:
    """max.f32: a NaN operand loses, +0 beats -0; `nan` (.NaN): it wins. NaN is the canonical one."""
    a, b = np.broadcast_arrays(floats(a), floats(b))
    equal = (np.ascontiguousarray(a).view(np.uint32) & np.ascontiguousarray(b).view(np.uint32)).view(np.float32)
    return _canonical(np.where(a == b, equal, (np.maximum if nan else np.fmax)(a, b)))


def fmin(a: Any, b: Any, nan: bool = False) -> Array:
    """min.f32: a NaN operand loses, -0 beats +0; `nan` (.NaN): it wins. NaN is the canonical one."""
    a, b = np.broadcast_arrays(floats(a), floats(b))
    equal = (np.ascontiguousarray(a).view(np.uint32) | np.ascontiguousarray(b).view(np.uint32)).view(np.float32)
    return _canonical(np.where(a == b, equal, (np.minimum if nan else np.fmin)(a, b)))


def _canonical(x: Array) -> Array:
    if np.count_nonzero(x != x):
        x = np.where(x != x, F32_NAN, x)
    return x


def approximate(name: str, x: Any) -> Array:
    """ex2, lg2, rcp, rsqrt, sqrt, tanh, sin, cos of float32 values."""
    wide = floats(x).astype(np.float64)
    table: dict[str, Any] = {"ex2": np.exp2, "lg2": np.log2, "tanh": np.tanh, "sin": np.sin, "cos": np.cos}
    table |= {"rcp": lambda v: 1.0 / v, "rsqrt": lambda v: 1.0 / np.sqrt(v), "sqrt": np.sqrt}
    result: Array = table[name](wide)
    return result.astype(np.float32)


def half_math(name: str, kind: str, *bits: Any) -> Array:
    """Arithmetic on f16 or bf16 (16-bit unsigned) or pairs of them (32-bit), one rounding from float64."""
    arrays = [np.ascontiguousarray(b) for b in np.broadcast_arrays(*bits)]
    packed = arrays[0].dtype.itemsize == 4
    values = [from_half(a.view(np.uint16), kind) for a in arrays]
    if name in ("min", "max"):
        result = (fmin if name == "min" else fmax)(values[0], values[1])
    elif name == "fma" and kind == "bf16":
        result = fma(*values)
    elif name in ("ex2", "tanh"):
        result = approximate(name, values[0])
    else:
        wide = [v.astype(np.float64) for v in values]
        table: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
        table["fma"] = lambda a, b, c: a * b + c
        result = table[name](*wide)
        if kind == "f16":
            half: Array = result.astype(np.float16).view(np.uint16)
            return np.where(np.isnan(result), np.uint16(0x7FFF), half).view(np.uint32 if packed else np.uint16)
    return to_half(result, kind).view(np.uint32 if packed else np.uint16)


def pair_math(name: str, *bits: Any) -> Array:
    """Arithmetic on two f32 in a 64-bit register, the first in the low half."""
    table: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "fma": fma}
    words = [np.asarray(b, dtype=np.uint64) for b in bits]
    halves = [np.ascontiguousarray(w).view(np.float32).reshape(*w.shape, 2) for w in words]
    both: Array = np.ascontiguousarray(table[name](*halves), dtype=np.float32)
    return both.view(np.uint64)[..., 0]


def round_to_int(x: Any, mode: str, bits: int, signed: bool) -> Array:
    """cvt.r?i.{s,u}N.f32: rounded by `mode`, clamped to the range; NaN to 0, and to 1 << 63 in 64 bits."""
    table: dict[str, Any] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    rounded: Array = table[mode](np.asarray(x, dtype=np.float64))
    kind = np.int64 if signed else np.uint64
    over, inside = rounded >= float(high), (rounded > low) & (rounded < float(high))
    whole = np.where(inside, rounded, 0).astype(kind)
    result: Array = np.where(over, kind(high), np.where(inside, whole, kind(low)))
    unset = np.uint64(1 << 63 if bits == 64 else 0).astype(kind)
    return np.where(rounded != rounded, unset, result)
