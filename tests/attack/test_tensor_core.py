"""Random products of tcgen05 by the hundred: kinds, formats, shapes, orders, swizzles, scales, masks, against numpy.

Where an element lies is written down here once more, element by element, from the canonical layouts of the PTX ISA.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tests.emulate.ptx_kit import launch
from tests.emulate.tensor_kit import AFTER, BEGIN, COLUMNS, COMMIT, END, FILL, WAIT, WAIT_LD, descriptor, move, single
from tests.emulate.test_block_scaling import ALL_COLUMNS, CLEAR, KEEP, atoms, cp
from tests.emulate.test_tcgen05_kinds import padded

SEED = int(os.environ.get("ATTACK_SEED", "0"))
CASES = 500
A_AT, SFA_AT, B_AT, SFB_AT = 0, 8192, 16384, 24576
SFA, SFB = 256, 272
#: kind: formats by code: (dtype, bits).
SMALL: dict[int, tuple[Any, int]] = {
    0: (ml_dtypes.float8_e4m3fn, 8), 1: (ml_dtypes.float8_e5m2, 8), 3: (ml_dtypes.float6_e2m3fn, 6),
    4: (ml_dtypes.float6_e3m2fn, 6), 5: (ml_dtypes.float4_e2m1fn, 4),
}  # fmt: skip
FORMATS: dict[str, dict[int, tuple[Any, int]]] = {
    "f16": {0: (np.float16, 16), 1: (ml_dtypes.bfloat16, 16)}, "tf32": {2: (np.float32, 32)}, "f8f6f4": SMALL,
    "i8": {0: (np.uint8, 8), 1: (np.int8, 8)}, "mxf8f6f4": SMALL, "mxf4": {1: (ml_dtypes.float4_e2m1fn, 4)},
    "mxf4nvf4": {1: (ml_dtypes.float4_e2m1fn, 4)},
}  # fmt: skip
MODES = {16: 0, 32: 6, 64: 4, 128: 2}  # span in bytes: swizzle of the descriptor


@dataclass
class Operand:
    """A matrix: its values, the bytes of its elements as (rows, K, bytes), the order and the descriptor."""

    values: Any
    code: int
    mn: bool
    descriptor: int


def operand(pick: random.Random, rng: Any, image: Any, at: int, kind: str, rows: int, spans: list[int]) -> Operand:
    """Random elements, written where a random legal layout has them."""
    code = pick.choice(list(FORMATS[kind]))
    dtype, bits = FORMATS[kind][code]
    k = 256 // bits if bits >= 8 or "mxf4" in kind else 32
    if bits < 16 and dtype not in (np.uint8, np.int8):
        codes = rng.integers(0, 1 << bits, (rows, k)).astype(np.uint8)
        codes = np.where(np.isfinite(codes.view(dtype).astype(np.float64)), codes, 0).astype(np.uint8)
        values = codes.view(dtype).astype(np.float64)
    else:
        codes = rng.integers(0, 200, (rows, k)).astype(np.uint8) if bits == 8 else rng.integers(-9, 10, (rows, k))
        codes = codes.view(dtype) if bits == 8 else codes.astype(dtype)
        values = codes.astype(np.float64)
    mn = "mxf4" not in kind and pick.random() < 0.4 and rows % 128 == 0
    if "mxf4" in kind:
        raw = codes[:, ::2] | codes[:, 1::2] << 4
    elif bits < 8:
        raw = padded(np.ascontiguousarray(codes.T), bits).T if mn else padded(codes, bits)
    else:
        raw = codes
    size = raw.dtype.itemsize
    span = pick.choice(spans)
    lbo, sbo, offset, mode, swizzle = layout(pick, span, size, mn, rows, kind)
    octets = np.ascontiguousarray(raw).view(np.uint8).reshape(*raw.shape, size)
    for r in range(raw.shape[0]):
        for c in range(raw.shape[1]):
            place = swizzle(1024 + at + offset(r, c)) - 1024
            image[place : place + size] = octets[r, c]
    return Operand(values, code, mn, descriptor(at, lbo, sbo, mode))


def layout(pick: random.Random, span: int, size: int, mn: bool, rows: int, kind: str) -> Any:
    """(leading offset, stride offset, offset of element (row, k), swizzle of the descriptor, of an address)."""
    per = span // size
    offset: Callable[[int, int], int]
    if kind == "tf32" and mn:
        lbo, sbo = 1024, 512
        offset = lambda r, k: r % 32 * 4 + r // 32 * lbo + k % 4 * 128 + k // 4 * sbo  # noqa: E731
        return lbo, sbo, offset, 1, lambda address: address ^ (address >> 7 & 3) << 5
    mask = span // 16 - 1

    def swizzle(address: int) -> int:
        return address ^ (address >> 7 & mask) << 4

    if mn and span > 16:
        deep = max(1, 32 // size // 8)  # blocks of eight k
        sbo = 8 * span
        lbo = deep * sbo
        offset = lambda r, k: r % per * size + r // per * lbo + k % 8 * span + k // 8 * sbo  # noqa: E731
    elif mn:
        sbo, lbo = 128, 128 * rows * size // 16
        offset = lambda r, k: r % per * size + r // per * sbo + k % 8 * 16 + k // 8 * lbo  # noqa: E731
    elif span > 16:
        lbo, sbo = 16, 8 * span
        offset = lambda r, k: r % 8 * span + r // 8 * sbo + k * size  # noqa: E731
    else:
        lbo, sbo = pick.choice(((128, 256), (16 * rows, 128)))
        offset = lambda r, k: r % 8 * 16 + r // 8 * sbo + k * size // 16 * lbo + k * size % 16  # noqa: E731
    return lbo, sbo, offset, MODES[span], swizzle


def one(seed: int) -> None:
    pick, rng = random.Random(seed), np.random.default_rng(seed)
    kind = pick.choice(list(FORMATS))
    scaled = kind.startswith("mx")
    m = 128 if scaled else pick.choice((64, 128))
    n = pick.choice((16, 32, 48, 64, 96, 128, 128))
    image = rng.integers(0, 256, 32768).astype(np.uint8)
    spans = [16, 32, 64] if scaled else [16, 32, 64, 128]
    a, b = (operand(pick, rng, image, at, kind, rows, spans) for at, rows in ((A_AT, m), (B_AT, n)))
    left, right = a.values, b.values
    negate, d = kind != "i8" and pick.random() < 0.3, 2 if kind == "i8" else 1
    idesc = a.code << 7 | b.code << 10 | negate << 13 | a.mn << 15 | b.mn << 16 | n >> 3 << 17
    issue, operands = "", "%p9"
    if scaled:
        count = {"mxf8f6f4": 1, "mxf4": 2, "mxf4nvf4": pick.choice((2, 4))}[kind]
        e8 = count < 4 or pick.random() < 0.5
        ids = [pick.randrange(0, 4, count) for _ in range(2)]
        idesc |= ids[1] << 4 | e8 << 23 | m >> 7 << 27 | ids[0] << 29
        for at, rows, first, which in ((SFA_AT, m, ids[0], 0), (SFB_AT, n, ids[1], 1)):
            codes = rng.integers(120, 134, (rows, 4)).astype(np.uint8) if e8 else rng.integers(0, 127, (rows, 4))
            codes = codes.astype(np.uint8)
            image[at : at + 512] = atoms(codes)
            used = codes[:, first : first + count]
            factors = np.ldexp(1.0, used.astype(int) - 127) if e8 else used.view(ml_dtypes.float8_e4m3fn)
            wide = np.repeat(factors.astype(np.float64), left.shape[1] // count, axis=1)
            left, right = (left, right * wide) if which else (left * wide, right)
        issue = cp(SFA, SFA_AT) + cp(SFB, SFB_AT) + f" add.s32 %r87, %r3, {SFA};\n add.s32 %r88, %r3, {SFB};\n"
        operands = "[%r87], [%r88], %p9"
        kind += f".block_scale.scale_vec::{count}X"
    else:
        idesc |= d << 4 | m >> 4 << 24
    low = pick.choice((0, 16)) if m == 64 else 0
    mma = f" tcgen05.mma.cta_group::1.kind::{kind} [%r86], %rd30, %rd31, %r91, {operands};\n"
    times = pick.choice((1, 2))
    issue += f" add.s32 %r86, %r3, {low << 16};\n" + CLEAR + mma + (KEEP + mma if times == 2 else "")
    body = FILL + " fence.proxy.async.shared::cta;\n bar.sync 0;\n"
    body += f" mov.b64 %rd30, {a.descriptor};\n mov.b64 %rd31, {b.descriptor};\n mov.b32 %r91, {idesc};\n"
    body += single(1, issue + COMMIT, "ISSUED") + WAIT + AFTER + f" add.s32 %r86, %r4, {low << 16};\n"
    shape, count, wide = ("32x32b", n, n) if m == 128 else ("16x256b", n // 2, n // 8)
    body += move("ld", shape, wide, count, "%r86") + WAIT_LD
    body += f" mul.wide.u32 %rd20, %r0, {4 * count};\n add.s64 %rd21, %rd1, %rd20;\n"
    body += "".join(f" st.global.b32 [%rd21+{4 * i}], %r{100 + i};\n" for i in range(count))
    out = np.zeros((128, count), np.uint32)
    old, new = f", {COLUMNS};", f", {ALL_COLUMNS};"
    text = BEGIN.replace(old, new) + body + END.replace(old, new)
    outcome = launch(text, {"i": image, "o": out}, threads=128, shared=32832, seed=seed)
    where = f"ATTACK_SEED makes case {seed}: {kind} {m} x {n}, {a}, {b}"
    assert outcome.kinds == [], f"{where}: {outcome.result.findings[0]}"
    found = out.view(np.int32 if d == 2 else np.float32).astype(np.float64)
    if m == 64:  # registers 0, 1 of thread t hold row t/4, columns 2 (t % 4) and the next; 2, 3 row t/4 + 8
        found = found.reshape(4, 8, 4, n // 8, 2, 2).transpose(0, 4, 1, 3, 2, 5).reshape(64, n)
    expected = times * (left @ right.T) * (-1 if negate else 1)
    bound = 1e-6 * times * (abs(left) @ abs(right).T)
    assert (abs(found - expected) <= bound).all(), where


def test_random_products() -> None:
    for number in range(CASES):
        one(SEED * CASES + number)
