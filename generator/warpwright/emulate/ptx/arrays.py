"""Arrays that a PTX text declares beside dynamic shared memory: their space, size, and what they begin with."""

from __future__ import annotations

import re
import struct

from warpwright.emulate.ptx.literals import literal
from warpwright.emulate.ptx.syntax import Array, PtxError

WIDTHS = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "b32": 32, "u32": 32}
WIDTHS |= {"s32": 32, "f32": 32, "f16x2": 32, "b64": 64, "u64": 64, "s64": 64, "f64": 64, "bf16": 16}
SPACES = ("shared", "local", "const", "global")
_DECLARED = re.compile(r"\.(\w+)\s+([\w$%]+)\s*((?:\[\d*\])*)\s*(?:=\s*(.*))?$", re.S)
_LARGEST = 1 << 28  # bytes
_ALIGN = re.compile(r"\.align\s+(\d+)")


def array_of(text: str, line: int) -> Array | None:
    """The array that a directive declares, None where it is another directive. Raises PtxError on what it cannot read.

    `size` is 0 for an extern array of shared memory: that is the dynamic one.
    """
    words = text.split("=")[0].split()
    space = next((s for s in SPACES if f".{s}" in words), None)
    if space is None:
        return None
    found = _DECLARED.search(text)
    if found is None or found[1] not in WIDTHS:
        raise PtxError(f"line {line}: cannot read {text[:80]!r}")
    width = WIDTHS[found[1]] // 8
    extents = [int(n) for n in re.findall(r"\[(\d+)\]", found[3])]
    count = 1
    for extent in extents:
        count *= extent
    align = _ALIGN.search(text)
    if ".extern" in words and space != "shared":
        raise PtxError(f"line {line}: {found[2]} is defined in another module")
    size = 0 if ".extern" in words else width * count
    data = _values(found[4], found[1], line) if found[4] else b""
    if len(data) > size:
        raise PtxError(f"line {line}: {found[2]} has {size} bytes, its initialiser {len(data)}")
    if size > _LARGEST and space != "shared":  # of shared memory a launch says what there is
        raise PtxError(f"line {line}: {found[2]} has {size} bytes: at most {_LARGEST} are emulated")
    return Array(found[2], space, size, checked_alignment(int(align[1]) if align else max(1, width), line), data)


def checked_alignment(align: int, line: int) -> int:
    """`align`. Raises PtxError unless it is a power of two."""
    if align < 1 or align & (align - 1):
        raise PtxError(f"line {line}: .align {align}: an alignment is a power of two")
    return align


def _values(text: str, kind: str, line: int) -> bytes:
    """The bytes of an initialiser."""
    width, data = WIDTHS[kind] // 8, b""
    for item in re.split(r"[{},]", text):
        if not item.strip():
            continue
        number = literal(item.strip())
        if number is None:
            raise PtxError(f"line {line}: the initialiser {item.strip()!r} is not a number")
        value = number.value
        if number.bits == 64 and kind == "f32":  # written in decimals
            value = int.from_bytes(struct.pack("<f", struct.unpack("<d", struct.pack("<Q", value))[0]), "little")
        data += (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    return data
