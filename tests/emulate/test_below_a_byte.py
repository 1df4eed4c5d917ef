"""Tensor copies of elements of 4 and 6 bits: packed, and sixteen of them in 16 bytes of shared memory.

PTX ISA, "Sub-byte Types" (.b4x16, .b4x16_p64, .b6x16_p32) and "Restriction on Tensor Copy instructions". An mbarrier
counts the bytes without padding: CUTLASS and the DSL expect bits of the element times elements of the box.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import EmulatorError, TensorMap
from warpwright.emulate.units.tma.encoding import decode

from .map_kit import encoded
from .ptx_kit import Outcome, launch
from .test_tma import DUMP, LOAD

ROWS, BOX_ROWS = 12, 8


def source(row: int) -> Any:
    return np.random.default_rng(row).integers(0, 256, (ROWS, row)).astype(np.uint8)


def load(kind: str, row: int, extent: int, box: int, x: int, y: int, swizzle: Any = "none", count: int = 0) -> Any:
    """(outcome, rows of shared memory) of a box; `row`: bytes of one in global memory, `extent`: elements in it."""
    bits = 6 if kind == "u6.p32" else 4
    size = box * BOX_ROWS * (8 if kind[-3:-2] == "p" else bits) // 8
    out = np.zeros(size, np.uint8)
    expected = count or box * BOX_ROWS * bits // 8
    text = LOAD.format(bar=16384, bytes=expected, x=x, y=y, at=0) + DUMP.format(out=1, at=0, bytes=size)

    def tensor(a: dict[str, int]) -> bytes:
        made = TensorMap(a["s"], (extent, ROWS), (row,), (box, BOX_ROWS), 0, swizzle, type=kind)
        assert decode(encoded(made)) == made
        return encoded(made)

    outcome = launch(text, {"s": source(row), "o": out}, maps=[tensor], shared=20000)
    return outcome, out.reshape(BOX_ROWS, -1)


def window(row: int, inside: int, first: int, size: int, y: int) -> Any:
    """`size` bytes of each row of the box from byte `first` on, zero where there is no tensor."""
    wide = np.zeros((ROWS + 200, row + 1000), np.uint8)
    wide[100 : 100 + ROWS, 500 : 500 + inside] = source(row)[:, :inside]
    return wide[100 + y : 100 + y + BOX_ROWS, 500 + first : 500 + first + size]


@pytest.mark.parametrize("place", [(0, 0), (64, 2), (-32, -3), (160, 9), (400, 0)])
def test_packed_elements_are_copied_as_they_are(place: tuple[int, int]) -> None:
    """200 elements, 100 bytes, in rows of 112."""
    x, y = place
    outcome, out = load("u4", 112, 200, 128, x, y)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, window(112, 100, x // 2, 64, y))


def test_packed_elements_are_swizzled_by_their_bytes() -> None:
    outcome, out = load("u4", 128, 256, 256, 0, 0, "128B")
    assert outcome.kinds == []
    chunks = out.reshape(BOX_ROWS, 8, 16)
    for r in range(BOX_ROWS):
        for c in range(8):
            np.testing.assert_array_equal(chunks[r, c ^ r], source(128)[r, 16 * c : 16 * c + 16])


@pytest.mark.parametrize(("kind", "bits"), [("u4.p64", 4), ("u6.p32", 6)])
@pytest.mark.parametrize("swizzle", ["none", "128B"])
@pytest.mark.parametrize("place", [(0, 0), (128, 6), (256, 0)])
def test_sixteen_elements_are_padded_to_16_bytes(kind: str, bits: int, swizzle: str, place: tuple[int, int]) -> None:
    x, y = place
    row = 2 * 16 * bits
    outcome, out = load(kind, row, 256, 128, x, y, swizzle)
    assert outcome.kinds == []
    chunks = out.reshape(BOX_ROWS, 8, 16)
    if swizzle != "none":
        chunks = np.stack([chunks[r, np.arange(8) ^ r] for r in range(BOX_ROWS)])
    packed = window(row, row, x * bits // 8, 16 * bits, y).reshape(BOX_ROWS, 8, 2 * bits)
    np.testing.assert_array_equal(chunks[..., : 2 * bits], packed)


def test_an_mbarrier_counts_bytes_without_padding() -> None:
    outcome, _ = load("u4.p64", 128, 256, 128, 0, 0, count=1024)
    assert outcome.kinds == ["deadlock"]
    assert "512 bytes are missing" in outcome.message("deadlock")


def test_the_first_coordinate() -> None:
    assert "a multiple of 128" in load("u4.p64", 128, 256, 128, 64, 0)[0].message("tma")
    assert "a multiple of 2" in load("u4", 128, 256, 64, 1, 0)[0].message("tma")


def stored(kind: str, row: int, box: int) -> tuple[Outcome, Any]:
    """One store at (64, 2) of a box that holds 0, 1, 2 ... in its bytes."""
    d = np.zeros((ROWS, row), np.uint8)
    text = """
 cvt.u16.u32 %rs1, %r0;
 add.s32 %r2, %r1, %r0;
 mov.b32 %r3, 0;
FILL:
 st.shared.b8 [%r2], %rs1;
 add.s32 %r2, %r2, 32;
 add.s16 %rs1, %rs1, 32;
 add.s32 %r3, %r3, 32;
 setp.lt.u32 %p1, %r3, 1024;
 @%p1 bra FILL;
 fence.proxy.async.shared::cta;
 bar.warp.sync -1;
 elect.sync %r5|%p2, -1;
 @!%p2 bra DONE;
 mov.b32 %r6, 64;
 mov.b32 %r7, 2;
 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd50, {%r6, %r7}], [%r1];
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group 0;
DONE:
"""

    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["d"], (2 * row, ROWS), (row,), (box, BOX_ROWS), 0, type=kind)

    return launch(text, {"d": d}, maps=[tensor], shared=4096), d


def test_stores() -> None:
    outcome, d = stored("u4", 112, 64)
    assert outcome.kinds == []
    expected = np.zeros_like(d)
    expected[2:10, 32:64] = np.arange(BOX_ROWS * 32).reshape(BOX_ROWS, 32)
    np.testing.assert_array_equal(d, expected)
    assert "padded in shared memory" in stored("u4.p64", 128, 128)[0].message("tma")


@pytest.mark.parametrize(
    ("kind", "changes", "rule"),
    [
        ("u4", {"extents": (255, 8)}, "whole bytes"),
        ("u4", {"box": (16, 8)}, "an inner box that is a multiple of 16 bytes"),
        ("u4.p64", {"box": (64, 8)}, "an inner box of 128 padded elements"),
        ("u4.p64", {"extents": (192, 8)}, "whole 128 padded elements"),
        ("u6.p32", {"address": 16}, "multiples of 32"),
        ("u6.p32", {"strides": (208,)}, "multiples of 32"),
        ("u6.p32", {"swizzle": "64B"}, "as long as the swizzle span"),
        ("u4", {"fill": "nan"}, "NaN fill"),
        ("u4", {"steps": (1, 2)}, "no traversal strides"),
    ],
)
def test_illegal_maps(kind: str, changes: dict[str, Any], rule: str) -> None:
    fields = {"address": 1024, "extents": (256, 8), "strides": (256,), "box": (128, 8), "element": 0, "type": kind}
    TensorMap(**fields)
    with pytest.raises(EmulatorError, match=rule):
        TensorMap(**fields | changes)
