"""A tensor map's bytes: what the driver and the DSL encode is read back, and what no hardware takes is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import EmulatorError, TensorMap
from warpwright.emulate.units.tma.encoding import changed, decode, field
from warpwright.emulate.units.tma.tensor_map import UnsupportedTensorMap

from .map_kit import encoded
from .ptx_kit import Outcome, launch
from .test_tma import DUMP, LOAD, source

#: From cuTensorMapEncodeTiled of driver 580 on an H200: its bytes, and what it was asked for.
DRIVER = [
    ("2000000000000000c0840000e9ca23cf6a8003c7461b00000800000020000000c533000073ea7900d4c43a0009a302000000000052080003"
     "0002030000000000",
     TensorMap(0x20, (13254, 7989876, 3851477, 172810, 1), (55603670672, 190861280928, 111712, 128), (4, 1, 3, 4, 1),
               8, "none", (1, 3, 2, 5, 1), "nan", "f64")),
    ("8001000000000000102406004504c4a60000000000000000000000000000000072158d2ff3684d2f00000000000000000000000000000007"
     "0000000000000000",
     TensorMap(0x180, (797775219, 793602292), (44765824080,), (8, 1), 4, "32B", (), "zero", "f32.ftz")),
    ("6041c01f450c0000200004008e8f5c00cf40ac010000000000000000000000000500000084848a07010000000000000000000000ee00002f"
     "0301000000000000",
     TensorMap(0xC451FC04160, (6, 126518405, 2), (97056992, 449055984), (48, 4, 2), 1, "none", (1, 6, 4), "zero",
               "u8")),
    ("600dfe12010000002084010006000000d800000000000000000000000000000008000000833d45084bb195000000000000000000c4010003"
     "0201000000000000",
     TensorMap(0x112FE0D60, (9, 138755460, 9810252), (96, 3456), (4, 3, 2), 4, "none", (1, 1, 8), "nan", "tf32.ftz")),
    ("0000000001000000204300000001000000410100000000000000000000000000ff000000400100000600000000000000000000000000001f"
     "0700000000000000",
     TensorMap(1 << 32, (256, 321, 7), (4096, 1314816), (32, 8, 1), 2, "64B", (), "zero", "f16")),
    ("0000000001000000206500000001000000410100000000000000000000000000ff000000400100000600000000000000000000000000003f"
     "0700000000000000",
     TensorMap(1 << 32, (256, 321, 7), (4096, 1314816), (64, 8, 1), 2, "128B", (), "zero", "bf16")),
]  # fmt: skip

#: From a host function of the CuTe DSL 4.8.1 for sm_100a, of a tensor of (256, 384) elements: 16 bytes, from the type.
DSL_TAIL = f"{0:032x}7f010000ff000000{0:030x}{{box}}0700000000000000"


def dsl(begin: str, inner: int) -> bytes:
    return bytes.fromhex(f"0000000001000000{begin}" + DSL_TAIL.format(box=f"{inner - 1:02x}"))


@pytest.mark.parametrize(("raw", "meaning"), DRIVER)
def test_what_the_driver_encodes_is_read_back(raw: str, meaning: TensorMap) -> None:
    assert decode(bytes.fromhex(raw)) == meaning


def test_what_lies_behind_the_first_64_bytes_means_nothing() -> None:
    raw, meaning = DRIVER[5]
    assert decode(bytes.fromhex(raw) + b"\x5a" * 64) == meaning
    assert encoded(meaning)[:10] == bytes.fromhex(raw)[:10]
    assert decode(encoded(meaning)) == meaning


@pytest.mark.parametrize("meaning", [meaning for _, meaning in DRIVER])
def test_encoded_maps_of_the_tests_are_what_they_mean(meaning: TensorMap) -> None:
    assert decode(encoded(meaning)) == meaning


def test_the_widest_strides() -> None:
    """Of 40 bits, of which four lie apart from the others."""
    widest = TensorMap(
        16, (8, 2, 2, 2, 2), tuple((1 << 40) - 16 * i for i in range(1, 5)), (8, 1, 1, 1, 1), 2, type="f16"
    )
    assert decode(encoded(widest)) == widest


def test_maps_of_the_dsl() -> None:
    wide = decode(dsl("12632c0040000000", 64))  # of f16, in a layout with the swizzle S<2, 5, 2>
    assert wide == TensorMap(1 << 32, (384, 256), (1024,), (64, 8), 2, "128B/32B", type="f16")
    packed, fours, sixes = (
        decode(dsl(begin, 128)) for begin in ("9205040010000000", "1206040010000000", "9206040018000000")
    )  # of e2m1, as it is and as Int8, and of e3m2 as Int8
    assert (packed.type, packed.extents, packed.box, packed.swizzle) == ("u4", (384, 256), (128, 8), "none")
    assert (packed.strides, packed.bytes, packed.footprint) == ((256,), 512, 512)
    assert (fours.type, fours.strides, fours.bytes, fours.footprint) == ("u4.p64", (256,), 512, 1024)
    assert (sixes.type, sixes.strides, sixes.bytes, sixes.footprint) == ("u6.p32", (384,), 768, 1024)
    rounds = decode(dsl("9203250080000000", 128))  # of f32, as TFloat32
    assert (rounds.type, rounds.box, rounds.strides) == ("tf32", (128, 8), (2048,))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (dsl("12633c0040000000", 64), "a swizzle of 128B in atoms of 64 B"),
        (changed(encoded(DRIVER[5][1]), "atom", 2), "a swizzle of 128B in atoms of 32 B with halves"),
        (changed(encoded(DRIVER[5][1]), "interleave", 1), "interleaved by 16 B"),
        (changed(encoded(DRIVER[5][1]), "interleave", 2), "interleaved by 32 B"),
        # The beginning of what cuTensorMapEncodeIm2col makes of a tensor of f16.
        (bytes.fromhex("0000801008 7f0000 21030000 08000000 48000000") + bytes(108), "im2col"),
    ],
)
def test_what_is_not_emulated_is_named(raw: bytes, why: str) -> None:
    with pytest.raises(UnsupportedTensorMap, match=why):
        decode(raw)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (bytes(32), "32 bytes are no tensor map"),
        (b"\xff" * 128, "8 modes, of 5 at most"),
        (b"\xaa" * 128, "3 modes, and extent and box and stride"),
        (changed(encoded(DRIVER[5][1]), "type", 15), "15 is no element type"),
        (changed(encoded(DRIVER[5][1]), "tf32", 1), "bf16 rounded to tf32"),
        (changed(encoded(DRIVER[5][1]), "extent", 1, 3), "it has 3 modes, and extent of more"),
        (changed(encoded(DRIVER[5][1]), "stride_high", 1, 2), "it has 3 modes, and stride of more"),
        # On an H200: error 716, misaligned address.
        (changed(encoded(DRIVER[5][1]), "address", 8 + (1 << 32)), "a base address that is a multiple of 16"),
        # On an H200: error 715, illegal instruction.
        (changed(encoded(DRIVER[5][1]), "box", 31), "an inner box as long as the swizzle span"),
        (changed(changed(encoded(DRIVER[5][1]), "swizzle", 0), "box", 3), "inner box that is a multiple of 16 bytes"),
        (changed(encoded(DRIVER[2][1]), "fill", 1), "NaN fill for floating-point elements alone"),
    ],
)
def test_what_the_hardware_rejects(raw: bytes, why: str) -> None:
    with pytest.raises(EmulatorError, match=why) as caught:
        decode(raw)
    assert not isinstance(caught.value, UnsupportedTensorMap)


def test_fields_are_read_and_changed_one_by_one() -> None:
    raw = encoded(DRIVER[0][1])
    longer = changed(raw, "extent", 7, 3)
    assert field(longer, "extent", 3) == 7
    assert changed(longer, "extent", field(raw, "extent", 3), 3) == raw


def loaded(what: dict[str, Any], data: Any, x: int, y: int, size: int) -> tuple[Outcome, Any]:
    """`size` bytes of shared memory after a load through a map that only its bytes describe."""
    out = np.zeros(size, np.uint8)
    text = LOAD.format(bar=16384, bytes=size, x=x, y=y, at=0) + DUMP.format(out=1, at=0, bytes=size)
    outcome = launch(
        text, {"s": data, "o": out}, maps=[lambda a: encoded(TensorMap(address=a["s"], **what))], shared=20000
    )
    return outcome, out


F16: dict[str, Any] = {"extents": (80, 24), "strides": (160,), "box": (64, 16), "element": 2, "type": "f16"}


def test_a_parameter_that_nobody_describes_is_what_its_bytes_say() -> None:
    outcome, out = loaded(F16, source(), 8, 4, 2048)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.uint16).reshape(16, 64), source()[4:20, 8:72])


@pytest.mark.parametrize("y", [3, -3, 21])
def test_traversal_strides(y: int) -> None:
    """On an H200: rows y, y + 2, ... whether inside or not, and half as many bytes; along the rows none is left out."""
    outcome, out = loaded({**F16, "box": (64, 8), "steps": (2, 2)}, source(), 0, y, 512)
    assert outcome.kinds == []
    rows = [source()[r, :64] if 0 <= r < 24 else np.zeros(64, np.uint16) for r in range(y, y + 8, 2)]
    np.testing.assert_array_equal(out.view(np.uint16).reshape(4, 64), rows)


def test_bytes_of_traversed_boxes_are_rounded_up() -> None:
    """On an H200: of a box of 8 rows every third one is three."""
    assert TensorMap(address=0, **{**F16, "box": (64, 8), "steps": (1, 3)}).bytes == 384
    outcome, out = loaded({**F16, "box": (64, 10), "steps": (1, 3)}, source(), 0, 5, 512)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.uint16).reshape(4, 64), source()[[5, 8, 11, 14], :64])


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "tf32", "f64"])
def test_nan_fill(kind: str) -> None:
    """On an H200: 0x7ff7 in every 16 bits, of every floating-point type."""
    element = {"f16": 2, "bf16": 2, "f64": 8}.get(kind, 4)
    what = {"extents": (160 // element, 24), "strides": (160,), "box": (128 // element, 16), "element": element}
    outcome, out = loaded({**what, "type": kind, "fill": "nan"}, source(), 144 // element, 20, 2048)
    assert outcome.kinds == []
    expected = np.full((16, 64), 0x7FF7, np.uint16)
    expected[:4, :8] = source()[20:, 72:]
    shown = out.view(np.uint16).reshape(16, 64)
    np.testing.assert_array_equal(shown[4:], expected[4:])
    np.testing.assert_array_equal(shown[:, 8:], expected[:, 8:])
    assert kind == "tf32" or (shown == expected).all()


def test_loads_of_tf32_round() -> None:
    """On an H200, of type TFLOAT32: ties to even, NaN as 0x7fffe000, subnormals like the rest."""
    given = [0x3F801001, 0x3F800FFF, 0x3F801000, 0x3F803000, 1, 0x807FFFFF, 0x7F800001, 0x7FFFFFFF, 0x7F7FFFFF,
             0xFF800000, 0x7FC12345, 0x80000000, 0x3F800777, 0x3F801665]  # fmt: skip
    seen = [0x3F802000, 0x3F800000, 0x3F800000, 0x3F804000, 0, 0x80800000, 0x7FFFE000, 0x7FFFE000, 0x7F800000,
            0xFF800000, 0x7FFFE000, 0x80000000, 0x3F800000, 0x3F802000]  # fmt: skip
    data = np.zeros((24, 40), np.uint32)
    data[0, : len(given)] = given
    what = {"extents": (40, 24), "strides": (160,), "box": (32, 16), "element": 4}
    outcome, out = loaded({**what, "type": "tf32"}, data, 0, 0, 2048)
    assert outcome.kinds == []
    assert out.view(np.uint32)[: len(given)].tolist() == seen
    outcome, out = loaded({**what, "type": "f32.ftz"}, data, 0, 0, 2048)  # and this type as it is
    assert out.view(np.uint32)[: len(given)].tolist() == given


def test_swizzle_of_32_byte_parts() -> None:
    """PTX ISA, "Swizzling modes" with .swizzle_atomicity 32B: S<2, 5, 2> on addresses."""
    outcome, out = loaded({**F16, "swizzle": "128B/32B"}, source(), 8, 4, 2048)
    assert outcome.kinds == []
    plain = source()[4:20, 8:72].reshape(-1, 8)
    stored = out.view(np.uint16).reshape(-1, 8)
    for chunk in range(len(plain)):
        address = 16 * chunk
        moved = address ^ (address >> 7 & 3) << 5
        np.testing.assert_array_equal(stored[moved // 16], plain[chunk])


def test_stores_through_traversal_strides() -> None:
    text = """
 shl.b32 %r3, %r0, 4;
 add.s32 %r4, %r1, %r3;
 st.shared.v4.b32 [%r4], {%r0, %r0, %r0, %r0};
 fence.proxy.async.shared::cta;
 bar.sync 0;
 elect.sync %r5|%p2, -1;
 @!%p2 bra DONE;
 mov.b32 %r6, 4;
 mov.b32 %r7, -1;
 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd50, {%r6, %r7}], [%r1];
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group 0;
DONE:
"""
    out = np.full((12, 16), 99, np.uint32)

    def tensor(a: dict[str, int]) -> bytes:
        return encoded(TensorMap(a["o"], (16, 12), (64,), (8, 16), 4, steps=(1, 2)))

    outcome = launch(text, {"o": out}, maps=[tensor], out=["o"])
    assert outcome.kinds == []
    expected = np.full((12, 16), 99)
    for row, at in enumerate(range(-1, 15, 2)):
        if 0 <= at < 12:
            expected[at, 4:12] = np.repeat([2 * row, 2 * row + 1], 4)
    np.testing.assert_array_equal(out, expected)


def test_what_is_no_map_is_told_where_it_is_used() -> None:
    text = LOAD.format(bar=16384, bytes=2048, x=0, y=0, at=0)
    outcome = launch(text, {"s": source()}, maps=[lambda a: b"\xaa" * 128], shared=20000)
    assert outcome.kinds == ["tma"]
    assert "parameter 1, byte 0: not a tensor map" in outcome.message("tma")
    with pytest.raises(UnsupportedTensorMap, match="interleaved"):
        launch(text, {"s": source()}, shared=20000, maps=[
            lambda a: changed(encoded(TensorMap(address=a["s"], **F16)), "interleave", 1)
        ])  # fmt: skip


def test_a_map_in_global_memory_is_what_its_bytes_say() -> None:
    """A map that is made on the device, or copied to it, as grouped kernels do."""
    text = LOAD.format(bar=16384, bytes=2048, x=8, y=4, at=0).replace("[%rd50,", "[%rd2,")
    text += DUMP.format(out=1, at=0, bytes=2048)
    out = np.zeros(2048, np.uint8)
    # The first buffer lies at 2^32 + 4096.
    raw = np.frombuffer(encoded(TensorMap(address=(1 << 32) + 4096, **F16)), np.uint8).copy()
    outcome = launch(text, {"s": source(), "o": out, "m": raw}, shared=20000)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.uint16).reshape(16, 64), source()[4:20, 8:72])
