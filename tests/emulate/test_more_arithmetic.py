"""Rarer arithmetic on rows and uniform registers: float64, small formats, directed rounding, halves, dot products."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .ptx_kit import lanes, launch, uniform

F = np.float32


def both(body: str, *inputs: Any, result: str = "%r9") -> Any:
    """What the lanes compute, which is what uniform registers do."""
    rows = [np.ascontiguousarray(np.broadcast_to(np.asarray(v), 32)) for v in inputs]
    found = lanes(body, *rows, result=result)
    np.testing.assert_array_equal(uniform(body, *rows, result=result), found)
    return found


def draw(seed: int, scale: float = 8.0) -> Any:
    values = (np.random.default_rng(seed).standard_normal(32) * scale).astype(F)
    values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42]
    return values


def doubles_of(a: Any, b: Any, body: str) -> Any:
    """`body` on float64 %rd2 and %rd3 of the inputs, its result %rd9 as float64, for rows and for uniform registers."""
    a, b = (np.broadcast_to(np.asarray(v, np.float64), 32).copy() for v in (a, b))
    out = np.zeros(32, np.uint64)
    rows = """
 mul.wide.u32 %rd20, %r0, 8;
 add.s64 %rd21, %rd0, %rd20;
 add.s64 %rd22, %rd1, %rd20;
 add.s64 %rd23, %rd2, %rd20;
"""
    inner = f" ld.global.b64 %rd12, [%rd21];\n ld.global.b64 %rd13, [%rd22];\n{body} st.global.b64 [%rd23], %rd19;\n"
    assert launch(rows + inner, {"a": a.view(np.uint64), "b": b.view(np.uint64), "o": out}, out=["o"]).kinds == []
    again = np.zeros(32, np.uint64)
    loop = " mov.b64 %rd20, 0;\nLOOP:\n" + "".join(f" add.s64 %rd{21 + i}, %rd{i}, %rd20;\n" for i in range(3))
    loop += inner + " add.s64 %rd20, %rd20, 8;\n setp.lt.u64 %p19, %rd20, 256;\n @%p19 bra LOOP;\n"
    assert launch(loop, {"a": a.view(np.uint64), "b": b.view(np.uint64), "o": again}).kinds == []
    np.testing.assert_array_equal(out, again)
    return out.view(np.float64)


A64 = np.r_[[0.0, -0.0, 1e300, -3.5, 1e-310, 7.0], np.linspace(-9, 9, 26)]
B64 = np.r_[[-0.0, 0.0, 1e300, 2.0, 3.0, -1.0], np.linspace(5, -3, 26)]


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("add.f64", np.add), ("sub.rn.f64", np.subtract), ("mul.f64", np.multiply), ("div.rn.f64", np.divide),
        ("min.f64", np.fmin), ("max.f64", np.fmax), ("copysign.f64", lambda a, b: np.copysign(b, a)),
    ],
)  # fmt: skip
def test_float64(opcode: str, expected: Any) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(doubles_of(A64, B64, f" {opcode} %rd19, %rd12, %rd13;\n"), expected(A64, B64))


def test_float64_of_one_operand_and_fma() -> None:
    one = np.abs(B64[3:]) + 0.5
    one = np.r_[one, one[:3]]
    assert doubles_of(one, one, " sqrt.rn.f64 %rd19, %rd12;\n").tolist() == np.sqrt(one).tolist()
    assert doubles_of(one, one, " rcp.rn.f64 %rd19, %rd12;\n").tolist() == (1 / one).tolist()
    assert doubles_of(one, one, " neg.f64 %rd19, %rd12;\n").tolist() == (-one).tolist()
    assert doubles_of(-one, one, " abs.f64 %rd19, %rd12;\n").tolist() == one.tolist()
    tiny = one * (1 + 2.0**-30)
    found = doubles_of(tiny, tiny, " neg.f64 %rd14, %rd12;\n fma.rn.f64 %rd19, %rd12, %rd13, %rd14;\n")
    assert found.tolist() == [float(Fraction(x) * Fraction(x) - Fraction(x)) for x in tiny.tolist()]


def test_float64_conversions_and_comparisons() -> None:
    small = np.r_[B64[3:], [-2.5, 0.5, 1e9]]
    body = " cvt.rzi.s32.f64 %r5, %rd12;\n cvt.rn.f64.s32 %rd19, %r5;\n"
    assert doubles_of(small, small, body).tolist() == np.trunc(small).tolist()
    body = " cvt.rn.f32.f64 %r5, %rd12;\n cvt.f64.f32 %rd19, %r5;\n"
    assert doubles_of(small, small, body).tolist() == small.astype(F).astype(np.float64).tolist()
    body = " setp.lt.f64 %p1, %rd12, %rd13;\n selp.f64 %rd19, %rd12, %rd13, %p1;\n"
    assert doubles_of(A64, B64, body).tolist() == np.where(A64 < B64, A64, B64).tolist()
    body = " add.f64 %rd19, %rd12, 0d3FF0000000000000;\n"
    assert doubles_of(small, small, body).tolist() == (small + 1).tolist()


@pytest.mark.parametrize(("mode", "compare"), [("rm", "below"), ("rp", "above"), ("rz", "inside")])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_directed_rounding(name: str, mode: str, compare: str) -> None:
    a, b, c = (np.random.default_rng(seed).standard_normal(32).astype(F) * F(3) ** seed for seed in (1, 2, 3))
    operands = "%r2, %r3" + (", %r4" if name == "fma" else "")
    found = both(f" {name}.{mode}.f32 %r9, {operands};\n", a, b, c).view(F)
    for x, y, z, result in zip(a.tolist(), b.tolist(), c.tolist(), found, strict=True):
        fx, fy = Fraction(x), Fraction(y)
        exact = {"add": fx + fy, "sub": fx - fy, "mul": fx * fy, "fma": fx * fy + Fraction(z)}[name]
        low = compare == "below" or (compare == "inside" and exact > 0)
        here, beyond = Fraction(float(result)), Fraction(float(np.nextafter(result, F(np.inf) if low else F(-np.inf))))
        assert (here <= exact < beyond) if low else (beyond < exact <= here)


def test_the_round_down_trick() -> None:
    """add.rm.ftz.f32 with 1.5 * 2^23 gives the floor in the low bits."""
    x = np.linspace(-20, 20, 32).astype(F)
    found = both(" add.rm.ftz.f32 %r9, %r2, 0f4B400000;\n", x).view(np.int32) - 0x4B400000
    np.testing.assert_array_equal(found, np.floor(x))


def test_pairs_with_modifiers() -> None:
    body = " mov.b64 %rd5, {{%r2, %r3}};\n mov.b64 %rd6, {{%r3, %r2}};\n {op} %rd7, %rd5, %rd6{more};\n"
    body += " mov.b64 {{%r9, %r8}}, %rd7;\n"
    a, b = draw(1)[6:], draw(2)[6:]
    a, b = (np.r_[v, v[:6]].astype(F) for v in (a, b))
    found = both(body.format(op="fma.rn.ftz.f32x2", more=", %rd5"), a, b).view(F)
    np.testing.assert_array_equal(found, (a.astype(np.float64) * b + a).astype(F))
    found = both(body.format(op="add.rz.f32x2", more=""), a, b).view(F)
    np.testing.assert_array_equal(found, both(" add.rz.f32 %r9, %r2, %r3;\n", a, b).view(F))


def test_three_operands() -> None:
    a, b, c = draw(1), draw(2), draw(3)
    found = both(" max.f32 %r9, %r2, %r3, %r4;\n", a, b, c).view(F)
    np.testing.assert_array_equal(found[6:], np.maximum(np.maximum(a, b), c)[6:])
    found = both(" min.NaN.f32 %r9, %r2, %r3, %r4;\n", a, b, c).view(F)
    np.testing.assert_array_equal(found, np.minimum(np.minimum(a, b), c))
    found = both(" min.xorsign.abs.f32 %r9, %r2, %r3;\n", a, b).view(F)[6:]
    expected = np.minimum(np.abs(a), np.abs(b)) * np.sign(a) * np.sign(b)
    np.testing.assert_array_equal(found, expected[6:])


def halves(values: Any, kind: Any) -> Any:
    """Two to a word, the first below."""
    return np.ascontiguousarray(values.astype(kind)).view(np.uint32)


@pytest.mark.parametrize(("kind", "dtype"), [("f16x2", np.float16), ("bf16x2", ml_dtypes.bfloat16)])
def test_halves(kind: str, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(64).astype(dtype) for _ in range(3))
    words = [np.ascontiguousarray(v).view(np.uint32) for v in (a, b, c)]
    wide = [v.astype(np.float64) for v in (a, b, c)]
    found = both(f" fma.rn.relu.{kind} %r9, %r2, %r3, %r4;\n", *words).view(dtype)
    np.testing.assert_array_equal(found, np.maximum(wide[0] * wide[1] + wide[2], 0).astype(dtype))
    assert both(f" neg.{kind} %r9, %r2;\n", *words).view(dtype).tolist() == (-a).tolist()
    assert both(f" abs.{kind} %r9, %r2;\n", *words).view(dtype).tolist() == np.abs(a).tolist()
    a[3] = np.nan
    words[0] = np.ascontiguousarray(a).view(np.uint32)
    assert np.isnan(both(f" max.NaN.{kind} %r9, %r2, %r3;\n", *words).view(dtype)[3].astype(F))
    assert not np.isnan(both(f" max.{kind} %r9, %r2, %r3;\n", *words).view(dtype)[3].astype(F))
    ftz = ".ftz" if kind == "bf16x2" else ""
    found = both(f" ex2.approx{ftz}.{kind} %r9, %r3;\n", *words).view(dtype)
    np.testing.assert_array_equal(found, np.exp2(wide[1]).astype(F).astype(dtype))


def test_comparing_halves() -> None:
    a, b = (np.random.default_rng(s).integers(-2, 3, 32).astype(np.float16) for s in (1, 2))
    a[0] = np.nan
    words = [v.view(np.uint16).astype(np.uint32) for v in (a, b)]
    body = " cvt.u16.u32 %rs1, %r2;\n cvt.u16.u32 %rs2, %r3;\n setp.{test}.f16 %p1, %rs1, %rs2;\n"
    body += " selp.b32 %r9, 1, 0, %p1;\n"
    for test, expected in (("lt", a < b), ("ne", (a < b) | (a > b)), ("geu", ~(a < b)), ("nan", np.isnan(a))):
        np.testing.assert_array_equal(both(body.format(test=test), *words), expected)


def test_dot_products() -> None:
    a, b, c = (np.random.default_rng(s).integers(0, 2**32, 32, dtype=np.uint64).astype(np.uint32) for s in (1, 2, 3))
    for signs in ("u32.u32", "s32.s32", "s32.u32", "u32.s32"):
        left, right = (np.int8 if s == "s32" else np.uint8 for s in signs.split("."))
        x, y = (v.view(t).reshape(-1, 4).astype(np.int64) for v, t in ((a, left), (b, right)))
        expected = ((x * y).sum(1) + c) & 0xFFFFFFFF
        np.testing.assert_array_equal(both(f" dp4a.{signs} %r9, %r2, %r3, %r4;\n", a, b, c), expected)
    x = a.view(np.int16).reshape(-1, 2).astype(np.int64)
    y = b.view(np.uint8).reshape(-1, 4).astype(np.int64)[:, 2:]
    expected = ((x * y).sum(1) + c) & 0xFFFFFFFF
    np.testing.assert_array_equal(both(" dp2a.hi.s32.u32 %r9, %r2, %r3, %r4;\n", a, b, c), expected)


SMALL = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn,
         "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn}  # fmt: skip


@pytest.mark.parametrize("kind", list(SMALL))
def test_small_floats_there_and_back(kind: str) -> None:
    values = np.r_[np.linspace(-7, 7, 28), [0.0, 6e4, -6e4, 0.3]].astype(F)
    limit = float(ml_dtypes.finfo(SMALL[kind]).max)
    register, fill = ("%rb1", ".reg .b8 %rb<3>;\n") if kind == "e2m1" else ("%rs1", "")
    body = f" {{ {fill} cvt.rn.satfinite.{kind}x2.f32 {register}, %r3, %r2;\n"
    body += f" cvt.rn.f16x2.{kind}x2 %r9, {register};\n }}\n"
    found = both(body, values, values[::-1].copy()).view(np.float16).reshape(-1, 2).astype(F)
    expected = np.clip(values, -limit, limit).astype(SMALL[kind]).astype(F)
    np.testing.assert_array_equal(found[:, 0], expected)
    np.testing.assert_array_equal(found[:, 1], expected[::-1])
    body = f" {{ {fill} cvt.rn.f16x2.f32 %r5, %r3, %r2;\n cvt.rn.satfinite.relu.{kind}x2.f16x2 {register}, %r5;\n"
    body += f" cvt.rn.f16x2.{kind}x2 %r9, {register};\n }}\n"
    found = both(body, values, values[::-1].copy()).view(np.float16).reshape(-1, 2).astype(F)
    positive = np.clip(values.astype(np.float16).astype(F), 0, limit).astype(SMALL[kind]).astype(F)
    np.testing.assert_array_equal(found[:, 0], positive)


def test_bytes_of_fp4_are_packed() -> None:
    body = """ { .reg .b8 byte<5>;
 cvt.rn.satfinite.e2m1x2.f32 byte0, %r3, %r2;
 cvt.rn.satfinite.e2m1x2.f32 byte1, %r2, %r3;
 mov.b32 %r9, {byte0, byte1, byte0, byte1};
 }
"""
    found = both(body, np.full(32, 6.0, F), np.full(32, -0.5, F))
    low, high = 0b0111, 0b1001  # 6.0, -0.5
    first, second = high << 4 | low, low << 4 | high
    assert found.tolist() == [first | second << 8 | first << 16 | second << 24] * 32


def test_scales() -> None:
    values = np.r_[
        2.0 ** np.arange(-10, 10), [0.0, 3.0, 5.0, np.inf, np.nan, 1e-40, 2.0**127, 0.75, 1.5, 6.0, 7.0, 9.0]
    ].astype(F)
    for mode, rounding in (("rp", np.ceil), ("rz", np.floor)):
        body = f" cvt.{mode}.satfinite.ue8m0x2.f32 %rs1, %r2, %r2;\n cvt.rn.bf16x2.ue8m0x2 %r9, %rs1;\n"
        found = both(body, values).view(ml_dtypes.bfloat16).reshape(-1, 2).astype(F)
        with np.errstate(divide="ignore"):
            exact = 2.0 ** rounding(np.log2(values.astype(np.float64)))
        exact[~np.isfinite(values) | (values < 2.0**-127)] = 0
        chosen = exact > 0
        np.testing.assert_array_equal(found[chosen, 0], exact[chosen].astype(F))
        assert np.isnan(found[24]).all()


def test_kinds_of_floats() -> None:
    values = np.r_[[0.0, np.inf, -np.inf, np.nan, 1e-42, 1.0], np.ones(26)].astype(F)
    for name, expected in (("finite", np.isfinite(values)), ("notanumber", np.isnan(values)),
                           ("subnormal", (values > 0) & (values < 1e-38)), ("infinite", np.isinf(values))):  # fmt: skip
        body = f" testp.{name}.f32 %p1, %r2;\n selp.b32 %r9, 1, 0, %p1;\n"
        np.testing.assert_array_equal(both(body, values), expected)


#: Of three operands of 32 bits, or their low halves (H), what is computed in a register of 32 bits, or of 16 (h).
SEVERAL = [
    ("dp4a.s32.u32", "3"), ("dp4a.u32.u32", "3"), ("dp2a.lo.s32.s32", "3"), ("dp2a.hi.u32.s32", "3"),
    ("prmt.b32", "3"), ("prmt.b32.f4e", "3"), ("lop3.b32", "3, 0x1D"), ("bfe.u32", "3"), ("bfe.s32", "3"),
    ("bfind.u32", "1"), ("popc.b32", "1"), ("brev.b32", "1"), ("clz.b32", "1"), ("shf.l.wrap.b32", "3"),
    ("sad.s32", "3"), ("mul.hi.s32", "2"), ("mad.hi.u32", "3"), ("div.s32", "2"), ("rem.u32", "2"), ("shl.b32", "2"),
    ("fma.rz.f32", "3"), ("add.rm.f32", "2"), ("min.NaN.f32", "2"), ("max.xorsign.abs.f32", "2"),
    ("ex2.approx.f32", "1"), ("tanh.approx.f32", "1"), ("fma.rn.f16x2", "3"), ("fma.rn.relu.bf16x2", "3"),
    ("min.f16x2", "2"), ("add.f16x2", "2"), ("ex2.approx.ftz.bf16x2", "1"), ("neg.f16x2", "1"),
    ("cvt.rn.f16x2.f32", "2"), ("cvt.rn.satfinite.bf16x2.f32", "2"), ("cvt.rzi.s32.f32", "1"),
    ("cvt.rna.tf32.f32", "1"), ("cvt.rn.satfinite.e4m3x2.f32", "2h"), ("cvt.rn.satfinite.e2m1x2.f32", "2b"),
    ("add.f32.bf16", "H3"), ("fma.rn.f32.f16", "HH3"),
]  # fmt: skip


@pytest.mark.parametrize(("opcode", "form"), SEVERAL, ids=[opcode for opcode, _ in SEVERAL])
def test_several_that_are_alike_are_computed_as_each(opcode: str, form: str) -> None:
    """They are one call, over the rows of all their registers."""
    rng = np.random.default_rng(7)
    a, b, c = (rng.integers(0, 1 << 32, 32, dtype=np.uint64).astype(np.uint32) for _ in range(3))
    a[:8], b[:8], c[:8] = draw(1).view(np.uint32)[:8], draw(2).view(np.uint32)[:8], draw(3).view(np.uint32)[:8]
    halves = form.count("H")
    count = halves + 1 if halves else int(form[0])
    names = ["%r2", "%r3", "%r4", "%r2", "%r3"]

    def one(at: int, result: str) -> str:
        sources = [name.replace("%r", "%rs") if i < halves else name for i, name in enumerate(names[at : at + count])]
        target = f"%rs{result[2:]}" if form[-1] == "h" else result
        if form[-1] == "b":  # two elements of 4 bits are a byte
            inner = f"{{ .reg .b8 byte{at};\n {opcode} byte{at}, {', '.join(sources)};\n"
            return f"{inner} cvt.u32.u8 {result}, byte{at};\n }}\n"
        more = form[form.index(",") :] if "," in form else ""
        return f" {opcode} {target}, {', '.join(sources)}{more};\n"

    low = "".join(f" cvt.u16.u32 %rs{i}, %r{i};\n" for i in (2, 3, 4))
    results = ["%r9", "%r10", "%r11"]
    wide = "".join(f" cvt.u32.u16 {r}, %rs{r[2:]};\n" for r in results) if form[-1] == "h" else ""
    mixed = " mad.lo.s32 %r9, %r10, 3, %r9;\n mad.lo.s32 %r9, %r11, 5, %r9;\n"
    together = lanes(low + "".join(one(at, r) for at, r in enumerate(results)) + wide + mixed, a, b, c)
    alone = []
    for at in range(3):
        end = " cvt.u32.u16 %r9, %rs9;\n" if form[-1] == "h" else ""
        alone.append(lanes(low + one(at, "%r9") + end, a, b, c).astype(np.uint64))
    expected = (alone[0] + 3 * alone[1] + 5 * alone[2]).astype(np.uint32)
    np.testing.assert_array_equal(together, expected)
