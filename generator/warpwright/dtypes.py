"""Element types: the one place that knows all of each, by its name in YAML.

What a number occupies, how numpy, torch, the DSL, PTX and DLPack call it, how it rounds, and which bit patterns are
never the result of arithmetic. Imports the standard library only: it travels to GPU hosts inside bundles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["DTYPES", "SCALED", "Dtype", "Format", "Scaled", "dtype", "element"]

FLOAT, INTEGER = 2, 0  # DLPack type codes (dlpack.h): kDLFloat, kDLInt; bfloat16 and below have codes of their own


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: stored significand bits, exponent of the smallest normal, largest finite value.

    IEEE 754 for f16 and f32; bfloat16 is f32 cut to 16 bits; e4m3 (no infinities) and e5m2 as in OCP 8-bit floating
    point, revision 1.0; e2m1 and ue8m0 (which has no zero and no sign) as in OCP microscaling formats, 1.0; ue4m3 is
    e4m3 without a sign; tf32 keeps 10 bits of an f32's significand.
    """

    mantissa: int
    smallest: int
    largest: float

    @property
    def roundoff(self) -> float:
        """Unit round-off of rounding to nearest."""
        return 2.0 ** -(self.mantissa + 1)

    @property
    def overflow(self) -> float:
        """From here on, rounding to nearest gives more than the largest finite value."""
        return self.largest + 2.0 ** (math.floor(math.log2(self.largest)) - self.mantissa - 1)


@dataclass(frozen=True)
class Dtype:
    """One element type. Names are "" where a library has none.

    bits: of one element in memory. numpy: of numpy, or of ml_dtypes where numpy has no such type. dsl: the class in the
    cutlass package. ptx: as in mnemonics of conversions and MMAs. dlpack: (type code, bits). nan: a quiet NaN, None
    where there is none. poison: a pattern, as a signed integer, that no arithmetic leaves behind (a signalling NaN if
    there is one; integers have none: theirs is only unlikely; nor has e2m1: its largest number, twice).
    """

    name: str
    bits: int
    numpy: str
    torch: str
    dsl: str
    ptx: str
    dlpack: tuple[int, int]
    format: Format | None = None
    nan: int | None = None
    poison: int = 0

    @property
    def bytes(self) -> int:
        """Size of one element, for types of whole bytes. Raises ValueError for smaller ones."""
        if self.bits % 8:
            raise ValueError(f"{self.name} has {self.bits} bits: count its bytes for pairs of elements")
        return self.bits // 8

    @property
    def integral(self) -> bool:
        return self.format is None


DTYPES: dict[str, Dtype] = {
    d.name: d
    for d in (
        Dtype("f16", 16, "float16", "float16", "Float16", "f16", (FLOAT, 16),
              Format(10, -14, 65504.0), 0x7E00, 0x7D5A),
        Dtype("bf16", 16, "bfloat16", "bfloat16", "BFloat16", "bf16", (4, 16),
              Format(7, -126, (2 - 2.0**-7) * 2.0**127), 0x7FC0, 0x7FA5),
        Dtype("f32", 32, "float32", "float32", "Float32", "f32", (FLOAT, 32),
              Format(23, -126, (2 - 2.0**-23) * 2.0**127), 0x7FC00000, 0x7FA5A5A5),
        Dtype("tf32", 32, "", "float32", "TFloat32", "tf32", (FLOAT, 32),
              Format(10, -126, (2 - 2.0**-10) * 2.0**127), 0x7FC00000, 0x7FA5A5A5),
        Dtype("e4m3", 8, "float8_e4m3fn", "float8_e4m3fn", "Float8E4M3FN", "e4m3", (10, 8),
              Format(3, -6, 448.0), 0x7F, -1),
        Dtype("e5m2", 8, "float8_e5m2", "float8_e5m2", "Float8E5M2", "e5m2", (12, 8),
              Format(2, -14, 57344.0), 0x7E, 0x7D),
        Dtype("e2m1", 4, "float4_e2m1fn", "float4_e2m1fn_x2", "Float4E2M1FN", "e2m1", (17, 4), Format(1, 0, 6.0),
              poison=0x77),
        # Scales of blocks: powers of two, and fp8 numbers that are never negative (libraries call them e4m3).
        Dtype("ue8m0", 8, "float8_e8m0fnu", "float8_e8m0fnu", "Float8E8M0FNU", "ue8m0", (14, 8),
              Format(0, -127, 2.0**127), -1, -1),
        Dtype("ue4m3", 8, "float8_e4m3fn", "float8_e4m3fn", "Float8E4M3FN", "ue4m3", (10, 8),
              Format(3, -6, 448.0), 0x7F, 0x7F),
        Dtype("i8", 8, "int8", "int8", "Int8", "s8", (INTEGER, 8), poison=0x5A),
        Dtype("i32", 32, "int32", "int32", "Int32", "s32", (INTEGER, 32), poison=0x5A5A5A5A),
        Dtype("i64", 64, "int64", "int64", "Int64", "s64", (INTEGER, 64), poison=0x5A5A5A5A5A5A5A5A),
        Dtype("u16", 16, "uint16", "uint16", "Uint16", "u16", (1, 16), poison=0x5A5A),
        Dtype("u8", 8, "uint8", "uint8", "Uint8", "u8", (1, 8), poison=0x5A),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Scaled:
    """A block-scaled format: along K, each `block` elements share a scale, which is a factor of all of them.

    mxf8 and mxf4 as in OCP microscaling formats, 1.0; nvf4 as tcgen05.mma has it (PTX ISA 9.1, kind::mxf4nvf4).
    """

    name: str
    element: str  # dtypes by name
    scale: str
    block: int


SCALED: dict[str, Scaled] = {
    s.name: s
    for s in (
        Scaled("mxf8_e4m3", "e4m3", "ue8m0", 32),
        Scaled("mxf8_e5m2", "e5m2", "ue8m0", 32),
        Scaled("mxf4", "e2m1", "ue8m0", 32),
        Scaled("nvf4", "e2m1", "ue4m3", 16),
    )
}


def dtype(name: str) -> Dtype:
    """Return an element type by its name in YAML (KeyError when there is none)."""
    return DTYPES[name]


def element(name: str) -> Dtype:
    """Return the type of the elements of what a YAML file names, an element type or a block-scaled format."""
    return DTYPES[SCALED[name].element if name in SCALED else name]
