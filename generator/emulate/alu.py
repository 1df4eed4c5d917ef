"""What each arithmetic instruction computes: one expression for uniform operands, one for a row of 32 lanes.

`operation(opcode)` returns an `Operation`, or None where the opcode is not arithmetic; the expressions take
their operands already typed: Python integers (signed where the type is), floats, or numpy arrays.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import formats
from .formats import Array

INTEGERS = {"u16": 16, "s16": 16, "b16": 16, "u32": 32, "s32": 32, "b32": 32, "u64": 64, "s64": 64, "b64": 64}


@dataclass(frozen=True)
class Operation:
    """`vector` and `scalar` hold {0}, {1}, ... for the operands; a missing `scalar` is the vector one on one lane."""

    result: str
    sources: tuple[str, ...]
    vector: str
    scalar: str | None = None
    ufunc: str | None = None


def sdiv(a: int, b: int) -> int:
    """div.s: truncates; division by zero gives all ones, as the hardware does."""
    return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else -1


def srem(a: int, b: int) -> int:
    return a - b * sdiv(a, b) if b else a


def vdiv(a: Any, b: Any) -> Array:
    a, b = np.broadcast_arrays(a, b)
    safe = np.where(b == 0, 1, b)
    quotient: Array = np.floor_divide(a, safe)
    if a.dtype.kind == "i":
        quotient = quotient + ((quotient * safe != a) & ((a < 0) != (safe < 0)))
        return np.where(b == 0, -1, quotient).astype(a.dtype)
    return np.where(b == 0, ~np.zeros_like(a), quotient)


def vrem(a: Any, b: Any) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.where(b == 0, a, a - b * vdiv(a, b))


def shl(x: Any, n: Any, bits: int) -> Array:
    kind = np.dtype(f"u{bits // 8}")
    x, n = np.asarray(x, dtype=kind), np.asarray(n, dtype=np.uint32)
    return np.where(n < bits, x << (n & (bits - 1)).astype(kind), kind.type(0))


def shr(x: Any, n: Any, bits: int) -> Array:
    kind = np.dtype(f"u{bits // 8}")
    x, n = np.asarray(x, dtype=kind), np.asarray(n, dtype=np.uint32)
    return np.where(n < bits, x >> (n & (bits - 1)).astype(kind), kind.type(0))


def sar(x: Any, n: Any, bits: int) -> Array:
    kind = np.dtype(f"i{bits // 8}")
    shifted: Array = np.asarray(x, dtype=kind) >> np.minimum(np.asarray(n, dtype=np.uint32), bits - 1).astype(kind)
    return shifted


def lop3(a: Any, b: Any, c: Any, table: int) -> Any:
    """lop3.b32: bit i of the table is the result where (a, b, c) spell i; works on integers and arrays."""
    result = a & 0
    for i in range(8):
        if table >> i & 1:
            result = result | ((a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c))
    return result & 0xFFFFFFFF


def prmt(a: Any, b: Any, c: Any) -> Array:
    """prmt.b32, default mode: each selector nibble picks a byte of {b, a}; its top bit replicates the sign."""
    a, b, c = (np.asarray(v, dtype=np.uint64) for v in (a, b, c))
    source = a | (b << np.uint64(32))
    result = np.zeros(np.broadcast(a, b, c).shape, dtype=np.uint64)
    for i in range(4):
        nibble = (c >> np.uint64(4 * i)) & np.uint64(15)
        byte = (source >> ((nibble & np.uint64(7)) * np.uint64(8))) & np.uint64(0xFF)
        byte = np.where(nibble & np.uint64(8), (byte >> np.uint64(7)) * np.uint64(0xFF), byte)
        result |= byte << np.uint64(8 * i)
    return result


def bfe(x: Any, position: Any, length: Any, signed: bool, bits: int) -> Array:
    x, position, length = np.broadcast_arrays(np.asarray(x, dtype=object), position, length)

    def one(v: int, p: int, n: int) -> int:
        v, p, n = int(v), int(p) & 255, int(n) & 255
        field = (v >> p) & ((1 << n) - 1) if n else 0
        sign = v >> min(p + n - 1, bits - 1) & 1 if signed and n else 0
        held = max(0, min(n, bits - p))
        return (field | (-1 << held) if sign else field) & ((1 << bits) - 1)

    return np.vectorize(one, otypes=[np.uint64])(x, position, length)


def bfi(a: Any, b: Any, position: Any, length: Any, bits: int) -> Array:
    def one(x: int, y: int, p: int, n: int) -> int:
        mask = (((1 << (int(n) & 255)) - 1) << (int(p) & 255)) & ((1 << bits) - 1)
        return (int(y) & ~mask) | ((int(x) << (int(p) & 255)) & mask)

    return np.vectorize(one, otypes=[np.uint64])(*np.broadcast_arrays(a, b, position, length))


def bits_of(name: str, x: Any, bits: int) -> Array:
    """popc, clz, brev, bfind of unsigned values."""
    table = {
        "popc": lambda v: bin(v).count("1"),
        "clz": lambda v: bits - v.bit_length(),
        "brev": lambda v: int(f"{v:0{bits}b}"[::-1], 2),
        "bfind": lambda v: v.bit_length() - 1 & 0xFFFFFFFF,
    }
    return np.vectorize(lambda v: table[name](int(v)), otypes=[np.uint64])(np.asarray(x))


def funnel(a: Any, b: Any, c: Any, left: bool, wrap: bool) -> Array:
    """shf.{l,r}.{wrap,clamp}.b32 of the 64-bit value {b, a}."""
    a, b, c = (np.asarray(v, dtype=np.uint64) for v in (a, b, c))
    n = c & np.uint64(31) if wrap else np.minimum(c, np.uint64(32))
    both = a | (b << np.uint64(32))
    return ((both << n) >> np.uint64(32) if left else both >> n) & np.uint64(0xFFFFFFFF)


def mulhi64(a: Any, b: Any, signed: bool) -> Array:
    return np.vectorize(lambda x, y: (int(x) * int(y) >> 64) & (2**64 - 1), otypes=[np.uint64])(a, b)


_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">"}
_COMPARE |= {"hs": ">="}
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}
_SIMPLE = {"add": ("+", "np.add"), "sub": ("-", "np.subtract"), "mul": ("*", "np.multiply")}


def _setp(parts: tuple[str, ...]) -> Operation | None:
    kind, compare = parts[-1], parts[1]
    if kind == "f32":
        if compare in _UNORDERED and compare != "neu":
            inverse = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}.get(compare)
            test = f"~({{0}}{inverse}{{1}})" if inverse else "~(({0}<{1})|({0}>{1}))"
        elif compare in ("num", "nan"):
            test = "({0}=={0})&({1}=={1})" if compare == "num" else "({0}!={0})|({1}!={1})"
        elif compare == "ne":
            test = "({0}<{1})|({0}>{1})"
        else:
            test = f"{{0}}{_COMPARE[_UNORDERED.get(compare, compare)]}{{1}}"
        scalar = None
    elif kind in INTEGERS and compare in _COMPARE:
        test = f"{{0}}{_COMPARE[compare]}{{1}}"
        scalar = f"int({test})"
    else:
        return None
    joined = [p for p in parts if p in ("and", "or", "xor")]
    if joined:
        sign = {"and": "&", "or": "|", "xor": "^"}[joined[0]]
        return Operation("pred", (kind, kind, "pred"), f"({test}){sign}{{2}}", scalar and f"{scalar}{sign}{{2}}")
    return Operation("pred", (kind, kind), f"({test})", scalar)


def _integer(parts: tuple[str, ...], kind: str) -> Operation | None:
    name, bits = parts[0], INTEGERS[kind]
    mask, unsigned, signed = f"{(1 << bits) - 1:#x}", f"u{bits}", kind[0] == "s"
    two, wide = (kind, kind), f"{kind[0]}{2 * bits}"
    if name == "mul" and "wide" in parts or name == "mad" and "wide" in parts:
        product = f"np.multiply({{0}},{{1}},dtype=np.{'int' if signed else 'uint'}{2 * bits})"
        wider = f"{(1 << 2 * bits) - 1:#x}"
        if name == "mul":
            return Operation(wide, two, product, f"({{0}}*{{1}})&{wider}")
        return Operation(wide, (*two, wide), f"{product}+{{2}}", f"({{0}}*{{1}}+{{2}})&{wider}")
    if name == "mul" and "hi" in parts:
        wider = f"np.{'int' if signed else 'uint'}{2 * bits}"
        vector = f"np.multiply({{0}},{{1}},dtype={wider})>>{bits}" if bits < 64 else f"mulhi64({{0}},{{1}},{signed})"
        return Operation(kind if bits < 64 else unsigned, two, vector, f"({{0}}*{{1}}>>{bits})&{mask}")
    if name in _SIMPLE and not set(parts) & {"sat", "cc"}:
        sign, ufunc = _SIMPLE[name]
        return Operation(unsigned, (unsigned, unsigned), f"{{0}}{sign}{{1}}", f"({{0}}{sign}{{1}})&{mask}", ufunc)
    if name == "mad" and "lo" in parts:
        return Operation(unsigned, (unsigned,) * 3, "{0}*{1}+{2}", f"({{0}}*{{1}}+{{2}})&{mask}")
    if name in ("div", "rem"):
        sign = "//" if name == "div" else "%"
        zero = mask if name == "div" else "{0}"
        scalar = f"s{name}({{0}},{{1}})&{mask}" if signed else f"({{0}}{sign}{{1}} if {{1}} else {zero})"
        return Operation(kind, two, f"v{name}({{0}},{{1}})", scalar)
    if name in ("min", "max"):
        return Operation(kind, two, f"np.{name}imum({{0}},{{1}})", f"{name}({{0}},{{1}})&{mask}")
    if name in ("and", "or", "xor"):
        sign = {"and": "&", "or": "|", "xor": "^"}[name]
        return Operation(unsigned, two, f"{{0}}{sign}{{1}}", f"{{0}}{sign}{{1}}", f"np.bitwise_{name}")
    if name == "not":
        return Operation(unsigned, (kind,), "~{0}", f"{{0}}^{mask}")
    if name in ("neg", "abs"):
        sign = "-" if name == "neg" else "abs"
        return Operation(kind, (kind,), f"{sign}({{0}})", f"{sign}({{0}})&{mask}")
    if name == "shl":
        scalar = f"(({{0}}<<{{1}})&{mask} if {{1}}<{bits} else 0)"
        return Operation(unsigned, (unsigned, "u32"), f"shl({{0}},{{1}},{bits})", scalar)
    if name == "shr":
        function = "sar" if signed else "shr"
        return Operation(
            kind, (kind, "u32"), f"{function}({{0}},{{1}},{bits})", f"({{0}}>>min({{1}},{bits}))&{mask}"
        )
    if name == "selp":
        return Operation(unsigned, (unsigned, unsigned, "pred"), "np.where({2},{0},{1})", "({0} if {2} else {1})")
    if name == "mov":
        return Operation(unsigned, (unsigned,), "{0}", "{0}")
    return _bit_fields(parts, kind, bits, signed)


def _bit_fields(parts: tuple[str, ...], kind: str, bits: int, signed: bool) -> Operation | None:
    name, unsigned = parts[0], f"u{bits}"
    if name == "lop3":
        return Operation("u32", ("u32", "u32", "u32", "u32"), "lop3({0},{1},{2},{3})", "lop3({0},{1},{2},{3})")
    if name == "prmt" and len(parts) == 2:
        return Operation("u32", ("u32",) * 3, "prmt({0},{1},{2})")
    if name == "bfe":
        return Operation(unsigned, (unsigned, "u32", "u32"), f"bfe({{0}},{{1}},{{2}},{signed},{bits})")
    if name == "bfi":
        return Operation(unsigned, (unsigned, unsigned, "u32", "u32"), f"bfi({{0}},{{1}},{{2}},{{3}},{bits})")
    if name in ("popc", "clz", "bfind") and not (name == "bfind" and signed):
        return Operation("u32", (unsigned,), f"bits_of('{name}',{{0}},{bits})")
    if name == "brev":
        return Operation(unsigned, (unsigned,), f"bits_of('brev',{{0}},{bits})")
    if name == "shf":
        return Operation("u32", ("u32",) * 3, f"funnel({{0}},{{1}},{{2}},{'l' in parts},{'wrap' in parts})")
    return None


def _float(parts: tuple[str, ...]) -> Operation | None:
    name, mods = parts[0], set(parts[1:-1])
    if mods - {"rn", "ftz", "sat", "approx", "full", "NaN"}:
        return None
    arity = {"add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "fma": 3, "copysign": 2}.get(name, 1)
    ufunc = None
    if name in _SIMPLE or name == "div":
        sign, ufunc = {**_SIMPLE, "div": ("/", "np.divide")}[name]
        text = f"{{0}}{sign}{{1}}"
    elif name == "fma":
        text = "fma({0},{1},{2})"
    elif name in ("min", "max"):
        text = f"np.{name}imum({{0}},{{1}})" if "NaN" in mods else f"f{name}({{0}},{{1}})"
    elif name == "copysign":
        text = "np.copysign({1},{0})"
    elif name in ("neg", "abs"):
        # on the bits: NaN and zero keep theirs
        text = "{0}^0x80000000" if name == "neg" else "{0}&0x7FFFFFFF"
        return Operation("u32", ("u32",), text, text) if "ftz" not in mods else None
    elif name in ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh", "sin", "cos"):
        text = f"approximate('{name}',{{0}})"
    else:
        return _integer(("selp", "b32"), "b32") if name == "selp" else None
    if mods & {"ftz", "sat"}:
        ufunc = None
        for i in range(arity if "ftz" in mods else 0):
            text = text.replace(f"{{{i}}}", f"ftz({{{i}}})")
        text = f"ftz({text})" if "ftz" in mods else text
        text = f"saturate({text})" if "sat" in mods else text
    return Operation("f32", ("f32",) * arity, text, None, ufunc)


@functools.cache
def operation(opcode: str) -> Operation | None:
    """The arithmetic of `opcode`, or None where it is something else or not emulated."""
    from .convert import conversion  # in its own module for its length

    parts = tuple(opcode.split("."))
    name, kind = parts[0], parts[-1]
    if name == "cvt":
        return conversion(parts)
    if name == "setp":
        return _setp(parts)
    if kind == "pred":
        sign = {"and": "&", "or": "|", "xor": "^"}.get(name)
        if sign:
            return Operation("pred", ("pred", "pred"), f"{{0}}{sign}{{1}}", f"{{0}}{sign}{{1}}")
        return {
            "not": Operation("pred", ("pred",), "~np.asarray({0},dtype=bool)", "{0}^1"),
            "mov": Operation("pred", ("pred",), "{0}", "{0}"),
        }.get(name)
    if name == "mov" and kind in ("f32", "f64"):
        return _integer(parts, "b" + kind[1:])
    if kind in ("f16", "bf16", "f16x2", "bf16x2"):
        base, width = kind.removesuffix("x2"), "u32" if "x2" in kind else "u16"
        arity = {"add": 2, "sub": 2, "mul": 2, "min": 2, "max": 2, "fma": 3, "ex2": 1, "tanh": 1}.get(name)
        if arity is None or set(parts[1:-1]) - {"rn", "approx"}:
            return None
        cast = ",".join(f"np.asarray({{{i}}},dtype=np.{width.replace('u', 'uint')})" for i in range(arity))
        return Operation(width, (width,) * arity, f"half_math('{name}','{base}',{cast})")
    if kind == "f32":
        return _float(parts)
    return _integer(parts, kind) if kind in INTEGERS else None


NAMES: dict[str, Any] = {
    f.__name__: f for f in (sdiv, srem, vdiv, vrem, shl, shr, sar, lop3, prmt, bfe, bfi, bits_of, funnel, mulhi64)
}
NAMES |= {n: getattr(formats, n) for n in dir(formats) if callable(getattr(formats, n)) and n[0] != "_"} | {"np": np}
