"""An instruction descriptor of tcgen05.mma in words: PTX ISA, "Instruction descriptor", the tables by kind."""

from __future__ import annotations

import re

__all__ = ["differing", "planned_bits", "words"]

_KIND = re.compile(r"\.kind::(\w+)")
_SMALL = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
#: By kind: what the bits of an operand's type mean.
_TYPES = {
    "f16": {0: "f16", 1: "bf16"}, "tf32": {2: "tf32"}, "f8f6f4": _SMALL, "i8": {0: "u8", 1: "s8"}, "mxf8f6f4": _SMALL,
    "mxf4": {1: "e2m1"}, "mxf4nvf4": {1: "e2m1"},
}  # fmt: skip
_SUMS = {0: "f16", 1: "f32", 2: "s32"}
_SCALED = ("mxf8f6f4", "mxf4", "mxf4nvf4")


def planned_bits(descriptor: int, opcode: str) -> int:
    """What of a descriptor a plan tells: all but which of a column's scale factors, of B and of A, an MMA takes."""
    return descriptor & ~(3 << 4 | 3 << 29) if ".block_scale" in opcode else descriptor


def words(descriptor: int, opcode: str) -> dict[str, str]:
    """Return what a descriptor says by name, in the order in which people say it; `others` has the bits that are left.

    A code that the kind does not have is told as a number.
    """
    match = _KIND.search(opcode)
    kind = match[1] if match else ""
    types = _TYPES.get(kind, {})

    def of(low: int, bits: int) -> int:
        return descriptor >> low & (1 << bits) - 1

    def named(low: int, bits: int, names: dict[int, str]) -> str:
        return names.get(of(low, bits), f"type {of(low, bits)}")

    found = {
        "M": str(of(24, 5) << 4),
        "N": str(of(17, 6) << 3),
        "A": f"{named(7, 3, types)} {'MN' if of(15, 1) else 'K'}-major{', negated' if of(13, 1) else ''}",
        "B": f"{named(10, 3, types)} {'MN' if of(16, 1) else 'K'}-major{', negated' if of(14, 1) else ''}",
    }
    told = 0x1F << 24 | 0x3F << 17 | 0x7 << 7 | 0x7 << 10 | 0xF << 13
    if kind in _SCALED:
        found |= {"scales": "ue8m0" if of(23, 1) else "ue4m3", "scale ids": f"{of(29, 2)}, {of(4, 2)}"}
        told |= 1 << 23 | 3 << 29 | 3 << 4
    else:
        found["D"] = named(4, 2, _SUMS)
        told |= 3 << 4
    left = descriptor & ~told
    return found | ({"others": hex(left)} if left else {})


def differing(planned: int, found: int, opcode: str) -> tuple[str, str]:
    """Return of two descriptors what they differ in, each in words."""
    one, other = words(planned, opcode), words(found, opcode)
    names = [name for name in (*one, *(other.keys() - one.keys())) if one.get(name) != other.get(name)]
    told = (", ".join(f"{name} {each.get(name, 'none')}" for name in names) for each in (one, other))
    return next(told), next(told)
