"""Arithmetic instructions, each on rows of lanes and on uniform registers, against the PTX ISA's definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_kit import lanes, uniform

RNG = np.random.default_rng(7)
EDGES = np.array([0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 255, 256], np.uint32)
A = np.concatenate([EDGES, RNG.integers(0, 1 << 32, 20, np.uint32)]).astype(np.uint32)
B = np.concatenate([RNG.integers(0, 1 << 32, 20, np.uint32), EDGES]).astype(np.uint32)
C = RNG.integers(0, 1 << 32, 32, np.uint32).astype(np.uint32)
M = 0xFFFFFFFF


def s(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


def trunc(a: int, b: int) -> int:
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift Instructions", "Comparison and Selection Instructions"
INTEGER = {
    "add.s32 %r9, %r2, %r3;": lambda a, b, c: a + b,
    "sub.s32 %r9, %r2, %r3;": lambda a, b, c: a - b,
    "mul.lo.s32 %r9, %r2, %r3;": lambda a, b, c: a * b,
    "mul.hi.u32 %r9, %r2, %r3;": lambda a, b, c: a * b >> 32,
    "mul.hi.s32 %r9, %r2, %r3;": lambda a, b, c: s(a) * s(b) >> 32,
    "mad.lo.s32 %r9, %r2, %r3, %r4;": lambda a, b, c: a * b + c,
    "div.s32 %r9, %r2, %r3;": lambda a, b, c: trunc(s(a), s(b)),
    "div.u32 %r9, %r2, %r3;": lambda a, b, c: a // b if b else M,
    "rem.u32 %r9, %r2, %r3;": lambda a, b, c: a % b if b else a,
    "rem.s32 %r9, %r2, %r3;": lambda a, b, c: s(a) - s(b) * trunc(s(a), s(b)) if b else a,
    "min.s32 %r9, %r2, %r3;": lambda a, b, c: min(s(a), s(b)),
    "max.u32 %r9, %r2, %r3;": lambda a, b, c: max(a, b),
    "neg.s32 %r9, %r2;": lambda a, b, c: -a,
    "abs.s32 %r9, %r2;": lambda a, b, c: abs(s(a)),
    "and.b32 %r9, %r2, %r3;": lambda a, b, c: a & b,
    "xor.b32 %r9, %r2, -4;": lambda a, b, c: a ^ -4,
    "not.b32 %r9, %r2;": lambda a, b, c: ~a,
    "shl.b32 %r9, %r2, %r3;": lambda a, b, c: a << b if b < 32 else 0,
    "shr.u32 %r9, %r2, %r3;": lambda a, b, c: a >> b if b < 32 else 0,
    "shr.s32 %r9, %r2, %r3;": lambda a, b, c: s(a) >> min(b, 31),
    "shl.b32 %r9, %r2, 5;": lambda a, b, c: a << 5,
    "shr.s32 %r9, %r2, 31;": lambda a, b, c: s(a) >> 31,
    "lop3.b32 %r9, %r2, %r3, %r4, 0xE8;": lambda a, b, c: a & b | a & c | b & c,
    "lop3.b32 %r9, %r2, %r3, %r4, 0x96;": lambda a, b, c: a ^ b ^ c,
    "lop3.b32 %r9, %r2, 252645135, -252645136, 0x28;": lambda a, b, c: (  # (a, b, c) are 011 or 101
        (~a & 252645135 & -252645136) | (a & ~252645135 & -252645136)
    ),
    "lop3.b32 %r9, 252645135, %r2, -8, 0x01;": lambda a, b, c: ~252645135 & ~a & 7,
    "lop3.b32 %r9, 252645135, -8, %r2, 0x02;": lambda a, b, c: ~252645135 & 7 & a,
    "prmt.b32 %r9, %r2, %r3, 0x5410;": lambda a, b, c: a & 0xFFFF | (b & 0xFFFF) << 16,
    "prmt.b32 %r9, %r2, %r3, 0x0123;": lambda a, b, c: int.from_bytes(a.to_bytes(4, "little"), "big"),
    "prmt.b32 %r9, %r2, %r3, 0x888F;": lambda a, b, c: (M << 8 if a & 0x80 else 0) | (0xFF if b >> 31 else 0),
    "bfe.u32 %r9, %r2, 4, 8;": lambda a, b, c: a >> 4 & 0xFF,
    "bfe.s32 %r9, %r2, 4, 8;": lambda a, b, c: ((a >> 4 & 0xFF) ^ 0x80) - 0x80,
    "bfi.b32 %r9, %r2, %r3, 8, 4;": lambda a, b, c: b & ~0xF00 | (a & 15) << 8,
    "popc.b32 %r9, %r2;": lambda a, b, c: bin(a).count("1"),
    "clz.b32 %r9, %r2;": lambda a, b, c: 32 - a.bit_length(),
    "brev.b32 %r9, %r2;": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "shf.l.wrap.b32 %r9, %r2, %r3, 8;": lambda a, b, c: b << 8 | a >> 24,
    "shf.r.clamp.b32 %r9, %r2, %r3, 40;": lambda a, b, c: b,
    "setp.lt.s32 %p1, %r2, %r3;\nselp.b32 %r9, %r4, 7, %p1;": lambda a, b, c: c if s(a) < s(b) else 7,
    "setp.hi.u32 %p1, %r2, %r3;\nselp.b32 %r9, 1, 0, %p1;": lambda a, b, c: a > b,
    "setp.ge.u32 %p1, %r2, %r3;\nnot.pred %p2, %p1;\nselp.b32 %r9, 1, 0, %p2;": lambda a, b, c: a < b,
    "setp.eq.s32 %p1, %r2, 0;\nsetp.ne.or.b32 %p2, %r3, %r4, %p1;\nselp.b32 %r9, 1, 0, %p2;": (
        lambda a, b, c: b != c or a == 0
    ),
    "mul.wide.s32 %rd30, %r2, %r3;\nshr.u64 %rd31, %rd30, 16;\ncvt.u32.u64 %r9, %rd31;": (
        lambda a, b, c: (s(a) * s(b) & (1 << 64) - 1) >> 16
    ),
    "mad.wide.u32 %rd30, %r2, %r3, 5;\nmov.b64 {%r8, %r9}, %rd30;": lambda a, b, c: a * b + 5 >> 32,
    "mov.b64 %rd30, {%r2, %r3};\nshr.s64 %rd31, %rd30, 8;\ncvt.u32.u64 %r9, %rd31;": lambda a, b, c: a >> 8 | b << 24,
    "cvt.s64.s32 %rd30, %r2;\nshr.s64 %rd31, %rd30, 20;\ncvt.u32.u64 %r9, %rd31;": lambda a, b, c: s(a) >> 20,
    "mov.b32 {%rs1, %rs2}, %r2;\nmov.b32 %r9, {%rs2, %rs1};": lambda a, b, c: a >> 16 | a << 16,
    "cvt.u16.u32 %rs1, %r2;\ncvt.s32.s16 %r9, %rs1;": lambda a, b, c: ((a & 0xFFFF) ^ 0x8000) - 0x8000,
    "cvt.u16.u32 %rs1, %r2;\ncvt.u32.u8 %r9, %rs1;": lambda a, b, c: a & 0xFF,
}


@pytest.mark.parametrize("code", INTEGER)
def test_integers(code: str) -> None:
    expected = np.array([int(INTEGER[code](*map(int, v))) & M for v in zip(A, B, C, strict=True)], np.uint32)
    np.testing.assert_array_equal(lanes(code, A, B, C), expected)
    np.testing.assert_array_equal(uniform(code, A, B, C), expected)


def bits(x: Any) -> Any:
    return np.asarray(x, np.float32).view(np.uint32)


F = np.array([0.0, -0.0, 1.5, -2.25, 3e38, -3e38, 1e-40, 65504, 65520, 1 + 2**-11, 1 + 3 * 2**-11, np.inf, -np.inf])
F = np.concatenate([F, np.random.default_rng(1).standard_normal(19) * 100]).astype(np.float32)
G = np.roll(F, 5)
H = np.roll(F, 11)

# PTX ISA, "Floating Point Instructions": round to nearest even, subnormals kept without .ftz
FLOAT = {
    "add.f32 %r9, %r2, %r3;": lambda a, b, c: a + b,
    "sub.rn.f32 %r9, %r2, %r3;": lambda a, b, c: a - b,
    "mul.f32 %r9, %r2, %r3;": lambda a, b, c: a * b,
    "mul.f32 %r9, %r2, 0f3F000000;": lambda a, b, c: a * np.float32(0.5),
    "div.rn.f32 %r9, %r2, %r3;": lambda a, b, c: a / b,
    "neg.f32 %r9, %r2;": lambda a, b, c: -a,
    "abs.f32 %r9, %r2;": lambda a, b, c: np.abs(a),
    "mul.ftz.f32 %r9, %r2, 0f3F800000;": lambda a, b, c: np.where(np.abs(a) < 2.0**-126, np.copysign(0, a), a),
    "add.sat.f32 %r9, %r2, %r3;": lambda a, b, c: np.fmin(np.fmax(a + b, 0), 1),
    "cvt.rzi.s32.f32 %r8, %r2;\ncvt.rn.f32.s32 %r9, %r8;": (
        lambda a, b, c: np.clip(np.trunc(a.astype(np.float64)), -(2**31), 2**31 - 1).astype(np.int64)
    ),
    "cvt.rni.f32.f32 %r9, %r2;": lambda a, b, c: np.rint(a),
}


@pytest.mark.parametrize("code", FLOAT)
def test_floats(code: str) -> None:
    with np.errstate(all="ignore"):
        expected = np.asarray(FLOAT[code](F, G, H), np.float32)
    for result in (lanes(code, F, G, H), uniform(code, F, G, H)):
        got = result.view(np.float32)
        nan = np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(got), nan)
        np.testing.assert_array_equal(result[~nan], bits(expected)[~nan])


def test_fma_rounds_once() -> None:
    """PTX ISA, "fma": the product is not rounded; (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 exactly."""
    a = np.float32(1 + 2**-12)
    c = np.float32(-(1 + 2**-11))
    got = lanes("fma.rn.f32 %r9, %r2, %r3, %r4;", bits(np.full(32, a)), bits(np.full(32, a)), bits(np.full(32, c)))
    assert got.view(np.float32)[0] == 2.0**-24
    # a sum that lies just above a tie of float32, by less than float64 holds: rounding twice would go down
    x, y, z = np.float32(1 + 2**-23), np.float32(2.0**-24), np.float32(2.0**-80)
    product = lanes("fma.rn.f32 %r9, %r2, %r3, %r4;", bits(np.full(32, 1)), bits(np.full(32, y)), bits(np.full(32, x)))
    assert product.view(np.float32)[0] == np.float32(1 + 2**-22)  # a tie, to even
    wide = lanes("fma.rn.f32 %r9, %r2, %r3, %r4;", bits(np.full(32, z)), bits(np.full(32, z)), bits(np.full(32, x)))
    assert wide.view(np.float32)[0] == x


def test_min_max_of_nan_and_zero() -> None:
    """PTX ISA, "min", "max": one NaN gives the other operand, +0.0 > -0.0; .NaN propagates."""
    a = bits(np.array([np.nan, 1, -0.0, 0.0] * 8))
    b = bits(np.array([2, np.nan, 0.0, -0.0] * 8))
    np.testing.assert_array_equal(lanes("max.f32 %r9, %r2, %r3;", a, b)[:4], bits(np.array([2, 1, 0.0, 0.0])))
    np.testing.assert_array_equal(lanes("min.f32 %r9, %r2, %r3;", a, b)[:4], bits(np.array([2, 1, -0.0, -0.0])))
    assert np.isnan(lanes("max.NaN.f32 %r9, %r2, %r3;", a, b).view(np.float32)[:2]).all()


@pytest.mark.parametrize(
    ("compare", "expected"),
    [("lt", [1, 0, 0, 0]), ("ne", [1, 0, 0, 1]), ("neu", [1, 0, 1, 1]), ("ltu", [1, 0, 1, 0]), ("equ", [0, 1, 1, 0]),
     ("num", [1, 1, 0, 1]), ("nan", [0, 0, 1, 0]), ("ge", [0, 1, 0, 1]), ("geu", [0, 1, 1, 1])],
)  # fmt: skip
def test_float_comparisons(compare: str, expected: list[int]) -> None:
    """PTX ISA, "Comparisons", floating point: ordered ones are false with NaN, unordered ones true."""
    a, b = bits(np.array([1, 2, np.nan, 5] * 8)), bits(np.array([2, 2, 1, 4] * 8))
    code = f"setp.{compare}.f32 %p1, %r2, %r3;\nselp.b32 %r9, 1, 0, %p1;"
    assert lanes(code, a, b)[:4].tolist() == expected
    assert uniform(code, a, b)[:4].tolist() == expected


# PTX ISA, the stated bounds: relative 2^-22 (ex2, rcp, lg2 away from 1), 2^-11 for tanh
@pytest.mark.parametrize(
    ("code", "function", "bound"),
    [("ex2.approx.ftz.f32 %r9, %r2;", np.exp2, 2.0**-22), ("rcp.approx.ftz.f32 %r9, %r2;", lambda x: 1 / x, 2.0**-22),
     ("tanh.approx.f32 %r9, %r2;", np.tanh, 2.0**-11), ("sqrt.rn.f32 %r9, %r2;", np.sqrt, 2.0**-24),
     ("rsqrt.approx.f32 %r9, %r2;", lambda x: x**-0.5, 2.0**-22), ("lg2.approx.f32 %r9, %r2;", np.log2, 2.0**-22)],
)  # fmt: skip
def test_approximations(code: str, function: Any, bound: float) -> None:
    x = np.random.default_rng(3).uniform(0.05, 9, 32).astype(np.float32)
    exact = function(x.astype(np.float64))
    for got in (lanes(code, bits(x)), uniform(code, bits(x))):
        assert (np.abs(got.view(np.float32) - exact) <= bound * np.abs(exact) + 2.0**-22).all()


def test_half_pairs() -> None:
    """PTX ISA, "Half Precision Floating Point Instructions": two values per register, one rounding each."""
    a = np.array([1.5, 65504, 2**-24, 0.1] * 16, np.float16)
    b = np.array([2.0, 65504, 2**-24, 0.2] * 16, np.float16)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lanes("add.f16x2 %r9, %r2, %r3;", a.view("u4"), b.view("u4")).view("f2"), a + b)
    got = lanes("max.f16x2 %r9, %r2, %r3;", a.view("u4"), b.view("u4"))
    np.testing.assert_array_equal(got.view(np.float16), np.maximum(a, b))


def test_float_pairs() -> None:
    """Two f32 in 64 bits: as two instructions each would do."""
    rng = np.random.default_rng(3)
    a, b, c, d = rng.normal(size=(4, 32)).astype(np.float32)
    pack = " mov.b64 %rd30, {%r2, %r3};\n mov.b64 %rd31, {%r4, %r5};\n"
    operands = [v.view(np.uint32) for v in (a, b, c, d)]
    table = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
    for name, function in table.items():
        body = f"{pack} {name}.rn.f32x2 %rd32, %rd30, %rd31;\n mov.b64 {{%r8, %r9}}, %rd32;\n"
        for result, x, y in (("%r8", a, c), ("%r9", b, d)):
            np.testing.assert_array_equal(lanes(body, *operands, result=result).view("f4"), function(x, y))
            np.testing.assert_array_equal(uniform(body, *operands, result=result).view("f4"), function(x, y))
    body = f"{pack} fma.rn.f32x2 %rd32, %rd30, %rd31, %rd30;\n mov.b64 {{%r8, %r9}}, %rd32;\n"
    one = lanes(" fma.rn.f32 %r9, %r2, %r3, %r2;", a.view("u4"), c.view("u4"))
    np.testing.assert_array_equal(lanes(body, *operands, result="%r8"), one)
