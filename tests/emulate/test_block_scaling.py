"""Block scaling: where the scale factors of A and B lie in tensor memory, their formats, and what orders them.

Expected values: PTX ISA, "Block Scaling" (layouts of scale_vec::1X, 2X and 4X, the ids of the instruction descriptor),
"Instruction descriptor" (Tables 43 and 44), and the atom of 128 rows by four scales in shared memory of CUTLASS
(`Sm1xxBlockScaledBasicChunk`: byte 16 (r % 32) + 4 (r / 32) + j), which tcgen05.cp.32x128b.warpx4 puts in four columns.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .ptx_kit import Outcome, launch
from .tensor_kit import (
    AFTER,
    BEGIN,
    COLUMNS,
    COMMIT,
    END,
    FILL,
    SYNC,
    WAIT,
    WAIT_LD,
    WAIT_ST,
    descriptor,
    move,
    single,
)
from .test_tcgen05_kinds import SMALL, padded, random_codes
from .test_wgmma import place

KEEP, CLEAR = " setp.eq.b32 %p9, 0, 0;\n", " setp.ne.b32 %p9, 0, 0;\n"
A_AT, B_AT, SFA_AT, SFB_AT = 0, 4096, 12288, 13312
A, B = (descriptor(at, 16, 256, 6) for at in (A_AT, B_AT))  # rows of 32 bytes, swizzled in pairs of 16
ALL_COLUMNS = 512
SFA, SFB = 256, 272  # first columns
Scales = tuple[Any, Any]


def ue8m0(codes: Any) -> Any:
    return np.ldexp(1.0, codes.astype(np.int64) - 127)


def ue4m3(codes: Any) -> Any:
    return codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def atoms(codes: Any) -> Any:
    """Bytes of (rows, 4) scales in shared memory."""
    rows = codes.shape[0]
    found = np.full((-(-rows // 128), 512), 0x55, np.uint8)
    for (r, j), code in np.ndenumerate(codes):
        found[r // 128, r % 128 % 32 * 16 + r % 128 // 32 * 4 + j] = code
    return found.reshape(-1)


def image_of(a: Any, b: Any, sfa: Any, sfb: Any) -> Any:
    """Rows of 32 bytes of A and B, and (rows, 4) scales of both."""
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        place(image, at, matrix, lambda r, c: r * 32 + c, 1)
    for at, codes in ((SFA_AT, sfa), (SFB_AT, sfb)):
        image[at : at + len(atoms(codes))] = atoms(codes)
    return image


def cp(column: int, at: int, shape: str = "32x128b.warpx4", group: int = 1) -> str:
    """Copy what lies at dynamic offset `at`, rows of 16 bytes, to a column."""
    source = descriptor(at, 16, 128, 0)
    to = f" mov.b64 %rd33, {source};\n add.s32 %r89, %r3, {column};\n"
    return f"{to} tcgen05.cp.cta_group::{group}.{shape} [%r89], %rd33;\n"


def copies(n: int = 128) -> str:
    return cp(SFA, SFA_AT) + "".join(cp(SFB + 4 * i, SFB_AT + 512 * i) for i in range(-(-n // 128)))


def scaled(kind: str, mode: str = "", sfb: int = SFB, group: int = 1) -> str:
    """The MMA, with its scales in their columns."""
    opcode = f"tcgen05.mma.cta_group::{group}.kind::{kind}.block_scale{mode}"
    return (
        f" add.s32 %r87, %r3, {SFA};\n add.s32 %r88, %r3, {sfb};\n"
        f" {opcode} [%r3], %rd30, %rd31, %r91, [%r87], [%r88], %p9;\n"
    )


def idesc(n: int, a: int, b: int, sfa: int = 0, sfb: int = 0, e8: int = 1, m: int = 128) -> int:
    """PTX ISA, Tables 43 and 44: ids of the scales in bits 29 and 4, their format in bit 23, M in bits 27 and 28."""
    return sfb << 4 | a << 7 | b << 10 | n >> 3 << 17 | e8 << 23 | m >> 7 << 27 | sfa << 29


def start(descriptor_bits: int) -> str:
    return FILL + (
        f" fence.proxy.async.shared::cta;\n bar.sync 0;\n mov.b64 %rd30, {A};\n mov.b64 %rd31, {B};\n"
        f" mov.b32 %r91, {descriptor_bits};\n"
    )


def run(body: str, buffers: dict[str, Any], **options: Any) -> Outcome:
    old, new = f", {COLUMNS};", f", {ALL_COLUMNS};"
    return launch(BEGIN.replace(old, new) + body + END.replace(old, new), buffers, threads=128, shared=32832, **options)


def result(image: Any, bits: int, n: int, issue: str, **options: Any) -> tuple[Outcome, Any]:
    """What the first `n` columns hold when one thread has run `issue`."""
    out = np.zeros((128, n), np.float32)
    body = start(bits) + single(1, issue + COMMIT, "ISSUED") + WAIT + AFTER
    for first in range(0, n, 128):
        body += f" add.s32 %r86, %r4, {first};\n" + move("ld", "32x32b", min(n, 128), min(n, 128), "%r86") + WAIT_LD
        body += f" mul.wide.u32 %rd20, %r0, {4 * n};\n add.s64 %rd21, %rd1, %rd20;\n"
        body += "".join(f" st.global.b32 [%rd21+{4 * (first + i)}], %r{100 + i};\n" for i in range(min(n, 128)))
    outcome = run(body, {"i": image, "o": out.view(np.uint32)}, **options)
    return outcome, out


def spread(scales: Any, k: int) -> Any:
    """(rows, K) of (rows, blocks)."""
    return np.repeat(scales, k // scales.shape[1], axis=1)


@pytest.mark.parametrize("n", [8, 48, 128, 256])
@pytest.mark.parametrize("byte", [0, 1, 2, 3])
def test_one_scale_a_row_in_any_byte(byte: int, n: int) -> None:
    """mxf8f6f4: 32 elements a scale; the id of A's is that of B's and 1 more."""
    rng = np.random.default_rng(byte + n)
    a, b = (rng.integers(-4, 5, (rows, 32)).astype(ml_dtypes.float8_e4m3fn) for rows in (128, n))
    sfa, sfb = (rng.integers(120, 134, (rows, 4)).astype(np.uint8) for rows in (128, n))
    other = (byte + 1) % 4
    bits = idesc(n, 0, 0, sfa=other, sfb=byte)
    image = image_of(a.view(np.uint8), b.view(np.uint8), sfa, sfb)
    outcome, out = result(image, bits, n, copies(n) + CLEAR + scaled("mxf8f6f4", ".scale_vec::1X"))
    assert outcome.kinds == []
    scales = ue8m0(sfa[:, other])[:, None] * ue8m0(sfb[:, byte])
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64).T * scales)


@pytest.mark.parametrize("kinds", [("e5m2", "e4m3"), ("e2m1", "e3m2"), ("e2m3", "e2m1")])
def test_mixed_formats_with_scales(kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    a, b = (random_codes(rng, rows, kind) for rows, kind in zip((128, 32), kinds, strict=True))
    sfa, sfb = (rng.integers(120, 134, (rows, 4)).astype(np.uint8) for rows in (128, 32))
    image = image_of(padded(a, SMALL[kinds[0]][2]), padded(b, SMALL[kinds[1]][2]), sfa, sfb)
    bits = idesc(32, SMALL[kinds[0]][0], SMALL[kinds[1]][0])
    outcome, out = result(image, bits, 32, copies() + CLEAR + scaled("mxf8f6f4", ".block32"))
    assert outcome.kinds == []
    left, right = (x.view(SMALL[kind][1]).astype(np.float64) for x, kind in zip((a, b), kinds, strict=True))
    left, right = left * ue8m0(sfa[:, :1]), right * ue8m0(sfb[:, :1])
    assert (abs(out - left @ right.T) <= 1e-6 * (abs(left) @ abs(right).T)).all()


FP4 = [
    ("mxf4", "", 2, 0, ue8m0), ("mxf4", ".block32", 2, 2, ue8m0), ("mxf4nvf4", ".scale_vec::2X", 2, 2, ue8m0),
    ("mxf4nvf4", ".scale_vec::4X", 4, 0, ue4m3), ("mxf4nvf4", ".block16", 4, 0, ue4m3),
    ("mxf4nvf4", ".scale_vec::4X", 4, 0, ue8m0),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "mode", "count", "byte", "value"), FP4)
def test_packed_elements_of_four_bits(kind: str, mode: str, count: int, byte: int, value: Any) -> None:
    """64 elements in the 32 bytes of a row, low half of each byte first, and 2 or 4 scales for them."""
    rng = np.random.default_rng(count + byte)
    a, b = (random_codes(rng, rows, "e2m1", 64) for rows in (128, 64))
    low = 120 if value is ue8m0 else 0
    sfa, sfb = (rng.integers(low, low + 14 if low else 127, (rows, 4)).astype(np.uint8) for rows in (128, 64))
    packed = [x[:, ::2] | x[:, 1::2] << 4 for x in (a, b)]
    bits = idesc(64, 1, 1, byte, byte, int(value is ue8m0))
    outcome, out = result(
        image_of(*packed, sfa, sfb), bits, 64, copies() + CLEAR + scaled(kind, mode) + KEEP + scaled(kind, mode)
    )
    assert outcome.kinds == []
    left, right = (
        x.view(SMALL["e2m1"][1]).astype(np.float64) * spread(value(s[:, byte : byte + count]), 64)
        for x, s in ((a, sfa), (b, sfb))
    )
    assert (abs(out - 2 * left @ right.T) <= 1e-6 * (abs(left) @ abs(right).T)).all()


def ones(n: int = 32, code: int = 127) -> Any:
    """An image in which A and B are 1 everywhere, and so is every scale."""
    a, b = (np.ones((rows, 32), ml_dtypes.float8_e4m3fn).view(np.uint8) for rows in (128, n))
    return image_of(a, b, *(np.full((rows, 4), code, np.uint8) for rows in (128, n)))


ISSUE = CLEAR + scaled("mxf8f6f4")
BITS = idesc(32, 0, 0)


@pytest.mark.parametrize(("codes", "expected"), [((0, 254), 32), ((254, 0), 32), ((254, 255), np.nan), ((0, 0), 0)])
def test_the_ends_of_ue8m0(codes: tuple[int, int], expected: float) -> None:
    """2^-127 times 2^127 is 1, 255 is NaN (the product of the scales is what counts, not each operand's)."""
    image = ones()
    image[SFA_AT : SFA_AT + 512] = codes[0]
    image[SFB_AT : SFB_AT + 512] = codes[1]
    outcome, out = result(image, BITS, 32, copies() + ISSUE)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.full_like(out, expected))


def test_scales_are_operands_that_a_copy_must_have_brought() -> None:
    assert "never written" in result(ones(), BITS, 32, ISSUE)[0].message("uninitialised-read")
    late = result(ones(), BITS, 32, cp(SFA, SFA_AT) + ISSUE + cp(SFB, SFB_AT))[0]
    assert set(late.kinds) == {"uninitialised-read", "race"}
    assert f"column {SFB}" in late.message("uninitialised-read")
    text = late.message("race")
    assert "write by the tcgen05.cp of" in text
    assert "is not ordered after the read by the tcgen05.mma of" in text


def test_scales_are_replaced_when_the_products_that_read_them_are_over() -> None:
    """mma -> cp is none of the pairs that execute in order; a commit that has been waited for is what orders them."""
    twice = copies() + ISSUE + copies() + KEEP + scaled("mxf8f6f4")
    outcome, out = result(ones(), BITS, 32, twice)
    assert set(outcome.kinds) == {"race"}
    text = outcome.message("race")
    assert "write by the tcgen05.cp of" in text
    assert "tcgen05.commit" in text
    outcome, out = result(ones(), BITS, 32, twice, without=frozenset({"tcgen05-pipelines"}))
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.full_like(out, 64))
    waiting = COMMIT + WAIT.replace("WAITING", "FIRST").replace("%p9", "%p10")
    body = copies() + ISSUE + waiting + copies() + KEEP + scaled("mxf8f6f4") + COMMIT
    body = start(BITS) + single(1, body, "ISSUED") + WAIT.replace("], 0;", "], 1;")
    assert run(body, {"i": ones()}).kinds == []


def two_threads(ordered: str) -> str:
    """The copies by warp 0, the product by warp 1."""
    body = start(BITS) + single(0, copies(), "COPIED") + ordered
    return body + single(1, ISSUE + COMMIT, "ISSUED") + WAIT + AFTER


def test_copies_of_another_thread_are_in_order_behind_fences_and_a_barrier() -> None:
    assert run(two_threads(SYNC), {"i": ones()}).kinds == []
    for without in ("tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"):
        broken = run(two_threads(SYNC.replace(without, "")), {"i": ones()})
        assert set(broken.kinds) >= {"race"}
        assert "tcgen05.cp of" in broken.message("race")


def test_the_source_of_a_copy_is_busy_until_its_commit_has_been_waited_for() -> None:
    """The copy reads through the async proxy, as the MMA reads A and B."""
    write = f" setp.ne.u32 %p3, %r2, 1;\n @%p3 bra KEPT;\n st.shared.b32 [%r1+{SFA_AT}], 0;\nKEPT:\n"
    issue = start(BITS) + single(1, copies() + ISSUE + COMMIT, "ISSUED")
    outcome = run(issue + write + WAIT + AFTER, {"i": ones()})
    assert set(outcome.kinds) == {"race"}
    assert "the tcgen05.cp of" in outcome.message("race")
    assert run(issue + WAIT + AFTER + write, {"i": ones()}).kinds == []


def test_all_quarters_of_the_lanes_hold_the_same_scales() -> None:
    """Scales that registers bring: every warp stores those of its quarter."""
    ones_ = "".join(f" mov.b32 %r{120 + i}, 2139062143;\n" for i in range(4))  # four times 127 a word
    put = f" add.s32 %r87, %r4, {SFA};\n add.s32 %r88, %r4, {SFB};\n"
    put += move("st", "32x32b", 4, 4, "%r87", 120) + move("st", "32x32b", 4, 4, "%r88", 120) + WAIT_ST
    body = start(BITS) + ones_ + put + SYNC + single(1, ISSUE + COMMIT, "ISSUED") + WAIT + AFTER
    assert run(body, {"i": ones()}).kinds == []
    differ = body.replace(put, " setp.eq.u32 %p3, %r2, 2;\n @%p3 mov.b32 %r120, 0;\n" + put)
    outcome = run(differ, {"i": ones()})
    assert "columns 256..259" in outcome.message("tcgen05")
    assert "four quarters" in outcome.message("tcgen05")


@pytest.mark.parametrize(
    ("kind", "bits", "what"),
    [
        ("mxf8f6f4", idesc(32, 0, 0, m=256), "M = 256 is none of 128"),
        ("mxf8f6f4", idesc(32, 0, 0, e8=0), "scales are ue8m0"),
        ("mxf8f6f4", idesc(32, 2, 0), "2 is no format of A"),
        ("mxf8f6f4", idesc(264, 0, 0), "N = 264 is no multiple of 8"),
        ("mxf8f6f4", idesc(32, 0, 0) | 1 << 24, "bits 0x1000000 are to be 0"),
        ("mxf4", idesc(32, 1, 1, sfa=1), "the 2 scales of a row of A begin at byte 1"),
        ("mxf4nvf4.block_scale.scale_vec::4X", idesc(32, 1, 1, sfb=2), "the 4 scales of a row of B begin at byte 2"),
        ("mxf4nvf4.block_scale.scale_vec::2X", idesc(32, 1, 1, e8=0), "two scales of a row are ue8m0"),
    ],
)
def test_illegal_block_scaling(kind: str, bits: int, what: str) -> None:
    mma = scaled(kind).replace(f"{kind}.block_scale", kind if "block_scale" in kind else f"{kind}.block_scale")
    outcome, _ = result(ones(), bits, 32, copies() + CLEAR + mma)
    assert what in outcome.message("tcgen05")
