"""Conversions between formats, bit for bit (PTX ISA, "cvt"; rounding to nearest even, NaN canonical)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from warpwright.emulate.numbers import formats

from .ptx_kit import lanes, uniform


def bits(*values: float) -> np.ndarray:
    return np.resize(np.array(values, np.float32), 32).view(np.uint32)


# value, float16 bits, bfloat16 bits; ties go to the even neighbour
CASES = [
    (1.0, 0x3C00, 0x3F80),
    (-2.5, 0xC100, 0xC020),
    (65504.0, 0x7BFF, 0x4780),
    (65519.99, 0x7BFF, 0x4780),
    (65520.0, 0x7C00, 0x4780),  # half a step above the largest: infinity
    (2.0**-24, 0x0001, 0x3380),
    (2.0**-25, 0x0000, 0x3300),  # tie between 0 and the smallest subnormal
    (2.0**-25 * 1.0001, 0x0001, 0x3300),
    (1 + 2.0**-11, 0x3C00, 0x3F80),
    (1 + 3 * 2.0**-11, 0x3C02, 0x3F80),
    (1 + 2.0**-8, 0x3C04, 0x3F80),
    (1 + 3 * 2.0**-8, 0x3C0C, 0x3F82),
    (3.4e38, 0x7C00, 0x7F80),
    (float("inf"), 0x7C00, 0x7F80),
    (float("nan"), 0x7FFF, 0x7FFF),
    (-0.0, 0x8000, 0x8000),
]


@pytest.mark.parametrize("where", [lanes, uniform])
def test_to_sixteen_bits(where: object) -> None:
    values = bits(*[c[0] for c in CASES])
    for kind, column in (("f16", 1), ("bf16", 2)):
        expected = [c[column] for c in CASES]
        got = where(f"cvt.rn.{kind}.f32 %rs1, %r2;\nmov.b32 %r9, {{%rs1, %rs1}};", values)  # type: ignore[operator]
        assert (got[: len(CASES)] & 0xFFFF).tolist() == expected
        # the first operand of the packed form goes to the upper half
        got = where(f"mov.b32 %r3, 0f3F800000;\ncvt.rn.{kind}x2.f32 %r9, %r2, %r3;", values)  # type: ignore[operator]
        assert (got[: len(CASES)] >> 16).tolist() == expected
        assert set((got & 0xFFFF).tolist()) == {0x3C00 if kind == "f16" else 0x3F80}


def test_relu_form() -> None:
    got = lanes("cvt.rn.relu.f16x2.f32 %r9, %r2, %r2;", bits(-1.0, 2.0))
    assert got[:2].tolist() == [0, 0x40004000]


def test_from_sixteen_bits_is_exact() -> None:
    every = np.arange(65536, dtype=np.uint16)
    wide = formats.from_half(every, "f16")
    np.testing.assert_array_equal(wide, every.view(np.float16).astype(np.float32))
    brain = formats.from_half(every, "bf16")
    np.testing.assert_array_equal(brain, every.view(ml_dtypes.bfloat16).astype(np.float32))
    got = lanes("mov.b32 {%rs1, %rs2}, %r2;\ncvt.f32.f16 %r9, %rs2;", np.uint32(0x3C000000 | 0x1234))
    assert got.view(np.float32)[0] == 1.0


def test_random_conversions_agree_with_ml_dtypes() -> None:
    x = np.random.default_rng(0).integers(0, 1 << 32, 20000, np.uint32).view(np.float32)
    x = x[np.isfinite(x)]
    np.testing.assert_array_equal(formats.f32_to_bf16(x), x.astype(ml_dtypes.bfloat16).view(np.uint16))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(formats.f32_to_f16(x), x.astype(np.float16).view(np.uint16))


def test_fma_is_rounded_once_for_random_operands() -> None:
    from fractions import Fraction

    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(300).astype(np.float32) * np.float32(2.0) ** rng.integers(-30, 30, 300)
               for _ in range(3))  # fmt: skip
    a, b, c = (v.astype(np.float32) for v in (a, b, c))
    got = formats.fma(a, b, c)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got, strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        below, above = np.nextafter(r, np.float32(-np.inf)), np.nextafter(r, np.float32(np.inf))
        error = abs(Fraction(float(r)) - exact)
        assert error <= abs(Fraction(float(below)) - exact)
        assert error <= abs(Fraction(float(above)) - exact)


def test_integers_saturate() -> None:
    """PTX ISA, "cvt": float to integer clamps to the range, NaN gives 0."""
    got = lanes("cvt.rzi.u32.f32 %r9, %r2;", bits(-1.0, 3.99, 5e9, float("nan")))
    assert got[:4].tolist() == [0, 3, 0xFFFFFFFF, 0]
    got = lanes("cvt.rni.s32.f32 %r9, %r2;", bits(2.5, 3.5, -3e9, -2.5))
    assert got[:4].view(np.int32).tolist() == [2, 4, -(2**31), -2]


def test_eight_bits() -> None:
    """PTX ISA, "cvt": e4m3x2 and e5m2x2 need .satfinite; the first operand goes to the upper byte."""
    values = bits(1.0, 448.0, 1e9, -0.0625)
    got = lanes("cvt.rn.satfinite.e4m3x2.f32 %rs1, %r2, %r2;\nmov.b32 %r9, {%rs1, %rs1};", values)
    assert (got[:4] & 0xFF).tolist() == [0x38, 0x7E, 0x7E, 0x98]
    back = lanes("mov.b32 {%rs1, %rs2}, %r2;\ncvt.rn.f16x2.e4m3x2 %r9, %rs1;", np.uint32(0x387E))
    assert back[0] == 0x3C005F00


def test_tf32_rounds_ties_away() -> None:
    assert lanes("cvt.rna.tf32.f32 %r9, %r2;", bits(1 + 2.0**-11))[0] == 0x3F802000


def test_fma_next_to_midpoints() -> None:
    """Sums that lie a hair beside a midpoint of float32, normal and subnormal, where rounding twice goes wrong."""
    ulp, one = np.float32(2.0**-23), np.ones(2, np.float32)
    assert formats.fma(np.full(2, ulp), np.array([0.5, 1.5], np.float32), one).tolist() == [
        1.0,
        1 + 2.0**-22,
    ]  # true ties
    # 1 + 1.5 ulp - 1.5 * 2^-55, which float64 rounds to the midpoint, and that would go to the even 1 + 2 ulp
    sign = np.array([1, -1], np.float32)
    x = sign * np.float32(1.5 * (1 + 2.0**-16) * 2.0**-11)
    y = np.float32((1 - 2.0**-16) * 2.0**-12)
    assert formats.fma(x, y, sign).tolist() == [1 + 2.0**-23, -1 - 2.0**-23]
    tiny = np.float32(2.0**-149)
    subnormal = formats.fma(np.full(2, 2.0**-75, np.float32), np.array([2.0**-75, 2.0**-74], np.float32), tiny)
    assert subnormal.tolist() == [2.0**-148, 2.0**-148]  # 1.5 units: a tie, to even; 2 units: exact
