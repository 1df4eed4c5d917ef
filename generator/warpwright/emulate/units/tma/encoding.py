"""A CUtensorMap's bytes: what they say, read field by field, and how one field is changed.

NVIDIA does not document them. The table was found by encoding: 8,352 calls of cuTensorMapEncodeTiled (driver 580, CUDA
13.0, on an H200) with random arguments, 3,318 of which it took, and host functions of the CuTe DSL 4.8.1 for sm_90a and
sm_100a, which encode by themselves. The driver leaves notes of its own behind byte 64, the DSL whatever was on its
stack: the hardware reads the first 64 alone.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.units.tma.tensor_map import BELOW, TYPES, Swizzle, TensorMap, UnsupportedTensorMap

__all__ = ["BYTES", "FIELDS", "READ", "changed", "decode", "field"]

#: Of a CUtensorMap.
BYTES = 128
READ = 64  # of these the hardware reads, and host code of the DSL copies
_MODES = 5

#: First bit, bits, and how many bits further the same field of the next mode lies (0: one field for all modes).
FIELDS = {
    "address": (0, 64, 0),
    "mode": (64, 4, 0),  # of tiles 2 from the DSL and 0 from the driver; bit 0 for im2col
    "rank": (68, 3, 0),  # less 1
    "type": (71, 4, 0),
    "interleave": (75, 2, 0),
    "swizzle": (77, 2, 0),
    "fill": (79, 1, 0),
    "tf32": (80, 1, 0),
    "promotion": (81, 2, 0),  # to L2 lines: no, 64, 128 or 256 B
    "atom": (83, 2, 0),  # what a swizzle moves: 16 B, 32 B, 32 B with halves of 16 B exchanged, 64 B
    "stride": (96, 32, 32),  # in 16 bytes, of modes 1 to 4: the lower bits
    "stride_high": (224, 4, 4),
    "extent": (256, 32, 32),  # less 1
    "step": (416, 3, 3),  # less 1
    "box": (440, 8, 8),  # less 1
}  # fmt: skip
#: The same at once: address, flags, lower strides, higher ones, extents, steps with the innermost box, other boxes.
_FIRST = struct.Struct("<QI4II5II4B")
_TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", *BELOW)
_SWIZZLES: tuple[Swizzle, ...] = ("none", "32B", "64B", "128B")
_ATOMS = ("16 B", "32 B", "32 B with halves of 16 B exchanged", "64 B")


def field(raw: bytes, name: str, mode: int = 0) -> int:
    """Return a field of FIELDS as it stands, of one mode (strides: from mode 1, counted as 0)."""
    first, bits, apart = FIELDS[name]
    return int.from_bytes(raw[:READ], "little") >> first + apart * mode & (1 << bits) - 1


def changed(raw: bytes, name: str, value: int, mode: int = 0) -> bytes:
    """Return the same bytes with a field of another value, cut to the bits that it has."""
    first, bits, apart = FIELDS[name]
    mask = (1 << bits) - 1
    number = int.from_bytes(raw, "little") & ~(mask << first + apart * mode)
    return (number | (value & mask) << first + apart * mode).to_bytes(len(raw), "little")


def decode(raw: bytes) -> TensorMap:
    """Return what the bytes of a CUtensorMap say.

    Raises EmulatorError for what is no tensor map or one that the hardware rejects, UnsupportedTensorMap for im2col,
    interleaved layouts, and the swizzles of sm_100 with atoms beyond 32 B.
    """
    if len(raw) < READ:
        raise EmulatorError(f"{len(raw)} bytes are no tensor map, which has {BYTES}")
    address, flags, *numbers = _FIRST.unpack_from(raw)
    low, high, extents = numbers[:4], numbers[4], numbers[5:10]
    traversed, box = numbers[10], (numbers[10] >> 24, *numbers[11:])
    rank = (flags >> 4 & 7) + 1
    strides = [16 * (part | (high >> 4 * mode & 15) << 32) for mode, part in enumerate(low)]
    _check(flags, rank, extents, box, strides)
    kind = _TYPES[flags >> 7 & 15]
    if flags >> 16 & 1:
        kind = kind.replace("f32", "tf32")
    # Along the innermost mode no element is left out: the driver says that it ignores this stride.
    steps = (1, *((traversed >> 3 * mode & 7) + 1 for mode in range(1, rank)))
    swizzle = _SWIZZLES[flags >> 13 & 3]
    return TensorMap(
        address=address,
        extents=tuple(extent + 1 for extent in extents[:rank]),
        strides=tuple(strides[: rank - 1]),
        box=tuple(extent + 1 for extent in box[:rank]),
        element=TYPES.get(kind, 0),
        swizzle="128B/32B" if flags >> 19 & 3 else swizzle,
        steps=steps if max(steps) > 1 else (),
        fill="nan" if flags >> 15 & 1 else "zero",
        type=kind,
    )


def _check(flags: int, rank: int, extents: Sequence[int], box: Sequence[int], strides: Sequence[int]) -> None:
    """Raise EmulatorError for what cannot be a tensor map, and for what is none that is emulated."""
    if rank > _MODES:
        raise EmulatorError(f"not a tensor map: it would have {rank} modes, of {_MODES} at most")
    parts = (("extent", extents[rank:]), ("box", box[rank:]), ("stride", strides[rank - 1 :]))
    beyond = [name for name, rest in parts if any(rest)]
    if beyond:
        raise EmulatorError(f"not a tensor map: it has {rank} modes, and {' and '.join(beyond)} of more")
    if flags & 1:
        raise UnsupportedTensorMap("tensor map of im2col: not emulated")
    if interleave := flags >> 11 & 3:
        raise UnsupportedTensorMap(f"tensor map interleaved by {16 * interleave} B: not emulated")
    kind, atom, swizzle = flags >> 7 & 15, flags >> 19 & 3, _SWIZZLES[flags >> 13 & 3]
    if kind >= len(_TYPES):
        raise EmulatorError(f"not a tensor map: {kind} is no element type")
    if flags >> 16 & 1 and not _TYPES[kind].startswith("f32"):
        raise EmulatorError(f"not a tensor map: {_TYPES[kind]} rounded to tf32")
    if atom and (atom != 1 or swizzle != "128B"):
        raise UnsupportedTensorMap(f"tensor map with a swizzle of {swizzle} in atoms of {_ATOMS[atom]}: not emulated")
