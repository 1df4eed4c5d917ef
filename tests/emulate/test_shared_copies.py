"""tcgen05.cp and tcgen05.shift: which lane gets which row, formats that are spread to bytes, and both CTAs of a pair.

Expected values: PTX ISA, "tcgen05.cp" (shapes, multicast to pairs of warps, decompression) and "tcgen05.shift"; the
lanes of 4x256b from the copy atoms of CUTLASS (`SM100_UTCCP_4dp256bit`: rows 32 lanes apart).
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
    from_global,
    move,
    run,
    single,
    to_global,
)
from .test_block_scaling import ALL_COLUMNS, CLEAR, SFA, SFA_AT, SFB, SFB_AT, A, B, cp, idesc, image_of, scaled, ue8m0
from .test_pairs import CLUSTER, leader, two
from .test_pairs import COMMIT as COMMIT_BOTH


def copied(image: Any, source: int, shape: str, columns: int, lane: int = 0, **options: Any) -> tuple[Outcome, Any]:
    """All lanes of `columns` columns, which hold 0x77777777 before one thread copies."""
    out = np.zeros((128, columns), np.uint32)
    fill = "".join(f" mov.b32 %r{200 + i}, 2004318071;\n" for i in range(columns))
    body = FILL + " fence.proxy.async.shared::cta;\n" + fill + move("st", "32x32b", columns, columns, first=200)
    body += WAIT_ST + SYNC
    issue = f" mov.b64 %rd30, {source};\n add.s32 %r93, %r3, {lane << 16};\n"
    issue += f" tcgen05.cp.cta_group::1.{shape} [%r93], %rd30;\n"
    body += single(1, issue + COMMIT, "ISSUED") + WAIT + AFTER
    body += move("ld", "32x32b", columns, columns) + WAIT_LD + to_global(columns, "%rd1")
    return run(body, {"i": image, "o": out}, **options), out


def rows_of(seed: int, rows: int, size: int) -> Any:
    return np.random.default_rng(seed).integers(0, 256, (rows, size)).astype(np.uint8)


def plain(matrix: Any) -> Any:
    """K-major without swizzle: core matrices of 8 rows of 16 bytes, the next 16 bytes of a row 128 bytes on, eight rows
    128 bytes times the width on."""
    image = np.zeros(32768, np.uint8)
    rows, size = matrix.shape
    for r in range(rows):
        for c in range(size):
            image[r % 8 * 16 + r // 8 * 8 * size + c // 16 * 128 + c % 16] = matrix[r, c]
    return image


ROWS = np.arange(128)
SHAPES = {
    "128x256b": (128, 32, ROWS),
    "128x128b": (128, 16, ROWS),
    "64x128b.warpx2::02_13": (64, 16, ROWS % 64),
    "64x128b.warpx2::01_23": (64, 16, np.repeat([0, 0, 1, 1], 32) * 32 + ROWS % 32),
    "32x128b.warpx4": (32, 16, ROWS % 32),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_which_lane_gets_which_row(shape: str) -> None:
    rows, size, source = SHAPES[shape]
    matrix = rows_of(rows + size, rows, size)
    outcome, out = copied(plain(matrix), descriptor(0, 128, 8 * size, 0), shape, size // 4)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, matrix.view(np.uint32)[source])


@pytest.mark.parametrize("lane", [0, 5, 31])
def test_four_rows_go_to_one_lane_of_each_quarter(lane: int) -> None:
    matrix = rows_of(lane, 4, 32)
    outcome, out = copied(plain(matrix), descriptor(0, 128, 256, 0), "4x256b", 8, lane)
    assert outcome.kinds == []
    expected = np.full((128, 8), 0x77777777, np.uint32)
    expected[lane::32] = matrix.view(np.uint32)
    np.testing.assert_array_equal(out, expected)


def test_a_swizzled_source() -> None:
    """128 bytes to a row, of which 32 are copied."""
    matrix = rows_of(1, 128, 32)
    image = np.zeros(32768, np.uint8)
    for r in range(128):
        for c in range(32):
            at = r * 128 + c
            image[at ^ (at >> 7 & 7) << 4] = matrix[r, c]
    outcome, out = copied(image, descriptor(0, 16, 1024, 2), "128x256b", 8)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, matrix.view(np.uint32))


@pytest.mark.parametrize(("source", "bits", "shift"), [("b6x16_p32", 6, 0), ("b4x16_p64", 4, 2)])
def test_small_elements_are_spread_to_bytes(source: str, bits: int, shift: int) -> None:
    """Sixteen elements, then padding; of 4 bits the middle ones of each byte, of 6 bits the lower ones."""
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (128, 32)).astype(np.uint8)
    packed = np.full((128, 2, 16), 0xAA, np.uint8)
    for r in range(128):
        for half in range(2):
            number = sum(int(code) << bits * i for i, code in enumerate(codes[r, 16 * half : 16 * half + 16]))
            packed[r, half, : 2 * bits] = np.frombuffer(number.to_bytes(2 * bits, "little"), np.uint8)
    outcome, out = copied(plain(packed.reshape(128, 32)), descriptor(0, 128, 256, 0), f"128x256b.b8x16.{source}", 8)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.ascontiguousarray(codes << shift).view(np.uint32))


def test_misuse_of_copies() -> None:
    image = np.zeros(32768, np.uint8)
    source = descriptor(0, 128, 128, 0)
    assert "begins at lane 0" in copied(image, source, "128x128b", 4, lane=16)[0].message("tcgen05")
    assert "0 to 31" in copied(image, source, "4x256b", 8, lane=32)[0].message("tcgen05")
    far = descriptor(32768, 128, 128, 0)
    assert copied(image, far, "128x128b", 4)[0].kinds == ["shared-bounds"]
    none = copied(image, source & ~(7 << 46), "128x128b", 4)[0]
    assert "bits 46..48" in none.message("tcgen05")


def shifted(body: str) -> tuple[Outcome, Any, Any]:
    """Eight columns of all lanes, and what they are after one thread has run `body`."""
    memory, out = rows_of(7, 128, 32).view(np.uint32), np.zeros((128, 8), np.uint32)
    text = from_global(8, "%rd0") + move("st", "32x32b", 8, 8) + WAIT_ST + SYNC
    text += single(1, body + COMMIT, "ISSUED") + WAIT + AFTER
    text += move("ld", "32x32b", 8, 8, first=200) + WAIT_LD + to_global(8, "%rd1", 200)
    return run(text, {"i": memory, "o": out}), memory, out


SHIFT = " add.s32 %r93, %r3, {lane};\n tcgen05.shift.down.cta_group::1 [%r93];\n"


def test_a_shift_moves_the_rows_of_a_quarter_but_the_last() -> None:
    outcome, memory, out = shifted(SHIFT.format(lane=32 << 16))
    assert outcome.kinds == []
    expected = memory.copy()
    expected[32:63] = memory[33:64]
    np.testing.assert_array_equal(out, expected)
    assert "a multiple of 32" in shifted(SHIFT.format(lane=16 << 16))[0].message("tcgen05")


def test_a_copy_of_four_rows_is_in_order_behind_a_shift_and_no_other_copy_is() -> None:
    copy = f" mov.b64 %rd30, {descriptor(0, 128, 256, 0)};\n add.s32 %r94, %r3, {31 << 16};\n"
    ready = " fence.proxy.async.shared::cta;\n"
    for shape, address, kinds in (("4x256b", "%r94", []), ("128x256b", "%r3", ["race"])):
        body = copy + SHIFT.format(lane=0) + f" tcgen05.cp.cta_group::1.{shape} [{address}], %rd30;\n"
        text = FILL + ready + from_global(8, "%rd0") + move("st", "32x32b", 8, 8) + WAIT_ST + SYNC
        outcome = run(text + single(1, body + COMMIT, "ISSUED") + WAIT + AFTER, {"i": np.zeros(32768, np.uint8)})
        assert sorted(set(outcome.kinds)) == kinds


@pytest.mark.parametrize(("m", "n"), [(256, 64), (256, 256), (128, 64), (128, 128)])
def test_the_scales_of_a_pair(m: int, n: int) -> None:
    """Each CTA holds the scales of its rows of A, and those of all of B.

    With M = 128 the first half of B's go to the lower two quarters of the lanes, the second half to the upper two
    (64x128b.warpx2::01_23): row r of 64 has four columns of one lane, for columns r % 32 + 32 i of half r / 32.
    """
    rng = np.random.default_rng(n + m)
    a, b = (rng.integers(-4, 5, (rows, 32)).astype(ml_dtypes.float8_e4m3fn) for rows in (m, n))
    sfa, sfb = (rng.integers(120, 134, (rows, 4)).astype(np.uint8) for rows in (m, n))
    images = np.stack([
        image_of(*(np.split(x, 2)[rank].view(np.uint8) for x in (a, b)), np.split(sfa, 2)[rank], sfb) for rank in (0, 1)
    ])  # fmt: skip
    copies = cp(SFA, SFA_AT, group=2)
    if m == 256:
        copies += "".join(cp(SFB + 4 * i, SFB_AT + 512 * i, group=2) for i in range(-(-n // 128)))
    else:
        block = np.zeros((64, 4, 4), np.uint8)
        for column in range(n):
            half, within = divmod(column, n // 2)
            block[32 * half + within % 32, within // 32] = sfb[column]
        images[:, SFB_AT : SFB_AT + 1024] = block.reshape(-1)
        copies += cp(SFB, SFB_AT, "64x128b.warpx2::01_23", group=2)
    columns = n if m == 256 else n // 2
    out = np.zeros((2, 128, columns), np.float32)
    body = f"""
 mov.u32 %r94, %cluster_ctarank;
 mul.wide.u32 %rd40, %r94, 32768;
 add.s64 %rd0, %rd0, %rd40;
 mul.wide.u32 %rd40, %r94, {128 * columns * 4};
 add.s64 %rd1, %rd1, %rd40;
{FILL}
 fence.proxy.async.shared::cta;
{CLUSTER}
 mov.b64 %rd30, {A};
 mov.b64 %rd31, {B};
 mov.b32 %r91, {idesc(n, 0, 0, sfa=1, sfb=2, m=m)};
{leader(copies + CLEAR + scaled("mxf8f6f4", group=2) + COMMIT_BOTH, "ISSUED")}{WAIT}{AFTER}
"""
    for first in range(0, columns, 128):
        wide = min(columns, 128)
        body += f" add.s32 %r86, %r4, {first};\n" + move("ld", "32x32b", wide, wide, "%r86") + WAIT_LD
        body += f" mul.wide.u32 %rd20, %r0, {4 * columns};\n add.s64 %rd21, %rd1, %rd20;\n"
        body += "".join(f" st.global.b32 [%rd21+{4 * (first + i)}], %r{100 + i};\n" for i in range(wide))
    old, new = f", {COLUMNS};", f", {ALL_COLUMNS};"
    text = two(BEGIN).replace(old, new) + CLUSTER + body + CLUSTER + two(END).replace(old, new)
    outcome = launch(text, {"i": images, "o": out}, threads=128, shared=32832, cluster=2)
    assert outcome.kinds == []
    left, right = (x.astype(np.float64) * ue8m0(s[:, at])[:, None] for x, s, at in ((a, sfa, 1), (b, sfb, 2)))
    expected = left @ right.T
    for rank in (0, 1):
        rows = np.split(expected, 2)[rank]
        np.testing.assert_array_equal(out[rank], rows if m == 256 else np.concatenate(np.split(rows, 2, axis=1)))
