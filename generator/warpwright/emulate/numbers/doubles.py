"""Arithmetic on float64: values travel as their 64 bits, of uniform registers one at a time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from warpwright.emulate.numbers.formats import Array, ftz
from warpwright.emulate.numbers.operation import INTEGERS, Operation

_ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "fma": 3, "neg": 1, "abs": 1, "sqrt": 1, "rcp": 1,
          "rsqrt": 1, "copysign": 2}  # fmt: skip
_HELD = {"s8": "s16", "u8": "u16"}
_TESTS: dict[str, Any] = {
    "eq": np.equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "ne": lambda a, b: (a < b) | (a > b), "num": lambda a, b: (a == a) & (b == b),
    "nan": lambda a, b: (a != a) | (b != b),
    "equ": lambda a, b: ~((a < b) | (a > b)), "neu": np.not_equal, "ltu": lambda a, b: ~(a >= b),
    "leu": lambda a, b: ~(a > b), "gtu": lambda a, b: ~(a <= b), "geu": lambda a, b: ~(a < b),
}  # fmt: skip


def doubles(bits: Any) -> Array:
    """The values of float64 encodings."""
    found: Array = np.asarray(bits, dtype=np.uint64).view(np.float64)
    return found


def double_bits(values: Any) -> Array:
    """The encodings of float64 values; every NaN is the canonical one."""
    found: Array = np.asarray(values, dtype=np.float64).view(np.uint64)
    return np.where(np.isnan(values), np.uint64(0x7FFFFFFFFFFFFFFF), found)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """Rounded once: by exact fractions where all is finite."""
    rows = np.broadcast_arrays(a, b, c)
    plain = rows[0] * rows[1] + rows[2]
    result = np.array(plain, dtype=np.float64)
    for at in np.ndindex(result.shape):
        x, y, z = (float(row[at]) for row in rows)
        if np.isfinite(x) and np.isfinite(y) and np.isfinite(z):
            exact = Fraction(x) * Fraction(y) + Fraction(z)
            if exact:  # a sum of zero keeps the sign that the rounded one has
                try:
                    result[at] = float(exact)
                except OverflowError:
                    result[at] = np.inf if exact > 0 else -np.inf
    return result


def double_math(name: str, *bits: Any) -> Array:
    """One operation on float64 encodings."""
    words = [np.asarray(b, dtype=np.uint64) for b in bits]
    sign = np.uint64(1 << 63)
    if name in ("neg", "abs"):
        return np.asarray(words[0] ^ sign if name == "neg" else words[0] & ~sign)
    if name == "copysign":
        return np.asarray((words[1] & ~sign) | (words[0] & sign))
    values = [w.view(np.float64) for w in words]
    if name in ("min", "max"):
        both = (words[0] | words[1]) if name == "min" else (words[0] & words[1])  # -0 is less than +0
        chosen = (np.fmin if name == "min" else np.fmax)(*values)
        return np.where(values[0] == values[1], both, double_bits(chosen))
    table: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "fma": _fma}
    table |= {"sqrt": np.sqrt, "rcp": lambda v: 1.0 / v, "rsqrt": lambda v: 1.0 / np.sqrt(v)}
    return double_bits(table[name](*values))


def double_compare(test: str, a: Any, b: Any) -> Array:
    found: Array = _TESTS[test](doubles(a), doubles(b))
    return found


def double_operation(parts: tuple[str, ...]) -> Operation | None:
    """What an instruction on f64 computes, None where it is none or not emulated."""
    name, kind, mods = parts[0], parts[-1], set(parts[1:-1])
    if name == "cvt":
        return _conversion(parts[-2], kind, set(parts[1:-2]))
    if kind != "f64":
        return None
    if name == "setp" and parts[1] in _TESTS:
        joined = next((p for p in parts[2:-1]), "")
        test = f"double_compare('{parts[1]}',{{0}},{{1}})"
        if not joined:
            return Operation("pred", ("u64", "u64"), test)
        sign = {"and": "&", "or": "|", "xor": "^"}.get(joined)
        return Operation("pred", ("u64", "u64", "pred"), f"{test}{sign}{{2}}") if sign else None
    if name == "selp":
        return Operation("u64", ("u64", "u64", "pred"), "np.where({2},{0},{1})", "({0} if {2} else {1})")
    if name not in _ARITY or mods - {"rn", "approx", "ftz"}:
        return None
    operands = ",".join(f"{{{i}}}" for i in range(_ARITY[name]))
    return Operation("u64", ("u64",) * _ARITY[name], f"double_math('{name}',{operands})")


def _conversion(target: str, source: str, mods: set[str]) -> Operation | None:
    integers = {"s8", "u8", *(k for k in INTEGERS if k[0] != "b")}
    if target == "f64" and source == "f32" and not mods - {"ftz"}:
        return Operation("u64", ("f32",), f"double_bits({'ftz({0})' if mods else '{0}'})")
    if target == "f64" and source in integers and mods == {"rn"}:
        return Operation("u64", (_HELD.get(source, source),), "double_bits(np.asarray({0}).astype(np.float64))")
    if target == "f32" and source == "f64" and not mods - {"rn", "ftz", "sat"}:
        text = "doubles({0}).astype(np.float32)"
        text = f"ftz({text})" if "ftz" in mods else text
        return Operation("f32", ("u64",), f"saturate({text})" if "sat" in mods else text)
    if target == "f64" and source == "f64" and len(mods) == 1 and mods <= {"rni", "rzi", "rmi", "rpi"}:
        function = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}[next(iter(mods))]
        return Operation("u64", ("u64",), f"double_bits(np.{function}(doubles({{0}})))")
    if source == "f64" and target in integers and len(mods) == 1 and mods <= {"rni", "rzi", "rmi", "rpi"}:
        held = _HELD.get(target, target)
        bits = {"s8": 8, "u8": 8}.get(target) or INTEGERS[target]
        return Operation(held, ("u64",), f"round_to_int(doubles({{0}}),'{next(iter(mods))}',{bits},{target[0] == 's'})")
    if target in ("f16", "bf16") and source == "f64" and mods == {"rn"} and target == "f16":
        return Operation("u16", ("u64",), "doubles({0}).astype(np.float16).view(np.uint16)")
    return None


#: What the expressions above may call.
NAMES: dict[str, Any] = {f.__name__: f for f in (double_bits, double_compare, double_math, doubles, ftz)}
