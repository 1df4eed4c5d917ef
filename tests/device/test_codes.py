"""Numbers of 8 bits and fewer, scales and packed bytes: coded as their formats say, and held as kernels read them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from warpwright.device import held
from warpwright.device.codes import TABLED
from warpwright.device.xp import NumpyXp
from warpwright.dtypes import dtype
from warpwright.plan.types import Argument

XP = NumpyXp()
KINDS: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "ue8m0": ml_dtypes.float8_e8m0fnu,
    "ue4m3": ml_dtypes.float8_e4m3fn,
}
SCALES = Argument("sfa", "tensor", "ue8m0", ("L", "M/128", "K/128", "512"), "512")
PAIRS = Argument("b", "tensor", "e2m1", ("L", "K", "N"), "K")


@pytest.mark.parametrize("name", TABLED)
def test_every_code_means_what_its_format_says(name: str) -> None:
    codes = np.arange(1 << dtype(name).bits, dtype=np.uint8)
    want = codes.view(KINDS[name]).astype(np.float64)
    if name == "ue4m3":
        codes, want = codes[:128], want[:128]
    np.testing.assert_array_equal(XP.decode(codes.view(np.int8), name), want)
    kept = ~np.isnan(want)
    np.testing.assert_array_equal(XP.encode(want[kept], name).view(np.uint8), codes[kept], "and back")


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m1"])
def test_numbers_are_rounded_to_nearest_even(name: str) -> None:
    """All of f16, which has every number of these formats, what is between two of them, and what is beyond."""
    numbers = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float64)
    numbers = numbers[~np.isnan(numbers)] if name == "e2m1" else numbers
    got = XP.decode(XP.encode(numbers, name), name)
    with np.errstate(invalid="ignore", over="ignore"):
        want = numbers.astype(np.float32).astype(KINDS[name]).astype(np.float64)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(numbers[want == 0]))


@pytest.mark.parametrize(("name", "low", "high"), [("i8", -128, 127), ("i32", -(2**31), 2**31 - 1)])
def test_integers_are_rounded_and_end_with_their_range(name: str, low: int, high: int) -> None:
    numbers = np.array([-1e30, low - 1, low, -2.5, -1.5, -0.0, 0.4, 0.6, high, high + 1, 1e30])
    want = np.array([low, low, low, -2, -2, 0, 0, 1, high, high, high])
    bits = XP.encode(numbers, name)
    assert bits.dtype == np.dtype(f"int{dtype(name).bits}")
    np.testing.assert_array_equal(XP.decode(bits, name), want)


def test_tf32_keeps_ten_bits() -> None:
    word = np.array([0x3F800FFF, 0x3F801000, 0x3F801001, 0x3F803000, 0xBF801001, 0x7F800000, 0x3F7FFFFF], np.uint32)
    want = np.array([0x3F800000, 0x3F800000, 0x3F802000, 0x3F804000, 0xBF802000, 0x7F800000, 0x3F800000], np.uint32)
    bits = XP.encode(word.view(np.float32), "tf32")
    np.testing.assert_array_equal(bits.view(np.uint32), want)
    np.testing.assert_array_equal(XP.decode(bits, "tf32"), want.view(np.float32).astype(np.float64))


@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (128, 4), (130, 9), (300, 5)])
def test_scales_lie_in_atoms_as_the_format_says(rows: int, blocks: int) -> None:
    """Byte 16 (r % 32) + 4 (r // 32) + j of an atom, atoms along K behind one another."""
    scales = np.random.default_rng(1).integers(1, 120, (2, rows, blocks)).astype(np.int8)
    held_as = held.atoms(XP, scales, 77)
    assert held_as.shape == (2, -(-rows // 128), -(-blocks // 4), 512)
    for batch in range(2):
        for row in range(held_as.shape[1] * 128):
            for block in range(held_as.shape[2] * 4):
                byte = 16 * (row % 32) + 4 * (row % 128 // 32) + block % 4
                inside = scales[batch, row, block] if row < rows and block < blocks else 0 if block >= blocks else 77
                assert held_as[batch, row // 128, block // 4, byte] == inside
    got = held.numbers(XP, SCALES, held_as, {"M": slice(rows // 2, rows), "K": slice(0, 1)})[:, :, :blocks]
    np.testing.assert_array_equal(got, XP.decode(scales[:, rows // 2 :], "ue8m0"))
    assert held.modes_of(SCALES) == ("L", "M", "K/32")


def test_two_numbers_share_a_byte_the_first_one_below() -> None:
    codes = np.random.default_rng(2).integers(0, 16, (2, 6, 5)).astype(np.int8)
    held_as = held.packed(XP, PAIRS, codes)
    assert held_as.shape == (2, 3, 5) == held.held_shape(PAIRS, codes.shape)
    np.testing.assert_array_equal(
        held_as.view(np.uint8)[:, 1, 3], codes.astype(int)[:, 2, 3] + 16 * codes.astype(int)[:, 3, 3]
    )
    got = held.numbers(XP, PAIRS, held_as, {"N": slice(1, 4)})
    np.testing.assert_array_equal(got, XP.decode(codes, "e2m1")[:, :, 1:4])
    assert held.held_strides(PAIRS, (960, 1, 32)) == (480, 1, 16)
    assert held.elements_of(PAIRS, (2, 3, 5)) == (2, 6, 5)
    with pytest.raises(ValueError, match="7 elements of e2m1 are no whole bytes"):
        held.held_shape(PAIRS, (2, 7, 5))


@pytest.mark.parametrize("name", [*TABLED, "tf32", "i8", "i32"])
def test_torch_codes_as_numpy_does(name: str) -> None:
    torch = pytest.importorskip("torch")
    from warpwright.device.xp import TorchXp

    other, rng = TorchXp("cpu"), np.random.default_rng(3)
    numbers = (rng.standard_normal(5000) * np.exp2(rng.integers(-14, 14, 5000))).astype(np.float32)
    numbers[:2] = np.inf, -0.0
    numbers = np.abs(numbers) if name.startswith("u") else numbers
    bits = XP.encode(numbers, name)
    np.testing.assert_array_equal(other.encode(torch.tensor(numbers), name).numpy(), bits)
    np.testing.assert_array_equal(other.decode(torch.tensor(bits), name).numpy(), XP.decode(bits, name))


def test_torch_holds_atoms_and_pairs_as_numpy_does() -> None:
    torch = pytest.importorskip("torch")
    from warpwright.device.xp import TorchXp

    other, codes = TorchXp("cpu"), np.random.default_rng(4).integers(0, 16, (2, 130, 6)).astype(np.int8)
    for there, here in (
        (held.atoms(other, torch.tensor(codes), 77), held.atoms(XP, codes, 77)),
        (held.packed(other, PAIRS, torch.tensor(codes)), held.packed(XP, PAIRS, codes)),
    ):
        np.testing.assert_array_equal(there.numpy(), here)
    scales, pairs = held.atoms(XP, codes, 77), held.packed(XP, PAIRS, codes)
    for argument, bits, chosen in ((SCALES, scales, {"M": slice(3, 129)}), (PAIRS, pairs, {"N": slice(1, 4)})):
        there = held.numbers(other, argument, torch.tensor(bits), chosen)
        np.testing.assert_array_equal(there.numpy(), held.numbers(XP, argument, bits, chosen))


@pytest.mark.parametrize("name", TABLED)
def test_numbers_of_few_bits_are_coded_like_others(name: str) -> None:
    """Those are looked up, where all are of that kind."""
    few = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    few = few[~np.isnan(few)] if name == "e2m1" else few
    one_by_one = np.concatenate([XP.encode(np.append(part, np.float32(1 / 3)), name)[:-1] for part in np.split(few, 2)])
    np.testing.assert_array_equal(XP.encode(few, name), one_by_one)
