"""mma.sync: the product of a warp's fragments, D = A B + C with M = 16 and N = 8.

Fragments (PTX ISA, "Matrix fragments for mma"): with e elements in a register and lane = 4 g + t, register 2 r + h of A
holds row g + 8 h and columns e (4 r + t) and on; register r of B holds column g and rows e (4 r + t) and on; those
of C and D hold row g + 8 h and columns 2 t and 2 t + 1, each in a register of its own where it has 32 bits.
The sum is made in float64 and rounded once: how a tensor core adds is not documented.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpwright.emulate.machine.state import Fiber
from warpwright.emulate.numbers.formats import DTYPES, Array


@dataclass(frozen=True)
class Shape:
    """The static part of one mma: K, bytes of an element of A and B, types, and whether integer sums saturate."""

    k: int
    size: int
    d_type: str
    a_type: str
    b_type: str
    saturate: bool


def warp_mma(f: Fiber, number: int, shape: Shape, a: Array, b: Array, c: Array) -> Array:
    """D of `a`, `b`, `c`, all (registers, 32) uint32."""
    _together(f, number)
    per = 4 // shape.size
    left = rows_of_a(a, shape.a_type, shape.size)
    right = _values(b, shape.b_type).reshape(-1, 8, 4, per).transpose(0, 2, 3, 1).reshape(shape.k, 8)
    product = left @ right
    words = np.ascontiguousarray(c)
    if shape.d_type == "f16":
        sum_ = product + words.view(np.float16).reshape(16, 8)
        half = np.ascontiguousarray(sum_.astype(np.float16)).view(np.uint16)
        half[np.isnan(sum_)] = 0x7FFF
        return half.view(np.uint32).reshape(2, 32)
    sums = words.view(np.float32 if shape.d_type == "f32" else np.int32).reshape(2, 2, 8, 4).transpose(0, 2, 3, 1)
    total: Array = (product + sums.reshape(16, 8)).reshape(2, 8, 4, 2).transpose(0, 3, 1, 2).reshape(4, 32)
    if shape.d_type == "f32":
        return np.ascontiguousarray(total.astype(np.float32)).view(np.uint32)
    if shape.saturate:
        total = np.clip(total, -(2.0**31), 2.0**31 - 1)
    return np.ascontiguousarray(total.astype(np.int64)).astype(np.uint32)


def rows_of_a(registers: Array, kind: str, size: int) -> Array:
    """(16, K) float64 of a fragment of A: (registers, 32) uint32, elements of `size` bytes."""
    parts = _values(registers, kind).reshape(-1, 2, 8, 4, 4 // size)
    rows: Array = parts.transpose(1, 2, 0, 3, 4).reshape(16, -1)
    return rows


def _values(registers: Array, kind: str) -> Array:
    """The elements of a fragment as float64, in the order of its bits: (registers, 32 * elements)."""
    words: Array = np.ascontiguousarray(registers)
    if kind == "bf16":
        words = (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    elif kind == "tf32":
        words = (words & np.uint32(0xFFFFE000)).view(np.float32)
    else:
        words = words.view(DTYPES[kind])
    return words.astype(np.float64)


def _together(f: Fiber, number: int) -> None:
    if f.mask != 0xFFFFFFFF:
        text = f"a matrix product of the warp needs all its lanes; {f.mask:#010x} are here"
        f.warp.machine.fault("convergence", f.warp, number, text, fatal=True)


def movmatrix(f: Fiber, number: int, data: Array) -> Any:
    """movmatrix.m8n8.trans.b16 of (1, 32) uint32: lane l holds row l/4, columns 2(l%4) and the next."""
    _together(f, number)
    halves = np.ascontiguousarray(data).view(np.uint16).reshape(8, 8)
    return np.ascontiguousarray(halves.T).view(np.uint32).reshape(32)
