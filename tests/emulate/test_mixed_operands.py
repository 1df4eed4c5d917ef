"""Integer instructions with every mixture of operands, per-lane, uniform and immediate, against exact arithmetic.

The translator has one expression for uniform operands and one for rows of lanes, and puts Python integers into the
second one where only some operands are uniform: each mixture must be bit for bit the same function.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from .ptx_kit import launch

LANES = 32
EDGES = [0, 1, 2, 7, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
         0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xDEADBEEF80000001]  # fmt: skip
PICKS = [0, 1, 33, 0x80000000, 0xFFFFFFFF, 0x7FFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x8000000000000001, 0x123456789ABCDEF0]


def signed(x: int, bits: int) -> int:
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> bits - 1 else x


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else -1


def permuted(a: int, b: int, c: int, mode: str) -> int:
    """prmt.b32 by the tables of the PTX ISA."""
    source = a | b << 32
    at = c & 3
    chosen = {
        "": [c >> 4 * i & 15 for i in range(4)],
        "f4e": [at + i for i in range(4)],
        "b4e": [at - i & 7 for i in range(4)],
        "rc8": [at] * 4,
        "ecl": [max(i, at) for i in range(4)],
        "ecr": [min(i, at) for i in range(4)],
        "rc16": [2 * (at & 1), 2 * (at & 1) + 1] * 2,
    }[mode]
    result = 0
    for i, nibble in enumerate(chosen):
        byte = source >> 8 * (nibble & 7) & 0xFF
        result |= (byte if nibble < 8 else 0xFF * (byte >> 7)) << 8 * i
    return result


def extracted(a: int, position: int, length: int, sign: bool, bits: int) -> int:
    """bfe by the pseudo-code of the PTX ISA."""
    position, length, msb = position & 0xFF, length & 0xFF, bits - 1
    fill = a >> min(position + length - 1, msb) & 1 if sign and length else 0
    result = 0
    for i in range(bits):
        result |= (a >> position + i & 1 if i < length and position + i <= msb else fill) << i
    return result


def inserted(a: int, b: int, position: int, length: int, bits: int) -> int:
    position, length = position & 0xFF, length & 0xFF
    for i in range(length):
        if position + i < bits:
            b = b & ~(1 << position + i) | (a >> i & 1) << position + i
    return b


def funnel(a: int, b: int, c: int, left: bool, wrap: bool) -> int:
    n = c & 31 if wrap else min(c, 32)
    both = b << 32 | a
    return both << n >> 32 if left else both >> n


Case = tuple[str, int, tuple[int, ...], Callable[..., int]]  # opcode, bits of the result, of the operands, meaning


def _integer_cases() -> list[Case]:
    cases: list[Case] = []
    for bits in (16, 32, 64):
        for sign in "us":
            kind = f"{sign}{bits}"

            def of(x: int, bits: int = bits, sign: str = sign) -> int:
                return signed(x, bits) if sign == "s" else x

            two, three = (bits, bits), (bits, bits, bits)
            cases += [
                (f"add.{kind}", bits, two, lambda a, b: a + b),
                (f"sub.{kind}", bits, two, lambda a, b: a - b),
                (f"mul.lo.{kind}", bits, two, lambda a, b: a * b),
                (f"mul.hi.{kind}", bits, two, lambda a, b, of=of, n=bits: of(a) * of(b) >> n),
                (f"mad.lo.{kind}", bits, three, lambda a, b, c: a * b + c),
                (f"mad.hi.{kind}", bits, three, lambda a, b, c, of=of, n=bits: (of(a) * of(b) >> n) + c),
                (f"sad.{kind}", bits, three, lambda a, b, c, of=of: c + abs(of(a) - of(b))),
                (f"div.{kind}", bits, two, lambda a, b, of=of: quotient(of(a), of(b))),
                (f"rem.{kind}", bits, two,
                 lambda a, b, of=of: of(a) - of(b) * quotient(of(a), of(b)) if b else a),
                (f"min.{kind}", bits, two, lambda a, b, of=of: min(of(a), of(b))),
                (f"max.{kind}", bits, two, lambda a, b, of=of: max(of(a), of(b))),
                (f"shr.{kind}", bits, (bits, 32), lambda a, b, of=of, n=bits: of(a) >> min(b, n)),
            ]  # fmt: skip
            if bits < 64:
                wide = 2 * bits
                cases += [
                    (f"mul.wide.{kind}", wide, two, lambda a, b, of=of: of(a) * of(b)),
                    (f"mad.wide.{kind}", wide, (bits, bits, wide), lambda a, b, c, of=of: of(a) * of(b) + c),
                ]
            if bits > 16:
                cases.append((f"bfe.{kind}", bits, (bits, 32, 32),
                              lambda a, b, c, s=sign, n=bits: extracted(a, b, c, s == "s", n)))  # fmt: skip
            for compare in ("eq", "ne", "lt", "le", "gt", "ge"):
                cases.append(
                    (
                        f"setp.{compare}.{kind}",
                        1,
                        two,
                        lambda a, b, c=compare, of=of: bool(eval(f"x {PYTHON[c]} y", {"x": of(a), "y": of(b)})),
                    )
                )
        cases += [
            (f"neg.s{bits}", bits, (bits,), lambda a: -a),
            (f"abs.s{bits}", bits, (bits,), lambda a, n=bits: abs(signed(a, n))),
            (f"not.b{bits}", bits, (bits,), lambda a: ~a),
            (f"cnot.b{bits}", bits, (bits,), lambda a: a == 0),
            (f"and.b{bits}", bits, (bits, bits), lambda a, b: a & b),
            (f"or.b{bits}", bits, (bits, bits), lambda a, b: a | b),
            (f"xor.b{bits}", bits, (bits, bits), lambda a, b: a ^ b),
            (f"shl.b{bits}", bits, (bits, 32), lambda a, b, n=bits: a << b if b < n else 0),
        ]
        if bits > 16:
            cases += [
                (f"bfi.b{bits}", bits, (bits, bits, 32, 32), lambda a, b, c, d, n=bits: inserted(a, b, c, d, n)),
                (f"popc.b{bits}", 32, (bits,), lambda a: bin(a).count("1")),
                (f"clz.b{bits}", 32, (bits,), lambda a, n=bits: n - a.bit_length()),
                (f"brev.b{bits}", bits, (bits,), lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2)),
                (f"bfind.u{bits}", 32, (bits,), lambda a: a.bit_length() - 1),
                (f"bfind.s{bits}", 32, (bits,),
                 lambda a, n=bits: (a if signed(a, n) >= 0 else ~a & (1 << n) - 1).bit_length() - 1),
                (f"bfind.shiftamt.u{bits}", 32, (bits,), lambda a, n=bits: n - a.bit_length() if a else -1),
            ]  # fmt: skip
    for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        opcode = f"prmt.b32{f'.{mode}' if mode else ''}"
        cases.append((opcode, 32, (32, 32, 32), lambda a, b, c, m=mode: permuted(a, b, c, m)))
    for way, ends in itertools.product("lr", ("wrap", "clamp")):
        cases.append((f"shf.{way}.{ends}.b32", 32, (32, 32, 32),
                      lambda a, b, c, w=way, e=ends: funnel(a, b, c, w == "l", e == "wrap")))  # fmt: skip
    return cases


PYTHON = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _conversions() -> list[Case]:
    kinds = [f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "us"]
    cases: list[Case] = []
    for target, source in itertools.product(kinds, kinds):
        bits, narrow = int(target[1:]), int(source[1:])

        def value(a: int, s: str = source[0], n: int = narrow) -> int:
            return signed(a, n) if s == "s" else a & (1 << n) - 1

        def into(a: int, v: Any = value, t: str = target[0], n: int = bits) -> int:
            low = v(a) & (1 << n) - 1
            return signed(low, n) if t == "s" else low  # in a wider register: extended by the type of the result

        def clamped(a: int, v: Any = value, t: str = target[0], n: int = bits) -> int:
            low, high = (-(1 << n - 1), (1 << n - 1) - 1) if t == "s" else (0, (1 << n) - 1)
            return min(max(v(a), low), high)

        cases.append((f"cvt.{target}.{source}", max(16, bits), (max(16, narrow),), into))
        cases.append((f"cvt.sat.{target}.{source}", max(16, bits), (max(16, narrow),), clamped))
    return cases


REGISTER = {1: "%p{}", 16: "%rs{}", 32: "%r{}", 64: "%rd{}"}


def _load(lines: list[str], address: str, number: int, bits: int) -> str:
    """The low `bits` of the 64-bit word at `address`, in register `number` of that width."""
    register = REGISTER[bits].format(number)
    lines.append(f" ld.global.b64 %rd{number}, [{address}];")
    if bits < 64:
        lines.append(f" cvt.u{bits}.u64 {register}, %rd{number};")
    return register


def _store(lines: list[str], register: str, bits: int, spare: int, place: int, whole: bool) -> None:
    wide = f"%rd{spare}"
    if bits == 1:
        lines.append(f" selp.b64 {wide}, 1, 0, {register};")
    elif bits == 64:
        wide = register
    else:
        lines.append(f" cvt.u64.u{bits} {wide}, {register};")
    address = f"%rd7+{place}" if whole else f"%rd8+{place}"
    lines.append(f" st.global.b64 [{address}], {wide};")


def check(case: Case, seed: int = 0) -> None:
    """Run one instruction with all mixtures of operands; AssertionError names the first that is wrong."""
    opcode, result_bits, sources, meaning = case
    rng = np.random.default_rng(zlib.crc32(opcode.encode()) + seed)
    count = len(sources)
    rows = [[EDGES[i] if i < len(EDGES) else int(v) for i, v in enumerate(rng.integers(0, 1 << 63, LANES))]
            for _ in sources]  # fmt: skip
    rows = [[int(v) for v in rng.permutation(np.array(row, dtype=np.uint64))] for row in rows]
    for row, bits in zip(rows, sources, strict=True):  # shifts and positions: mostly small ones
        if bits == 32:
            row[::2] = [v % 70 for v in row[::2]]
    lines = [" mul.wide.u32 %rd20, %r0, 8;", " add.s64 %rd7, %rd0, %rd20;", " mov.b64 %rd8, %rd0;"]
    varying = []
    for n, bits in enumerate(sources):
        lines.append(f" add.s64 %rd21, %rd1, {256 * n};\n add.s64 %rd22, %rd21, %rd20;")
        varying.append(_load(lines, "%rd22", 10 + n, bits))
    expected: list[tuple[str, list[list[int]]]] = []
    picks = [[PICKS[int(p)] for p in rng.integers(0, len(PICKS), 3)] for _ in sources]
    uniforms = np.array([p for each in picks for p in each], dtype=np.uint64)
    for which in range(3):
        for mixture in itertools.product("vui", repeat=count):
            operands, values = [], []
            for n, (how, bits) in enumerate(zip(mixture, sources, strict=True)):
                mask = (1 << bits) - 1
                if how == "v":
                    operands.append(varying[n])
                    values.append([v & mask for v in rows[n]])
                    continue
                value = picks[n][which] & mask
                values.append([value] * LANES)
                if how == "u":
                    operands.append(_load(lines, f"%rd2+{8 * (3 * n + which)}", 30 + n, bits))
                else:
                    operands.append(str(signed(value, bits)))
            whole = "v" in mixture
            result = REGISTER[result_bits].format(16 if whole else 17)
            lines.append(f" {opcode} {result}, {', '.join(operands)};")
            _store(lines, result, result_bits, 40 if whole else 41, 256 * len(expected), whole)
            text = f"{opcode} {', '.join(operands)} ({'/'.join(mixture)})"
            expected.append((text, values))
    out = np.zeros((len(expected), LANES), dtype=np.uint64)
    outcome = launch("\n".join(lines), {"o": out, "v": np.array(rows, dtype=np.uint64), "u": uniforms})
    assert outcome.kinds == [], outcome.result.findings[0]
    mask = (1 << result_bits) - 1
    for (text, values), row in zip(expected, out, strict=True):
        for lane, got in enumerate(row.tolist() if "v" in text.split("(")[1] else row.tolist()[:1]):
            operands_ = [v[lane] for v in values]
            want = int(meaning(*operands_)) & mask
            assert got == want, f"{text} of {[hex(o) for o in operands_]} is {got:#x}, expected {want:#x}"


def _names(cases: Sequence[Case]) -> list[str]:
    return [case[0] for case in cases]


INTEGER, CONVERSIONS = _integer_cases(), _conversions()


@pytest.mark.parametrize("case", INTEGER, ids=_names(INTEGER))
def test_integer_arithmetic(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", CONVERSIONS, ids=_names(CONVERSIONS))
def test_conversions_between_integers(case: Case) -> None:
    check(case)
