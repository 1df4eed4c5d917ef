"""Buffers: legal strides, no spare alignment, and guard bands that notice one element out of place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device.plans import make_plan, problem
from warpwright.device import tensors
from warpwright.device import xp as xp_module
from warpwright.device.problem import Problem, listed, shape_of
from warpwright.device.xp import Array, NumpyXp, Xp
from warpwright.dtypes import dtype as described
from warpwright.families import workload
from warpwright.plan.types import Argument, Plan

XP = NumpyXp()
GEMM = workload("gemm")
PLAN = make_plan()
extent = st.integers(0, 20)


def drawn(xp: Xp, argument: Argument, given: Problem, seed: int) -> Array:
    return GEMM.inputs(xp, PLAN, argument, given, seed)


def fill(xp: Xp, buffer: tensors.GuardedBuffer, given: Problem, seed: int = 1) -> None:
    tensors.fill(buffer, given, lambda part: drawn(xp, buffer.argument, part, seed))


@given(
    st.tuples(extent, extent, extent, extent),
    st.sampled_from(["f16", "f32"]),
    st.sampled_from("MN"),
    st.integers(0, 3),
)
def test_layouts_are_legal_and_do_not_overlap(extents, dtype: str, major: str, padding: int) -> None:
    m, n, k, batches = extents
    argument = Argument("d", "tensor", dtype, ("L", "M", "N"), major, role="output")
    given = problem("p", m, n, k, batches, padding=padding)
    buffer = tensors.make_buffer(XP, argument, given)
    inner = argument.shape.index(major)
    assert buffer.strides[inner] == 1
    assert all(s * described(dtype).bytes % 16 == 0 for i, s in enumerate(buffer.strides) if i != inner)
    assert buffer.raw.nbytes == tensors.buffer_bytes(argument, given)
    size = buffer.view.size
    assert (buffer.unwritten(XP), buffer.trespasses(XP)) == (size, 0)
    buffer.view[...] = np.arange(size).reshape(buffer.view.shape)
    assert buffer.unwritten(XP) == 0
    assert np.array_equal(buffer.view.ravel(), np.arange(size))  # no element lies on another
    assert buffer.trespasses(XP) == 0


def test_the_base_has_no_alignment_to_spare() -> None:
    argument = Argument("a", "tensor", "f16", ("L", "M", "K"), "K")
    buffer = tensors.make_buffer(XP, argument, problem("p", 4, 4, 4))
    assert (buffer.start * 2) % 16 == 0
    assert (buffer.start * 2) % 32 == 16
    assert tensors.make_buffer(XP, argument, problem("p", 4, 4, 4), aligned=True).start * 2 % 65536 == 0


@pytest.mark.parametrize("offset", [-1, 6, 8 * 3, -(tensors.GUARD_BYTES // 2)])
def test_one_element_out_of_place_is_noticed(offset: int) -> None:
    argument = Argument("d", "tensor", "f16", ("L", "M", "N"), "N", role="output")
    buffer = tensors.make_buffer(XP, argument, problem("p", 3, 6, 1))
    buffer.view[...] = 1
    buffer.raw[buffer.start + offset] = 0
    assert buffer.trespasses(XP) == 1
    assert buffer.trespass_offset(XP) == offset


def test_operands_do_not_depend_on_the_layout_and_do_on_the_seed() -> None:
    by_k, by_m = (Argument("a", "tensor", "f16", ("L", "M", "K"), major) for major in "KM")
    given = problem("p", 5, 6, 7, 2)
    values = drawn(XP, by_k, given, 1)
    assert np.array_equal(values, drawn(XP, by_m, given, 1))
    assert not np.array_equal(values, drawn(XP, by_k, given, 2))
    buffer = tensors.make_buffer(XP, by_m, given)
    fill(XP, buffer, given)
    assert np.array_equal(buffer.view, values)
    assert buffer.trespasses(XP) == 0


def test_a_large_tile_repeats_a_prime_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "_LARGE", 100)
    monkeypatch.setattr(tensors, "_BLOCK", 60)
    monkeypatch.setattr(tensors, "_PRIMES", (13, 11, 7))
    argument = Argument("c", "tensor", "f16", ("L", "M", "N"), "M")
    buffer = tensors.make_buffer(XP, argument, problem("p", 20, 8, 1))
    fill(XP, buffer, problem("p", 20, 8, 1))
    assert buffer.unwritten(XP) == 0
    assert np.array_equal(buffer.view[:, :7], buffer.view[:, 7:14])
    assert np.array_equal(buffer.view[:, :6], buffer.view[:, 14:])
    assert not np.array_equal(buffer.view[:, 0], buffer.view[:, 1])


def test_nonfinite_operands_have_one_nan_and_both_infinities() -> None:
    a = Argument("a", "tensor", "bf16", ("L", "M", "K"), "K")
    values = XP.decode(drawn(XP, a, problem("p", 9, 4, 5, fill="nonfinite"), 1), "bf16")
    assert (np.isnan(values).sum(), (values == np.inf).sum(), (values == -np.inf).sum()) == (1, 1, 1)


def test_a_large_vector_repeats_a_prime_number_of_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "_LARGE", 100)
    monkeypatch.setattr(tensors, "_BLOCK", 100)
    monkeypatch.setattr(tensors, "_PRIMES", (131, 97, 7))
    given = Problem("p", (("N", 200),))
    buffer = tensors.make_buffer(XP, Argument("x", "tensor", "f32", ("N",), "N"), given)
    fill(XP, buffer, given)
    assert buffer.unwritten(XP) == 0
    assert np.array_equal(buffer.view[:97], buffer.view[97:194])
    assert np.array_equal(buffer.view[:6], buffer.view[194:])


def test_one_dimension_has_guards_and_no_alignment_to_spare() -> None:
    given = Problem("p", (("N", 37),), padding=2)
    argument = Argument("y", "tensor", "bf16", ("N",), "N", role="output")
    buffer = tensors.make_buffer(XP, argument, given)
    assert (buffer.view.shape, buffer.strides) == ((37,), (1,))
    assert buffer.start * 2 % 32 == 16
    buffer.view[...] = 1
    buffer.raw[buffer.start + 37] = 1
    assert (buffer.unwritten(XP), buffer.trespasses(XP), buffer.trespass_offset(XP)) == (0, 1, 37)


def test_a_mode_that_is_a_number_is_its_own_extent() -> None:
    workspace = Argument("partial", "tensor", "f32", ("4", "M"), "M", "workspace")
    assert shape_of(workspace, {"M": 10}) == (4, 10)
    assert tensors.layout(workspace, {"M": 10}) == (12, 1)


@pytest.mark.parametrize("name", ["e4m3", "i8", "i64"])
def test_bits_of_every_whole_size_are_stored(name: str) -> None:
    given = Problem("p", (("N", 100),))
    buffer = tensors.make_buffer(XP, Argument("x", "tensor", name, ("N",), "N"), given)
    assert buffer.raw.itemsize == described(name).bytes
    assert (buffer.unwritten(XP), buffer.trespasses(XP)) == (100, 0)


def test_rows_of_packed_numbers_and_scales_in_atoms_lie_between_guards() -> None:
    given = Problem("p", (("M", 5), ("N", 300), ("K", 70), ("L", 2)), padding=2)
    packed = tensors.make_buffer(XP, Argument("a", "tensor", "e2m1", ("L", "M", "K"), "K"), given)
    assert tuple(packed.view.shape) == (2, 5, 35)
    assert tensors.layout(packed.argument, given.extents, 2)[1:] == (32 * (3 + 2 + 97 % 29), 1), "in elements"
    assert packed.strides[1:] == (16 * (3 + 2 + 97 % 29), 1), "in bytes"
    assert (packed.unwritten(XP), packed.trespasses(XP)) == (350, 0)
    scales = tensors.make_buffer(XP, Argument("s", "tensor", "ue8m0", ("L", "N/128", "K/128", "512"), "512"), given)
    assert tuple(scales.view.shape) == (2, 3, 1, 512)
    assert (scales.unwritten(XP), scales.trespasses(XP)) == (2 * 3 * 512, 0)


def test_a_dtype_that_is_not_coded_yet_is_named() -> None:
    with pytest.raises(ValueError, match="u8: its bits are not read as numbers here, only those of f16, bf16, f32"):
        XP.decode(np.zeros(1, np.int8), "u8")
    with pytest.raises(ValueError, match="i64: its bits"):
        XP.encode(np.zeros(1), "i64")
    with pytest.raises(ValueError, match="x: 7 elements of e2m1 are no whole bytes"):
        tensors.make_buffer(XP, Argument("x", "tensor", "e2m1", ("N",), "N"), Problem("p", (("N", 7),)))
    with pytest.raises(ValueError, match="x: i8 has no NaN"):
        tensors.quiet_nan(Argument("x", "tensor", "i8", ("N",), "N"))


def with_switch(**shape: Any) -> Plan:
    return make_plan(epilogue=("beta_c",), **shape)


def test_standard_problems_follow_tile_cluster_and_ring() -> None:
    plan = with_switch(tile=(128, 256, 64), cluster=(2, 1), stages=4)
    problems = {p.name: p.extents for p in GEMM.problems(plan)}
    assert (problems["odd_tiles"]["M"], problems["odd_tiles"]["N"]) == (3 * 128, 2 * 256)
    assert problems["aligned"]["M"] % (2 * 128) == 0
    assert problems["ragged"]["M"] % 128
    assert problems["ragged"]["N"] % 8
    assert problems["tiny"] == {"M": 1, "N": 8, "K": 8, "L": 1}
    assert problems["k_zero"]["K"] == 0
    assert problems["k_below_ring"]["K"] < 4 * 64 < problems["k_beyond_ring"]["K"]
    assert problems["beyond_2_31"]["M"] * problems["beyond_2_31"]["N"] > 2**31
    assert {p["L"] for p in problems.values()} >= {0, 1, 2, 3}
    zeros = {p.name: p.zero for p in GEMM.problems(plan) if p.zero}
    assert zeros == {"beta_zero": ("beta",)}
    assert "beta_zero" not in {p.name for p in GEMM.problems(make_plan())}
    assert len(problems) == len(GEMM.problems(plan))


def test_only_very_large_outputs_are_sampled() -> None:
    sampled = {p.name: GEMM.sample(PLAN, p) for p in GEMM.problems(PLAN)}
    assert [name for name, sample in sampled.items() if sample is not None] == ["beyond_2_31"]
    assert sampled["beyond_2_31"].mode == "M"


def test_listed_problems_have_the_names_and_the_figures_of_their_file() -> None:
    normal, integer = listed([{"l": 1, "k": 3, "m": 1, "n": 2}], ("M", "N", "K", "L"))
    assert (normal.extents, normal.fill, integer.fill) == ({"M": 1, "N": 2, "K": 3, "L": 1}, "normal", "integer")
    assert integer.figures() == {"name": "1x2x3x1_integer", "m": 1, "n": 2, "k": 3, "l": 1, "fill": "integer"}
    assert listed([{"n": 1 << 30}], ("N",))[0].figures() == {"name": "1073741824", "n": 1 << 30, "fill": "normal"}


def test_work_counts_operations_and_each_byte_once() -> None:
    plan = make_plan(epilogue=("beta_c", {"op": "bias_n", "dtype": "f32"}))
    work = GEMM.work(plan, {"M": 10, "N": 20, "K": 30, "L": 2})
    assert (work.flop, work.rate) == (2 * 10 * 20 * 30 * 2, "TFLOP/s")
    assert work.bytes == 2 * 2 * (10 * 30 + 30 * 20 + 2 * 10 * 20) + 4 * 20
    assert work.speed(1e-6) == pytest.approx(work.flop * 1e-6)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_encoding_rounds_to_nearest_even(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}[dtype]
    values = np.random.default_rng(3).standard_normal(10_000).astype(np.float32) * 1000
    values[:4] = [np.nan, np.inf, -np.inf, 0.0]
    assert np.array_equal(XP.decode(XP.encode(values, dtype), dtype), values.astype(kind).astype(float), equal_nan=True)
    assert described(dtype).poison < 2 ** (described(dtype).bits - 1)


@pytest.mark.parametrize("major", ["M", "N"])
def test_torch_counts_in_chunks_what_numpy_counts_at_once(monkeypatch: pytest.MonkeyPatch, major: str) -> None:
    pytest.importorskip("torch")
    torch_xp = xp_module.TorchXp("cpu")
    monkeypatch.setattr(xp_module, "_CHUNK", 1000)
    argument = Argument("d", "tensor", "bf16", ("L", "M", "N"), major, role="output")
    given = problem("p", 70, 50, 1, 2, padding=1)
    other = tensors.make_buffer(torch_xp, argument, given)
    buffer = tensors.make_buffer(torch_xp, argument, given)
    assert (buffer.unwritten(torch_xp), buffer.trespasses(torch_xp)) == (7000, 0)
    assert torch_xp.same(buffer.view, other.view)
    fill(torch_xp, buffer, given)
    buffer.view[1, 69, 49] = described("bf16").poison
    buffer.raw[buffer.start - 2] = 0
    assert (buffer.unwritten(torch_xp), buffer.trespasses(torch_xp), buffer.trespass_offset(torch_xp)) == (1, 1, -2)
    assert not torch_xp.same(buffer.view, other.view)
    assert torch_xp.checksum(buffer.raw) == XP.checksum(buffer.raw.numpy())
