"""Rarer arithmetic: directed rounding, halves with modifiers, dot products of bytes, three operands, tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwright.emulate.numbers.formats import (
    Array,
    approximate,
    floats,
    fma,
    fmax,
    fmin,
    from_half,
    ftz,
    half_math,
    relu,
    to_half,
)
from warpwright.emulate.numbers.operation import INTEGERS, Operation

_DIRECTED = {"rz", "rm", "rp"}
_HALVES = {"add": 2, "sub": 2, "mul": 2, "fma": 3, "min": 2, "max": 2, "ex2": 1, "tanh": 1, "neg": 1, "abs": 1}
_TESTS: dict[str, Any] = {
    "finite": np.isfinite, "infinite": np.isinf, "number": lambda v: ~np.isnan(v), "notanumber": np.isnan,
    "normal": lambda v: np.isfinite(v) & (np.abs(v) >= np.float32(2.0**-126)),
    "subnormal": lambda v: (v != 0) & (np.abs(v) < np.float32(2.0**-126)),
}  # fmt: skip


def directed(name: str, mode: str, *values: Any) -> Array:
    """add, sub, mul or fma of f32 rounded to zero (rz), down (rm) or up (rp)."""
    wide = [np.asarray(v, dtype=np.float64) for v in np.broadcast_arrays(*(floats(v) for v in values))]
    if name == "mul":
        total, error = wide[0] * wide[1], np.zeros_like(wide[0])  # exact: 48 bits
    else:
        a = wide[0] * wide[1] if name == "fma" else wide[0]
        b = wide[2] if name == "fma" else -wide[1] if name == "sub" else wide[1]
        total = a + b
        back = total - a
        error = (a - (total - back)) + (b - back)  # exact (Knuth's TwoSum)
    found: Array = total.astype(np.float32)
    above = (found.astype(np.float64) - total) - error  # of the nearest value, over the exact one
    toward = {"rm": -np.inf, "rp": np.inf, "rz": 0.0}[mode]
    down = (above > 0) & ((mode == "rm") | ((mode == "rz") & (total > 0)))
    up = (above < 0) & ((mode == "rp") | ((mode == "rz") & (total < 0)))
    moved = np.where(down, np.nextafter(found, np.float32(-np.inf)), np.nextafter(found, np.float32(np.inf)))
    result = np.where((down | up) & np.isfinite(total), moved, found)
    if name != "mul" and toward == -np.inf:  # an exact sum of zero is -0, but of +0 and +0
        zero = (total == 0) & ~(np.signbit(found) | ((wide[0] == 0) & ~np.signbit(wide[0])))
        result = np.where(zero, np.float32(-0.0), result)
    return result.astype(np.float32)


def half_more(name: str, kind: str, mods: str, *bits: Any) -> Array:
    """Arithmetic on f16 or bf16 with .ftz, .relu, .sat, .NaN, and signs: `bits` are u16, or u32 for pairs."""
    arrays = [np.ascontiguousarray(b) for b in np.broadcast_arrays(*bits)]
    whole = arrays[0].dtype
    words = [a.view(np.uint16) for a in arrays]
    if name in ("neg", "abs"):
        changed = words[0] ^ np.uint16(0x8000) if name == "neg" else words[0] & np.uint16(0x7FFF)
        return np.asarray(changed.view(whole))
    if "ftz" in mods:
        words = [_flushed(w, kind) for w in words]
    if name in ("min", "max"):
        values = [from_half(w, kind) for w in words]
        result = to_half((fmin if name == "min" else fmax)(values[0], values[1], "NaN" in mods), kind)
    elif name in ("ex2", "tanh"):
        result = to_half(approximate(name, from_half(words[0], kind)), kind)
    else:
        result = half_math(name, kind, *words)
    if "relu" in mods:
        result = to_half(relu(from_half(result, kind)), kind)
    if "sat" in mods:
        result = to_half(np.fmin(np.fmax(from_half(result, kind), np.float32(0)), np.float32(1)), kind)
    result = _flushed(result, kind) if "ftz" in mods else result
    return np.ascontiguousarray(result).view(whole)


def _flushed(bits: Array, kind: str) -> Array:
    small = (bits & (0x7C00 if kind == "f16" else 0x7F80)) == 0
    return np.where(small, bits & np.uint16(0x8000), bits).astype(np.uint16)


def half_compare(test: str, kind: str, a: Any, b: Any) -> Array:
    """setp of f16 or bf16: comparisons by name."""
    x, y = (from_half(np.asarray(v, dtype=np.uint16), kind) for v in (a, b))
    unordered = (x != x) | (y != y)
    if test in ("num", "nan"):
        return np.asarray(unordered if test == "nan" else ~unordered)
    table: dict[str, Any] = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
                             "ge": np.greater_equal}  # fmt: skip
    plain = table[test[:2]](x, y)
    return np.asarray((plain | unordered) if len(test) == 3 else plain & ~unordered)


def dot(a: Any, b: Any, c: Any, signed_a: bool, signed_b: bool, half: str = "") -> Array:
    """dp4a (bytes with bytes), or dp2a of 16-bit halves with the low or high two bytes of b."""
    x, y = (np.atleast_1d(np.asarray(v, dtype=np.uint32)) for v in (a, b))
    x, y = (np.ascontiguousarray(v) for v in np.broadcast_arrays(x, y))
    parts: Array
    bytes_b: Array = y.view(np.int8 if signed_b else np.uint8).reshape(*y.shape, 4).astype(np.int64)
    if half:
        parts = x.view(np.int16 if signed_a else np.uint16).reshape(*x.shape, 2).astype(np.int64)
        bytes_b = bytes_b[..., 2:] if half == "hi" else bytes_b[..., :2]
    else:
        parts = x.view(np.int8 if signed_a else np.uint8).reshape(*x.shape, 4).astype(np.int64)
    total = (parts * bytes_b).sum(axis=-1) + np.asarray(c, dtype=np.uint32).astype(np.int64)
    return np.asarray((total & 0xFFFFFFFF).astype(np.uint32))


def float_test(name: str, x: Any) -> Array:
    """testp of f32."""
    found: Array = _TESTS[name](floats(x))
    return found


def uncommon_operation(parts: tuple[str, ...], count: int) -> Operation | None:
    """What an instruction of `count` sources computes, None where it is none of these or not emulated."""
    name, kind, mods = parts[0], parts[-1], set(parts[1:-1])
    if name in ("dp4a", "dp2a") and kind in ("u32", "s32") and parts[-2] in ("u32", "s32"):
        half = next((p for p in parts if p in ("lo", "hi")), "")
        signs = f"{parts[-2] == 's32'},{kind == 's32'}"
        return Operation("u32", ("u32",) * 3, f"dot({{0}},{{1}},{{2}},{signs},'{half}')")
    if name == "testp" and kind == "f32" and parts[1] in _TESTS:
        return Operation("pred", ("f32",), f"float_test('{parts[1]}',{{0}})")
    if kind in ("f16", "bf16") and parts[-2] == "f32":
        return _mixed(name, kind, mods - {"f32"})
    if kind in ("f16", "bf16", "f16x2", "bf16x2"):
        return _half(name, kind, mods, parts)
    if (
        kind == "f32"
        and name in ("add", "sub", "mul", "fma")
        and mods & _DIRECTED
        and not mods - _DIRECTED - {"ftz", "sat"}
    ):
        mode = next(iter(mods & _DIRECTED))
        arity = 3 if name == "fma" else 2
        operands = ",".join(f"ftz({{{i}}})" if "ftz" in mods else f"{{{i}}}" for i in range(arity))
        text = f"directed('{name}','{mode}',{operands})"
        text = f"ftz({text})" if "ftz" in mods else text
        return Operation("f32", ("f32",) * arity, f"saturate({text})" if "sat" in mods else text)
    if kind == "f32x2" and name in ("add", "sub", "mul", "fma") and not mods - _DIRECTED - {"rn", "ftz"}:
        arity = 3 if name == "fma" else 2
        mode = next(iter(mods & _DIRECTED), "rn")
        operands = ",".join(f"{{{i}}}" for i in range(arity))
        return Operation("u64", ("u64",) * arity, f"pair_more('{name}','{mode}',{'ftz' in mods},{operands})")
    if kind == "f32" and name in ("min", "max") and not mods - {"ftz", "NaN", "xorsign", "abs"} and count in (2, 3):
        operands = ",".join(f"{{{i}}}" for i in range(count))
        return Operation("f32", ("f32",) * count, f"extreme('{name}','{'.'.join(sorted(mods))}',{operands})")
    if kind in INTEGERS and name in ("min", "max") and mods == {"relu"} and kind == "s32":
        return Operation("s32", ("s32", "s32"), f"np.maximum(np.{name}imum({{0}},{{1}}),0)")
    return None


def _mixed(name: str, kind: str, mods: set[str]) -> Operation | None:
    """add, sub and fma of f32 with f16 or bf16 (PTX ISA, "Mixed Precision Floating Point Instructions")."""
    if name not in ("add", "sub", "fma") or mods - _DIRECTED - {"rn", "sat"}:
        return None
    halves = 2 if name == "fma" else 1
    mode = next(iter(mods & _DIRECTED), "rn")
    wide = [f"from_half(np.asarray({{{i}}},dtype=np.uint16),'{kind}')" for i in range(halves)]
    operands = ",".join([*wide, f"{{{halves}}}"])
    text = f"directed('{name}','{mode}',{operands})"
    if mode == "rn":
        text = f"fma({operands})" if name == "fma" else f"np.{'add' if name == 'add' else 'subtract'}({operands})"
    return Operation("f32", ("u16",) * halves + ("f32",), f"saturate({text})" if "sat" in mods else text)


def pair_more(name: str, mode: str, flush: bool, *bits: Any) -> Array:
    """Two f32 in 64 bits, with directed rounding or subnormals flushed."""
    words = [np.asarray(b, dtype=np.uint64) for b in np.broadcast_arrays(*bits)]
    table: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "fma": fma}
    halves = []
    for shift in (np.uint64(0), np.uint64(32)):
        values = [
            np.ascontiguousarray((w >> shift & np.uint64(0xFFFFFFFF)).astype(np.uint32)).view(np.float32) for w in words
        ]
        values = [ftz(v) for v in values] if flush else values
        result = table[name](*values) if mode == "rn" else directed(name, mode, *values)
        result = floats(ftz(result) if flush else result)
        halves.append(np.ascontiguousarray(result).view(np.uint32).astype(np.uint64))
    both: Array = (halves[1] << np.uint64(32)) | halves[0]
    return both


def extreme(name: str, mods: str, *values: Any) -> Array:
    """min or max of two or three f32; .xorsign.abs: of magnitudes, with the product's sign."""
    chosen = [ftz(v) if "ftz" in mods else floats(v) for v in values]
    function, signs = (fmin if name == "min" else fmax), np.zeros((), dtype=bool)
    if "xorsign" in mods:
        for value in chosen:
            signs = signs ^ np.signbit(value)
        chosen = [np.abs(v) for v in chosen]
    result = chosen[0]
    for value in chosen[1:]:
        result = function(result, value, "NaN" in mods)
    return np.where(signs & ~np.isnan(result), -result, result).astype(np.float32) if "xorsign" in mods else result


def _half(name: str, kind: str, mods: set[str], parts: tuple[str, ...]) -> Operation | None:
    base, width = kind.removesuffix("x2"), "u32" if "x2" in kind else "u16"
    if name == "setp" and "x2" not in kind:
        tests = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
        joined = {"and": "&", "or": "|", "xor": "^"}.get(parts[2]) if len(parts) == 4 else None
        if parts[1] not in tests or (len(parts) == 4 and joined is None):
            return None
        test = f"half_compare('{parts[1]}','{base}',{{0}},{{1}})"
        if joined:
            return Operation("pred", ("u16", "u16", "pred"), f"{test}{joined}{{2}}")
        return Operation("pred", ("u16", "u16"), test)
    arity = _HALVES.get(name)
    if arity is None or mods - {"rn", "approx", "ftz", "relu", "sat", "NaN"}:
        return None
    cast = ",".join(f"np.asarray({{{i}}},dtype=np.{width.replace('u', 'uint')})" for i in range(arity))
    return Operation(width, (width,) * arity, f"half_more('{name}','{base}','{'.'.join(sorted(mods))}',{cast})")


#: What the expressions above may call.
NAMES: dict[str, Any] = {
    f.__name__: f for f in (directed, dot, extreme, float_test, half_compare, half_more, pair_more)
}
