"""What each arithmetic instruction computes: one expression for uniform operands, one for a row of 32 lanes.

`operation(opcode)` returns an `Operation`, or None where the opcode is not arithmetic; the expressions take
their operands already typed: Python integers (signed where the type is), floats, or numpy arrays.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from warpwright.emulate.numbers import bits as bit_functions
from warpwright.emulate.numbers import doubles, formats, small_formats, uncommon
from warpwright.emulate.numbers.convert import conversion
from warpwright.emulate.numbers.doubles import double_operation
from warpwright.emulate.numbers.operation import INTEGERS, Operation
from warpwright.emulate.numbers.small_formats import small_conversion
from warpwright.emulate.numbers.uncommon import uncommon_operation

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
        if "ftz" in parts:
            test = test.replace("{0}", "ftz({0})").replace("{1}", "ftz({1})")
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
    if (name == "mul" and "wide" in parts) or (name == "mad" and "wide" in parts):
        product = f"np.multiply({{0}},{{1}},dtype=np.{'int' if signed else 'uint'}{2 * bits})"
        wider = f"{(1 << 2 * bits) - 1:#x}"
        if name == "mul":
            return Operation(wide, two, product, f"({{0}}*{{1}})&{wider}")
        return Operation(wide, (*two, wide), f"{product}+{{2}}", f"({{0}}*{{1}}+{{2}})&{wider}")
    if name == "mul" and "hi" in parts:
        wider = f"np.{'int' if signed else 'uint'}{2 * bits}"
        vector = f"np.multiply({{0}},{{1}},dtype={wider})>>{bits}" if bits < 64 else "mulhi({0},{1},64)"
        return Operation(kind if bits < 64 else unsigned, two, vector, f"({{0}}*{{1}}>>{bits})&{mask}")
    if name in _SIMPLE and not set(parts) & {"sat", "cc"}:
        sign, ufunc = _SIMPLE[name]
        return Operation(unsigned, (unsigned, unsigned), f"{{0}}{sign}{{1}}", f"({{0}}{sign}{{1}})&{mask}", ufunc)
    if name == "mad" and "lo" in parts:  # the product may be of two uniform factors, so that it needs a type
        product = f"np.multiply({{0}},{{1}},dtype=np.uint{bits})"
        return Operation(unsigned, (unsigned,) * 3, f"{product}+{{2}}", f"({{0}}*{{1}}+{{2}})&{mask}")
    if name == "mad" and parts[1] == "hi":
        vector = f"mulhi({{0}},{{1}},{bits})+np.asarray({{2}}).astype(np.uint{bits})"
        return Operation(unsigned, (kind, kind, unsigned), vector, f"(({{0}}*{{1}}>>{bits})+{{2}})&{mask}")
    if name == "sad":
        return Operation(unsigned, (kind, kind, unsigned), f"sad({{0}},{{1}},{{2}},{bits},{signed})",
                         f"(abs({{0}}-{{1}})+{{2}})&{mask}")  # fmt: skip
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
    if name == "cnot":
        return Operation(unsigned, (unsigned,), "{0}==0", "int({0}==0)")
    if name in ("neg", "abs"):
        sign = "-" if name == "neg" else "abs"
        return Operation(kind, (kind,), f"{sign}({{0}})", f"{sign}({{0}})&{mask}")
    if name == "shl":
        scalar = f"(({{0}}<<{{1}})&{mask} if {{1}}<{bits} else 0)"
        return Operation(unsigned, (unsigned, "u32"), f"shl({{0}},{{1}},{bits})", scalar)
    if name == "shr":
        function = "sar" if signed else "shr"
        return Operation(kind, (kind, "u32"), f"{function}({{0}},{{1}},{bits})", f"({{0}}>>min({{1}},{bits}))&{mask}")
    if name == "selp":
        return Operation(unsigned, (unsigned, unsigned, "pred"), "np.where({2},{0},{1})", "({0} if {2} else {1})")
    if name == "mov":
        return Operation(unsigned, (unsigned,), "{0}", "{0}")
    return _bit_fields(parts, kind, bits, signed)


def _bit_fields(parts: tuple[str, ...], kind: str, bits: int, signed: bool) -> Operation | None:
    name, unsigned = parts[0], f"u{bits}"
    if name == "lop3":
        return Operation("u32", ("u32", "u32", "u32", "u32"), "lop3({0},{1},{2},{3})", "lop3({0},{1},{2},{3})")
    if name == "prmt" and (len(parts) == 2 or parts[2] in bit_functions.PERMUTATIONS):
        return Operation("u32", ("u32",) * 3, f"prmt({{0}},{{1}},{{2}},'{''.join(parts[2:])}')")
    if name == "bfe":
        return Operation(unsigned, (unsigned, "u32", "u32"), f"bfe({{0}},{{1}},{{2}},{signed},{bits})")
    if name == "bfi":
        return Operation(unsigned, (unsigned, unsigned, "u32", "u32"), f"bfi({{0}},{{1}},{{2}},{{3}},{bits})")
    if name == "bfind":
        return Operation("u32", (kind,), f"bfind({{0}},{bits},{'shiftamt' in parts})")
    if name in ("popc", "clz"):
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
    arity = {"add": 2, "sub": 2, "mul": 2, "div": 2, "min": 2, "max": 2, "fma": 3}.get(name, 1)
    ufunc = None
    if name in _SIMPLE or name == "div":
        sign, ufunc = {**_SIMPLE, "div": ("/", "np.divide")}[name]
        text = f"{{0}}{sign}{{1}}"
    elif name == "fma":
        text = "fma({0},{1},{2})"
    elif name in ("min", "max"):
        text = f"f{name}({{0}},{{1}}{',True' if 'NaN' in mods else ''})"
    elif name == "copysign":
        text = "({1}&0x7FFFFFFF)|({0}&0x80000000)"
        return Operation("u32", ("u32", "u32"), text, text)
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
def operation(opcode: str, count: int = 0) -> Operation | None:
    """The arithmetic of `opcode`, or None where it is something else or not emulated; `count`: of sources, if known."""
    parts = tuple(opcode.split("."))
    found = _common(parts)
    if found is not None and count in (0, len(found.sources)):
        return found
    return double_operation(parts) or small_conversion(parts) or uncommon_operation(parts, count)


def _common(parts: tuple[str, ...]) -> Operation | None:
    name, kind = parts[0], parts[-1]
    if name == "cvt":
        return conversion(parts)
    if name == "prmt":
        return _bit_fields(parts, "b32", 32, False)
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
    if kind == "f32x2":
        arity = {"add": 2, "sub": 2, "mul": 2, "fma": 3}.get(name)
        if arity is None or set(parts[1:-1]) - {"rn"}:
            return None
        return Operation("u64", ("u64",) * arity, f"pair_math('{name}',{','.join(f'{{{i}}}' for i in range(arity))})")
    if kind == "f32":
        return _float(parts)
    return _integer(parts, kind) if kind in INTEGERS else None


def _functions(module: Any) -> dict[str, Any]:
    return {n: v for n, v in vars(module).items() if callable(v) and n[0] != "_"}


# what the expressions may call
NAMES: dict[str, Any] = {**_functions(formats), **_functions(bit_functions), **doubles.NAMES, **small_formats.NAMES}
NAMES |= {**uncommon.NAMES, "np": np}
