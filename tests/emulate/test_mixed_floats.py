"""Floating-point instructions with every mixture of operands, on special values, against exact rounding."""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from .ptx_kit import lanes, launch, uniform

NAN = 0x7FFFFFFF
VALUES = [0x00000000, 0x80000000, 0x3F800000, 0xBF800001, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFC12345, 0x00000001,
          0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x40490FDB, 0x33800000, 0x477FF000]  # fmt: skip


def value(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def rounded(exact: Fraction, zero: float = 0.0) -> int:
    """Bits of the float32 nearest to `exact`, ties to even; `zero` has the sign of a sum that is zero."""
    if not exact:
        return 0x80000000 if math.copysign(1, zero) < 0 else 0
    sign, size = (0x80000000 if exact < 0 else 0), abs(exact)
    exponent = -149
    while size >= Fraction(2) ** (exponent + 24):
        exponent += 1
    units = size / Fraction(2) ** exponent
    whole = int(units)
    rest = units - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1)
    result = Fraction(whole) * Fraction(2) ** exponent
    if result >= Fraction(2) ** 128:
        return sign | 0x7F800000
    return sign | struct.unpack("<I", struct.pack("<f", float(result)))[0]


def special(x: float) -> bool:
    return math.isnan(x) or math.isinf(x)


def fused(a: float, b: float, c: float) -> int:
    if any(map(special, (a, b, c))):
        with np.errstate(all="ignore"):
            result = np.float32(np.float32(a) * np.float32(b) + np.float32(c))  # infinities and NaN as IEEE 754 has it
        if not special(c) and not special(a) and not special(b):
            raise AssertionError
        if special(c) and not special(a) and not special(b):
            result = np.float32(c)
        return NAN if math.isnan(result) else int(result.view(np.uint32))
    product = Fraction(a) * Fraction(b)
    sign = math.copysign(1, a) * math.copysign(1, b)
    zero = -0.0 if product == 0 and sign < 0 and math.copysign(1, c) < 0 and c == 0 else 0.0
    return rounded(product + Fraction(c), zero)


def flushed(bits: int) -> int:
    return bits & 0x80000000 if not bits & 0x7F800000 else bits


def larger(a: int, b: int, least: bool, nan: bool) -> int:
    x, y = value(a), value(b)
    if math.isnan(x) or math.isnan(y):
        return NAN if nan or (math.isnan(x) and math.isnan(y)) else b if math.isnan(x) else a
    key = lambda bits: (value(bits), -(bits >> 31))  # noqa: E731 - +0 is above -0
    return (min if least else max)(a, b, key=key)


def saturated(bits: int) -> int:
    x = value(bits)
    return 0 if math.isnan(x) or x <= 0 else 0x3F800000 if x >= 1 else bits


CASES: dict[str, tuple[int, Callable[..., int]]] = {
    "add.rn.f32": (2, lambda a, b: fused(value(a), 1.0, value(b))),
    "sub.f32": (2, lambda a, b: fused(value(b), -1.0, value(a))),
    "mul.f32": (2, lambda a, b: fused(value(a), value(b), math.copysign(0.0, -1.0))),
    "fma.rn.f32": (3, lambda a, b, c: fused(value(a), value(b), value(c))),
    "fma.rn.ftz.f32": (3, lambda a, b, c: flushed(fused(*(value(flushed(v)) for v in (a, b, c))))),
    "add.ftz.sat.f32": (2, lambda a, b: saturated(flushed(fused(value(flushed(a)), 1.0, value(flushed(b)))))),
    "min.f32": (2, lambda a, b: larger(a, b, True, False)),
    "max.f32": (2, lambda a, b: larger(a, b, False, False)),
    "min.NaN.f32": (2, lambda a, b: larger(a, b, True, True)),
    "max.NaN.f32": (2, lambda a, b: larger(a, b, False, True)),
    "copysign.f32": (2, lambda a, b: (b & 0x7FFFFFFF) | (a & 0x80000000)),
    "neg.f32": (1, lambda a: a ^ 0x80000000),
    "abs.f32": (1, lambda a: a & 0x7FFFFFFF),
}


@pytest.mark.parametrize("opcode", CASES)
def test_special_values_in_every_mixture(opcode: str) -> None:
    """A NaN result may have any payload where the PTX ISA does not say which; min and max give the canonical one."""
    count, meaning = CASES[opcode]
    rng = np.random.default_rng(count)
    rows = np.array([rng.permutation(np.array(VALUES * 2, np.uint32)) for _ in range(count)])
    uniforms = np.array(VALUES, np.uint32)
    lines = [" mul.wide.u32 %rd20, %r0, 4;", " add.s64 %rd7, %rd0, %rd20;", " mov.b64 %rd8, %rd0;"]
    for n in range(count):
        lines += [
            f" add.s64 %rd21, %rd1, {128 * n};\n add.s64 %rd22, %rd21, %rd20;",
            f" ld.global.b32 %r{10 + n}, [%rd22];",
        ]
    for n in range(len(VALUES)):
        lines.append(f" ld.global.b32 %r{40 + n}, [%rd2+{4 * n}];")
    expected: list[tuple[str, list[list[int]]]] = []
    for mixture in itertools.product("vui", repeat=count):
        for _ in range(3):
            operands, values = [], []
            for n, how in enumerate(mixture):
                pick = int(rng.integers(len(VALUES)))
                operands.append({"v": f"%r{10 + n}", "u": f"%r{40 + pick}", "i": f"0f{VALUES[pick]:08X}"}[how])
                values.append(rows[n].tolist() if how == "v" else [VALUES[pick]] * 32)
            whole = "v" in mixture
            result, base = ("%r30", "%rd7") if whole else ("%r31", "%rd8")
            lines.append(
                f" {opcode} {result}, {', '.join(operands)};\n st.global.b32 [{base}+{128 * len(expected)}], {result};"
            )
            expected.append((f"{opcode} {', '.join(operands)}", values))
    out = np.zeros((len(expected), 32), np.uint32)
    outcome = launch("\n".join(lines), {"o": out, "v": rows, "u": uniforms})
    assert outcome.kinds == []
    canonical = opcode.startswith(("min", "max"))
    for (text, values), row in zip(expected, out, strict=True):
        for lane, got in enumerate(row.tolist() if "%r1" in text else row.tolist()[:1]):
            operands_ = [v[lane] for v in values]
            want = meaning(*operands_)
            if not canonical and math.isnan(value(want)) and math.isnan(value(got)):
                continue
            assert got == want, f"{text} of {[hex(o) for o in operands_]} is {got:#x}, expected {want:#x}"


HALVES = [0x0000, 0x8000, 0x3C00, 0xC200, 0x7C00, 0xFC00, 0x7E01, 0x0001, 0x83FF, 0x7BFF, 0x3555, 0x3F80,
          0xBF81, 0x7F7F]  # fmt: skip


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize(
    "opcode", ["add.f32", "sub.rn.f32", "fma.rn.f32", "fma.rn.sat.f32", "add.rz.f32", "fma.rp.f32"]
)
def test_f32_with_factors_of_16_bits(opcode: str, kind: str) -> None:
    """PTX ISA 9.7.5, "Mixed Precision Floating Point Instructions": d = convert(a) [* convert(b)] + c, rounded once."""
    rng = np.random.default_rng(1)
    a, b = (rng.choice(np.array(HALVES, np.uint32), 32) for _ in range(2))
    c = rng.choice(np.array(VALUES, np.uint32), 32)
    name = opcode.partition(".")[0]
    sources = "%rs1, %rs2, %r4" if name == "fma" else "%rs1, %r4"
    body = f" cvt.u16.u32 %rs1, %r2;\n cvt.u16.u32 %rs2, %r3;\n {opcode}.{kind} %r9, {sources};\n"
    found = lanes(body, a, b, c)
    np.testing.assert_array_equal(found, uniform(body, a, b, c))
    of = np.float16 if kind == "f16" else ml_dtypes.bfloat16
    for x, y, z, got in zip(a, b, c, found.tolist(), strict=True):
        left, right, last = float(np.uint16(x).view(of)), float(np.uint16(y).view(of)), value(int(z))
        factor, sign = (right, 1.0) if name == "fma" else (1.0, -1.0 if name == "sub" else 1.0)
        want = fused(left, factor, sign * last)
        exact = None if any(map(special, (left, factor, last))) else Fraction(left) * Fraction(factor) + Fraction(last)
        if "sat" in opcode:
            want = saturated(want)
        elif exact is not None and ".rz." in opcode and abs(Fraction(value(want))) > abs(exact):
            want -= 1  # towards zero
        elif exact is not None and ".rp." in opcode and (math.isinf(value(want)) or Fraction(value(want)) < exact):
            want = int(np.nextafter(np.uint32(want).view(np.float32), np.float32(np.inf)).view(np.uint32))
        if math.isnan(value(want)) and math.isnan(value(got)):
            continue
        assert got == want, f"{opcode}.{kind} of {x:#x}, {y:#x}, {z:#x} is {got:#x}, expected {want:#x}"


def test_what_is_too_large_becomes_the_largest_number() -> None:
    """PTX ISA, "cvt", .satfinite: beyond MAX_NORM that value with the sign of the input; NaN stays NaN."""
    x = np.array([np.nan, np.inf, -np.inf, 65504, 65519, 65520, -1e30, 1.5] * 4, np.float32).view(np.uint32)
    one = "cvt.rn.satfinite.{}.f32 %rs1, %r2;\ncvt.u32.u16 %r9, %rs1;"
    assert lanes(one.format("f16"), x)[:8].tolist() == [0x7FFF, 0x7BFF, 0xFBFF, 0x7BFF, 0x7BFF, 0x7BFF, 0xFBFF, 0x3E00]
    wide = [0x7FFF, 0x7F7F, 0xFF7F, 0x4780, 0x4780, 0x4780, 0xF14A, 0x3FC0]
    assert lanes(one.format("bf16"), x)[:8].tolist() == wide
    pair = "mov.b32 %r3, 0fFF7FFFFF;\ncvt.rn.satfinite.bf16x2.f32 %r9, %r3, %r2;"
    assert lanes(pair, x)[:8].tolist() == [0xFF7F << 16 | low for low in wide]
    relu = "mov.b32 %r3, 0f7F800000;\ncvt.rn.relu.satfinite.f16x2.f32 %r9, %r3, %r2;"
    assert lanes(relu, x)[:3].tolist() == [0x7BFF7FFF, 0x7BFF7BFF, 0x7BFF0000]


def test_relu_keeps_nan_and_has_no_negative_zero() -> None:
    """PTX ISA, "cvt", .relu: NaN becomes the canonical NaN, what is negative 0."""
    x = np.array([np.nan, -np.nan, -1.0, -0.0, 0.0, 2.5, -np.inf, np.inf] * 4, np.float32).view(np.uint32)
    one = "cvt.rn.relu.f16.f32 %rs1, %r2;\ncvt.u32.u16 %r9, %rs1;"
    assert lanes(one, x)[:8].tolist() == [0x7FFF, 0x7FFF, 0, 0, 0, 0x4100, 0, 0x7C00]
    assert lanes(one.replace("f16", "bf16"), x)[:8].tolist() == [0x7FFF, 0x7FFF, 0, 0, 0, 0x4020, 0, 0x7F80]
    pair = "mov.b32 %r3, 0fFFC00000;\ncvt.rn.relu.bf16x2.f32 %r9, %r3, %r2;"
    assert lanes(pair, x)[:4].tolist() == [0x7FFF7FFF, 0x7FFF7FFF, 0x7FFF0000, 0x7FFF0000]
    narrow = "cvt.rn.satfinite.relu.e4m3x2.f32 %rs1, %r2, %r2;\ncvt.u32.u16 %r9, %rs1;"
    assert lanes(narrow, x)[:8].tolist() == [0x7F7F, 0x7F7F, 0, 0, 0, 0x4242, 0, 0x7E7E]


def test_narrow_nan_is_canonical() -> None:
    """PTX ISA, "cvt": NaN becomes 0x7F in e4m3 and e5m2, 0x7FFFFFFF in tf32, 0x7FFF in f16 and bf16."""
    x = np.array([np.nan, -np.nan] * 16, np.float32).view(np.uint32)
    for kind in ("e4m3x2", "e5m2x2"):
        code = f"cvt.rn.satfinite.{kind}.f32 %rs1, %r2, %r2;\ncvt.u32.u16 %r9, %rs1;"
        assert lanes(code, x)[:2].tolist() == [0x7F7F, 0x7F7F]
    assert lanes("cvt.rna.tf32.f32 %r9, %r2;", x)[:2].tolist() == [NAN, NAN]
    for kind in ("f16", "bf16"):
        code = f"cvt.rn.{kind}.f32 %rs1, %r2;\ncvt.u32.u16 %r9, %rs1;"
        assert lanes(code, x)[:2].tolist() == [0x7FFF, 0x7FFF]


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
def test_floats_to_integers_clamp(mode: str, kind: str) -> None:
    """PTX ISA, "cvt": clamped to the range of the type; NaN gives 0, in 64 bits 0x8000000000000000."""
    bits, signed = int(kind[1:]), kind[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    function = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode]
    xs = [0.5, -0.5, 1.5, 2.5, -1.5, 127.5, 128.0, -129.0, 255.5, 65535.0, 2.0**31, -(2.0**31), 2.0**63, -(2.0**63),
          2.0**64, 1e30, -1e30, math.inf, -math.inf, math.nan, 3.0, -0.0] + [7.25] * 10  # fmt: skip
    register = f"%{'rs' if bits <= 16 else 'r' if bits == 32 else 'rd'}16"
    wide = f"cvt.{'s' if signed else 'u'}64.{'s' if signed else 'u'}{max(bits, 16)} %rd30, {register};"
    body = f"cvt.{mode}.{kind}.f32 {register}, %r2;\n{wide}\nmov.b64 {{%r8, %r9}}, %rd30;"
    x = np.array(xs, np.float32).view(np.uint32)
    top, bottom = lanes(body, x), lanes(body, x, result="%r8")
    for number, (high_word, low_word) in zip(xs, zip(top.tolist(), bottom.tolist(), strict=True), strict=True):
        got = high_word << 32 | low_word
        if math.isnan(number):
            want = 1 << 63 if bits == 64 else 0
        elif math.isinf(number):
            want = high if number > 0 else low
        else:
            want = min(max(int(function(number)), low), high)
        assert got == want & (1 << 64) - 1, (number, hex(got), want)


def test_integers_to_floats() -> None:
    x = np.array(
        [0, 1, 0xFF, 0x7F, 0x80, 0xFFFF, 0x8000, 0x80000000, 0xFFFFFFFF, 0x01000001, 0x01FFFFFF] + [77] * 21, np.uint32
    )
    for kind, dtype in {"u32": np.uint32, "s32": np.int32, "u16": np.uint16, "s16": np.int16, "u8": np.uint8,
                        "s8": np.int8}.items():  # fmt: skip
        register, first = ("%rs2", "cvt.u16.u32 %rs2, %r2;\n") if kind[1:] in ("8", "16") else ("%r2", "")
        values = x.astype(dtype)
        got = lanes(f"{first}cvt.rn.f32.{kind} %r9, {register};", x)
        np.testing.assert_array_equal(got.view(np.float32), values.astype(np.float32))
        half = lanes(f"{first}cvt.rn.f16.{kind} %rs3, {register};\ncvt.u32.u16 %r9, %rs3;", x)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(half, values.astype(np.float64).astype(np.float16).view(np.uint16))


def test_half_minimum_with_nan() -> None:
    nan = np.float32(np.nan).astype(ml_dtypes.bfloat16).view(np.uint16)
    a = np.full(32, int(nan) << 16 | 0x8000, np.uint32)  # NaN, -0
    b = np.full(32, int(nan) << 16 | 0x0000, np.uint32)
    assert lanes("max.bf16x2 %r9, %r2, %r3;", a, b)[0] == 0x7FFF0000
    assert lanes("min.bf16x2 %r9, %r2, %r3;", a, b)[0] == 0x7FFF8000
