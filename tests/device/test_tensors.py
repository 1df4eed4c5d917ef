"""Buffers: legal strides, no spare alignment, and guard bands that notice one element out of place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.plans import make_plan
from warpwright.device import tensors
from warpwright.device import xp as xp_module
from warpwright.device.problems import Problem, listed, standard, tiling
from warpwright.device.xp import BYTES, POISON, NumpyXp
from warpwright.plan.types import Argument

XP = NumpyXp()
extent = st.integers(0, 20)


@given(
    st.tuples(extent, extent, extent, extent),
    st.sampled_from(["f16", "f32"]),
    st.sampled_from("MN"),
    st.integers(0, 3),
)
def test_layouts_are_legal_and_do_not_overlap(extents, dtype: str, major: str, padding: int) -> None:
    m, n, k, batches = extents
    argument = Argument("d", "tensor", dtype, ("L", "M", "N"), major, output=True)
    problem = Problem("p", m, n, k, batches, padding=padding)
    buffer = tensors.make_buffer(XP, argument, problem)
    inner = argument.shape.index(major)
    assert buffer.strides[inner] == 1
    assert all(s * BYTES[dtype] % 16 == 0 for i, s in enumerate(buffer.strides) if i != inner)
    assert buffer.raw.nbytes == tensors.buffer_bytes(argument, problem)
    size = buffer.view.size
    assert (buffer.unwritten(XP), buffer.trespasses(XP)) == (size, 0)
    buffer.view[...] = np.arange(size).reshape(buffer.view.shape)
    assert buffer.unwritten(XP) == 0
    assert np.array_equal(buffer.view.ravel(), np.arange(size))  # no element lies on another
    assert buffer.trespasses(XP) == 0


def test_the_base_has_no_alignment_to_spare() -> None:
    argument = Argument("a", "tensor", "f16", ("L", "M", "K"), "K")
    buffer = tensors.make_buffer(XP, argument, Problem("p", 4, 4, 4))
    assert (buffer.start * 2) % 16 == 0
    assert (buffer.start * 2) % 32 == 16
    assert tensors.make_buffer(XP, argument, Problem("p", 4, 4, 4), aligned=True).start * 2 % 65536 == 0


@pytest.mark.parametrize("offset", [-1, 6, 8 * 3, -(tensors.GUARD_BYTES // 2)])
def test_one_element_out_of_place_is_noticed(offset: int) -> None:
    argument = Argument("d", "tensor", "f16", ("L", "M", "N"), "N", output=True)
    buffer = tensors.make_buffer(XP, argument, Problem("p", 3, 6, 1))
    buffer.view[...] = 1
    buffer.raw[buffer.start + offset] = 0
    assert buffer.trespasses(XP) == 1
    assert buffer.trespass_offset(XP) == offset


def test_operands_do_not_depend_on_the_layout_and_do_on_the_seed() -> None:
    by_k, by_m = (Argument("a", "tensor", "f16", ("L", "M", "K"), major) for major in "KM")
    problem = Problem("p", 5, 6, 7, 2)
    values = tensors.operand_values(XP, by_k, problem, 1)
    assert np.array_equal(values, tensors.operand_values(XP, by_m, problem, 1))
    assert not np.array_equal(values, tensors.operand_values(XP, by_k, problem, 2))
    buffer = tensors.make_buffer(XP, by_m, problem)
    tensors.fill(XP, buffer, problem, 1)
    assert np.array_equal(buffer.view, values)
    assert buffer.trespasses(XP) == 0


def test_a_large_tile_repeats_a_prime_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "_LARGE", 100)
    monkeypatch.setattr(tensors, "_BLOCK_ROWS", 7)
    argument = Argument("c", "tensor", "f16", ("L", "M", "N"), "M")
    buffer = tensors.make_buffer(XP, argument, Problem("p", 20, 8, 1))
    tensors.fill(XP, buffer, Problem("p", 20, 8, 1), 1)
    assert buffer.unwritten(XP) == 0
    assert np.array_equal(buffer.view[:, :7], buffer.view[:, 7:14])
    assert np.array_equal(buffer.view[:, :6], buffer.view[:, 14:])
    assert not np.array_equal(buffer.view[:, 0], buffer.view[:, 1])


def test_nonfinite_operands_have_one_nan_and_both_infinities() -> None:
    a = Argument("a", "tensor", "bf16", ("L", "M", "K"), "K")
    values = XP.decode(tensors.operand_values(XP, a, Problem("p", 9, 4, 5, fill="nonfinite"), 1), "bf16")
    assert (np.isnan(values).sum(), (values == np.inf).sum(), (values == -np.inf).sum()) == (1, 1, 1)


def test_standard_problems_follow_tile_cluster_and_ring() -> None:
    plan = make_plan(tile=(128, 256, 64), cluster=(2, 1), stages=4)
    assert tiling(plan).stages == 4
    problems = {p.name: p for p in standard(plan, {"c": "beta"})}
    assert (problems["odd_tiles"].m, problems["odd_tiles"].n) == (3 * 128, 2 * 256)
    assert problems["aligned"].m % (2 * 128) == 0
    assert problems["ragged"].m % 128
    assert problems["ragged"].n % 8
    assert (problems["tiny"].m, problems["tiny"].n, problems["tiny"].k) == (1, 8, 8)
    assert problems["k_zero"].k == 0
    assert problems["k_below_ring"].k < 4 * 64 < problems["k_beyond_ring"].k
    assert problems["beyond_2_31"].m * problems["beyond_2_31"].n > 2**31
    assert problems["beta_zero"].zero == ("beta",)
    assert {p.l for p in problems.values()} >= {0, 1, 2, 3}
    assert "beta_zero" not in {p.name for p in standard(plan, {})}
    assert len(problems) == len(standard(plan, {"c": "beta"}))


def test_listed_problems_default_to_one_batch() -> None:
    normal, integer = listed([{"m": 1, "n": 2, "k": 3}])
    assert (normal.extents(), normal.fill, integer.fill) == ({"M": 1, "N": 2, "K": 3, "L": 1}, "normal", "integer")


@pytest.mark.parametrize("dtype", BYTES)
def test_encoding_rounds_to_nearest_even(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}[dtype]
    values = np.random.default_rng(3).standard_normal(10_000).astype(np.float32) * 1000
    values[:4] = [np.nan, np.inf, -np.inf, 0.0]
    assert np.array_equal(XP.decode(XP.encode(values, dtype), dtype), values.astype(kind).astype(float), equal_nan=True)
    assert POISON[dtype] < 2 ** (8 * BYTES[dtype] - 1)


@pytest.mark.parametrize("major", ["M", "N"])
def test_torch_counts_in_chunks_what_numpy_counts_at_once(monkeypatch: pytest.MonkeyPatch, major: str) -> None:
    pytest.importorskip("torch")
    torch_xp = xp_module.TorchXp("cpu")
    monkeypatch.setattr(xp_module, "_CHUNK", 1000)
    argument = Argument("d", "tensor", "bf16", ("L", "M", "N"), major, output=True)
    problem = Problem("p", 70, 50, 1, 2, padding=1)
    other = tensors.make_buffer(torch_xp, argument, problem)
    buffer = tensors.make_buffer(torch_xp, argument, problem)
    assert (buffer.unwritten(torch_xp), buffer.trespasses(torch_xp)) == (7000, 0)
    assert torch_xp.same(buffer.view, other.view)
    tensors.fill(torch_xp, buffer, problem, 1)
    buffer.view[1, 69, 49] = POISON["bf16"]
    buffer.raw[buffer.start - 2] = 0
    assert (buffer.unwritten(torch_xp), buffer.trespasses(torch_xp), buffer.trespass_offset(torch_xp)) == (1, 1, -2)
    assert not torch_xp.same(buffer.view, other.view)
    assert torch_xp.checksum(buffer.raw) == XP.checksum(buffer.raw.numpy())
