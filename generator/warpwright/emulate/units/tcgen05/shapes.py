"""What the instruction descriptor of a tcgen05.mma says, and which kinds, formats and shapes there are.

PTX ISA, "Instruction descriptor" and "Matrix shape". Formats are named as their elements lie in shared memory:
`e2m1` two in a byte; `_p64`, `_p32` sixteen elements together, then so many bits of padding.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpwright.emulate.machine.findings import UnsupportedInstruction
from warpwright.emulate.machine.state import Fiber

_SMALL = {0: "e4m3", 1: "e5m2", 3: "e2m3_p32", 4: "e3m2_p32", 5: "e2m1_p64"}
FORMATS = {
    "f16": {0: "f16", 1: "bf16"}, "tf32": {2: "tf32"}, "f8f6f4": _SMALL, "i8": {0: "u8", 1: "s8"},
    "mxf8f6f4": _SMALL, "mxf4": {1: "e2m1"}, "mxf4nvf4": {1: "e2m1"},
}  # fmt: skip
#: Formats of D, by the code of bits 4 and 5.
_SUMS = {"f16": {0: "f16", 1: "f32"}, "tf32": {1: "f32"}, "f8f6f4": {0: "f16", 1: "f32"}, "i8": {2: "s32"}}
#: Elements of 32 bytes of shared memory, the K of every MMA.
K = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
#: Of each kind with block scaling, the spellings of how many scales a row has, and what they mean.
SCALES = {
    "mxf8f6f4": {"": 1, "scale_vec::1X": 1, "block32": 1},
    "mxf4": {"": 2, "scale_vec::2X": 2, "block32": 2},
    "mxf4nvf4": {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
}


@dataclass(frozen=True)
class MmaShape:
    """M and N of all CTAs together; `sums`: f16, f32 or s32; `a_mn`, `b_mn`: not K-major; `negate`: the product.

    Of block scaling: `a_byte`, `b_byte`, of the first scale of a row in its column, and whether scales are ue8m0.
    """

    kind: str
    m: int
    n: int
    a_type: str
    b_type: str
    sums: str
    a_mn: bool
    b_mn: bool
    negate: bool
    saturate: bool = False
    a_byte: int = 0
    b_byte: int = 0
    ue8m0: bool = False

    @property
    def k(self) -> int:
        return K[self.kind]


_SHAPES: dict[tuple[int, str, int, int], MmaShape] = {}


def shape_of(f: Fiber, number: int, descriptor: int, kind: str, group: int, scales: int) -> MmaShape:
    """The shape of a legal MMA; `scales`: of each row, 0 without block scaling."""
    key = descriptor, kind, group, scales
    found = _SHAPES.get(key)
    if found is None:
        if descriptor & 4:
            raise UnsupportedInstruction(f"{f.warp.machine.line(number)}: a sparse A is not emulated")
        if scales and descriptor >> 31:
            raise UnsupportedInstruction(f"{f.warp.machine.line(number)}: K = 96 (sm_103a) is not emulated")
        found = _decoded(descriptor, kind)
        wrong = _wrong_bits(descriptor, kind, found, scales) or _wrong_shape(found, group)
        if wrong:
            text = f"instruction descriptor {descriptor:#010x} of kind::{kind} with cta_group::{group}: {wrong}"
            f.warp.machine.fault("tcgen05", f.warp, number, text, fatal=True)
        _SHAPES[key] = found
    return found


def _decoded(descriptor: int, kind: str) -> MmaShape:
    formats, scaled = FORMATS[kind], kind in SCALES
    a, b = (formats.get(code, "") for code in (descriptor >> 7 & 7, descriptor >> 10 & (3 if "mxf4" in kind else 7)))
    return MmaShape(
        kind=kind,
        m=(descriptor >> 27 & 3) * 128 if scaled else (descriptor >> 24 & 31) * 16,
        n=(descriptor >> 17 & 63) * 8,
        a_type=a,
        b_type=b,
        sums="f32" if scaled else _SUMS[kind].get(descriptor >> 4 & 3, ""),
        a_mn=bool(descriptor >> 15 & 1),
        b_mn=bool(descriptor >> 16 & 1),
        negate=(descriptor >> 13 & 1) != (descriptor >> 14 & 1),
        saturate=bool(descriptor >> 3 & 1),
        a_byte=descriptor >> 29 & 3 if scaled else 0,
        b_byte=descriptor >> 4 & 3 if scaled else 0,
        ue8m0=scaled and bool(descriptor >> 23 & 1),
    )


def _wrong_bits(descriptor: int, kind: str, shape: MmaShape, scales: int) -> str:
    """What is illegal about formats, scales and reserved bits; "" if nothing."""
    for name, found, code in (("A", shape.a_type, descriptor >> 7 & 7), ("B", shape.b_type, descriptor >> 10 & 7)):
        if not found:
            return f"{code} is no format of {name}"
    if not shape.sums:
        return f"{descriptor >> 4 & 3} is no format of D"
    if shape.sums == "f16" and "bf16" in (shape.a_type, shape.b_type):
        return "sums of bf16 are f32"
    reserved = 0x3 | 1 << 6 | (7 << 24 | 1 << 3 if scales else 1 << 23 | 1 << 29)
    if kind != "i8":
        reserved |= 1 << 3
    else:
        reserved |= 3 << 13  # integers are not negated
    if "mxf4" in kind:
        reserved |= 1 << 12 | 3 << 15  # two elements in a byte are of one row
    if bits := descriptor & reserved:
        return f"bits {bits:#x} are to be 0"
    if scales:
        if kind != "mxf4nvf4" and not shape.ue8m0:
            return "scales are ue8m0 (bit 23)"
        if scales == 2 and kind == "mxf4nvf4" and not shape.ue8m0:
            return "two scales of a row are ue8m0 (bit 23)"
        for name, byte in (("A", shape.a_byte), ("B", shape.b_byte)):
            if byte % scales:
                return f"the {scales} scales of a row of {name} begin at byte {byte}: a multiple of {scales}"
    return ""


def _wrong_shape(shape: MmaShape, group: int) -> str:
    """What is illegal about M, N and the order of elements; "" if nothing."""
    m, n, scaled = shape.m, shape.n, shape.kind in SCALES
    rows = (128, 256)[:group] if scaled else (64 * group, 128 * group)
    if m not in rows:
        return f"M = {m} is none of {', '.join(map(str, rows))}"
    step = 8 * group
    eight = shape.kind != "f16" and shape.kind != "tf32"
    if shape.kind == "i8" and (group == 2 or n > 32):
        step = 16 * group
    if eight and shape.b_mn:
        step = 16 * group
    if n % step or not step <= n <= 256:
        return f"N = {n} is no multiple of {step} from {step} to 256"
    return ""
