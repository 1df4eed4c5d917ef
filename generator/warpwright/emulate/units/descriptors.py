"""Where a matrix operand lies: the descriptors that tensor cores take, and what they name as float32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from warpwright.emulate.machine.addresses import swizzle
from warpwright.emulate.machine.order import Cells
from warpwright.emulate.numbers.formats import DTYPES, F16_TO_F32, Array

_MASKS = {0: 0, 1: 7, 2: 3, 3: 1}  # descriptor bits 62-63: none, 128 B, 64 B, 32 B
_ATOMS_OF_32 = 1 << 61  # sm_100: the swizzle of 128 B whose parts are 32 B
_BYTES = {kind: dtype.itemsize for kind, dtype in DTYPES.items()}  # others: one, with its share of the padding
_GATHERS: dict[Any, tuple[Array, Cells]] = {}
_E4M3 = np.arange(256, dtype=np.uint8).view(DTYPES["e4m3"]).astype(np.float32)
_E5M2 = np.arange(256, dtype=np.uint8).view(DTYPES["e5m2"]).astype(np.float32)
_E2M3 = np.arange(64, dtype=np.uint8).view(ml_dtypes.float6_e2m3fn).astype(np.float32)
_E3M2 = np.arange(64, dtype=np.uint8).view(ml_dtypes.float6_e3m2fn).astype(np.float32)
_E2M1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
_PAIRS_OF_E2M1 = np.stack([np.tile(_E2M1, 16), np.repeat(_E2M1, 16)], axis=1)  # by byte; the first has the low bits


def gather(descriptors: list[int], rows: int, kind: str, mn: bool, across: int = 2) -> tuple[Any, Array, Cells]:
    """(key, chunk numbers, cells) of the operand that `descriptors` name one after the other along K.

    Both are relative to the 1 KiB that holds the least start address. `rows` is M or N, `mn`: not K-major; `across`:
    chunks along K, where that is the order.
    """
    first = descriptors[0]
    start = min(d & 0x3FFF for d in descriptors)
    starts = tuple((d & 0x3FFF) - start for d in descriptors)
    key = first >> 16, starts, start % 64, rows, kind, mn, across
    found = _GATHERS.get(key)
    if found is None:
        index = _index(first, starts, start % 64, rows, _BYTES.get(kind, 1), mn, across)
        found = _GATHERS[key] = index, slice_or(index)
    return key, *found


def slice_or(cells: Array) -> Cells:
    """`cells`, as a slice where they are all the cells of a range (in any order)."""
    flat = np.flatnonzero(np.bincount(cells.reshape(-1)))
    low, high = int(flat[0]), int(flat[-1])
    return slice(low, high + 1) if high - low + 1 == len(flat) else flat


def convert(chunks: Array, kind: str) -> Array:
    """The elements of chunks along the last axis, as float32."""
    values: Array
    if kind == "f16":
        values = F16_TO_F32.take(chunks.view(np.uint16), mode="clip")  # none is outside, and so none is looked for
    elif kind == "bf16":
        values = (chunks.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    elif kind == "tf32":
        values = (chunks.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    elif kind in ("e4m3", "e5m2"):
        values = (_E4M3 if kind == "e4m3" else _E5M2).take(chunks.view(np.uint8), mode="clip")
    elif kind[:4] in _SMALL:
        values = _small(chunks.view(np.uint8), kind)
    else:
        values = chunks.view(DTYPES[kind]).astype(np.float32)
    return values


_SMALL = {"e2m1": _E2M1, "e2m3": _E2M3, "e3m2": _E3M2}


def _small(octets: Array, kind: str) -> Array:
    """Elements of 4 and 6 bits: packed (e2m1), sixteen in 16 bytes with padding behind (_p64, _p32), or one a byte
    (_b8: of 6 bits the lower ones, of 4 bits the ones in the middle)."""
    table, rows, how = _SMALL[kind[:4]], octets.shape[0], kind[4:]
    found: Array
    if how == "_b8":
        found = table.take(octets >> 2 & 15 if kind == "e2m1_b8" else octets & 63)
    elif how == "_p32":
        parts = octets.reshape(rows, -1, 16)[..., :12].reshape(rows, -1, 3).astype(np.uint32)
        words = parts[..., 0] | parts[..., 1] << 8 | parts[..., 2] << 16
        found = table.take(words[..., None] >> np.arange(0, 24, 6) & 63).reshape(rows, -1)
    else:
        packed = octets.reshape(rows, -1, 16)[..., :8] if how == "_p64" else octets
        found = _PAIRS_OF_E2M1.take(packed, axis=0).reshape(rows, -1)
    return found


def _index(
    descriptor: int, starts: tuple[int, ...], phase: int, rows: int, element: int, mn: bool, across: int
) -> Array:
    """Chunk numbers relative to the 1 KiB of the start: (rows, chunks along K), or (K, chunks along M or N).

    The canonical layouts of the PTX ISA ("Shared memory matrix layout" of wgmma) with T = 16 bytes of elements:
    K-major: rows in groups of eight, SBO apart, one swizzle span between rows; without swizzle LBO between the
    two core matrices along K. M/N-major: spans of T * {1, 2, 4, 8} elements, LBO apart, eight k in a block, SBO
    between blocks; without swizzle the two offsets change places. With parts of 32 bytes a block has four k.
    """
    lbo, sbo = descriptor >> 16 & 0x3FFF, descriptor >> 32 & 0x3FFF
    mask = _MASKS[descriptor >> 62 & 3]
    span = mask + 1  # chunks
    if not mn:
        r, c = np.arange(rows)[:, None], np.arange(across)[None, :]
        if mask:
            one = r % 8 * span + r // 8 * sbo + c
        else:
            one = r % 8 + r // 8 * sbo + c * lbo
        chunks = np.concatenate([one + s for s in starts], axis=1)
    else:
        per = 16 // element
        k, c = np.arange(32 // element)[:, None], np.arange(rows // per)[None, :]
        if descriptor & _ATOMS_OF_32:
            one = c % 8 + c // 8 * lbo + k % 4 * 8 + k // 4 * sbo
            chunks = np.concatenate([one + s for s in starts], axis=0) + phase
            swizzled: Array = chunks ^ (chunks >> 3 & 3) << 1  # bits 5 and 6 of the address ^= bits 7 and 8
            return swizzled
        if mask:
            one = c % span + c // span * lbo + k % 8 * span + k // 8 * sbo
        else:
            one = k % 8 + c * sbo + k // 8 * lbo
        chunks = np.concatenate([one + s for s in starts], axis=0)
    return swizzle(chunks + phase, mask)
