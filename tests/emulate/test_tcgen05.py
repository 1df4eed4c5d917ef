"""tcgen05: where registers, lanes and columns meet, operand layouts, formats, and where the sums lie."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .tensor_kit import (
    AFTER,
    COMMIT,
    SYNC,
    WAIT,
    WAIT_LD,
    WAIT_ST,
    descriptor,
    from_global,
    instruction,
    mma,
    move,
    product,
    run,
    setup,
    single,
    to_global,
)
from .test_wgmma import place

KEEP, CLEAR = " setp.eq.b32 %p9, 0, 0;\n", " setp.ne.b32 %p9, 0, 0;\n"
A_AT, B_AT = 0, 16384


def lane_and_column(shape: str, thread: int, register: int) -> tuple[int, int]:
    """PTX ISA, "Data movement shape": the place of a thread's register, from the figure of each shape."""
    if shape == "32x32b":
        return thread, register
    if shape == "16x64b":
        return thread // 4 + 8 * (thread % 2), thread // 2 % 2 + 2 * register
    if shape == "16x128b":
        return thread // 4 + 8 * (register % 2), thread % 4 + 4 * (register // 2)
    return thread // 4 + 8 * (register // 2 % 2), 2 * (thread % 4) + register % 2 + 8 * (register // 4)


SHAPES = [("32x32b", 1), ("16x64b", 1), ("16x128b", 2), ("16x256b", 4)]


@pytest.mark.parametrize("repeat", [1, 2, 8])
@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_a_load_finds_what_was_stored_row_by_row(shape: str, count: int, repeat: int) -> None:
    count *= repeat
    memory = np.arange(128 * 64, dtype=np.uint32).reshape(128, 64)
    out = np.zeros((128, count), np.uint32)
    body = from_global(64, "%rd0", 200) + move("st", "32x32b", 64, 64, first=200) + WAIT_ST
    half = "" if shape == "32x32b" else " add.s32 %r4, %r4, 1048576;\n"  # lane 16 of the quarter
    body += half + move("ld", shape, repeat, count) + WAIT_LD + to_global(count, "%rd1")
    outcome = run(body, {"i": memory, "o": out})
    assert outcome.kinds == []
    for thread in range(128):
        for register in range(count):
            lane, column = lane_and_column(shape, thread % 32, register)
            lane += thread // 32 * 32 + (16 if half else 0)
            assert out[thread, register] == memory[lane, column]


@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_a_store_and_a_load_of_one_shape_are_inverse(shape: str, count: int) -> None:
    values = np.arange(128 * count, dtype=np.uint32).reshape(128, count)
    out = np.zeros_like(values)
    body = from_global(count, "%rd0") + move("st", shape, 1, count) + WAIT_ST
    body += move("ld", shape, 1, count, first=200) + WAIT_LD + to_global(count, "%rd1", 200)
    outcome = run(body, {"i": values, "o": out})
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, values)


def test_halves_are_unpacked_into_two_columns_and_packed_again() -> None:
    values = np.arange(128 * 2, dtype=np.uint32).reshape(128, 2) * 0x10001 + 0x20000
    out, packed = np.zeros((128, 4), np.uint32), np.zeros((128, 2), np.uint32)
    body = from_global(2, "%rd0") + move("st", "32x32b", 2, 2, mode=".unpack::16b") + WAIT_ST
    body += move("ld", "32x32b", 4, 4, first=200) + WAIT_LD + to_global(4, "%rd1", 200)
    body += move("ld", "32x32b", 2, 2, first=300, mode=".pack::16b") + WAIT_LD + to_global(2, "%rd2", 300)
    outcome = run(body, {"i": values, "o": out, "p": packed})
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, values.view(np.uint16).reshape(128, 4))
    np.testing.assert_array_equal(packed, values)


def operands(m: int, n: int, dtype: Any = np.float16, k: int = 16) -> tuple[Any, Any, Any]:
    """A, B and an image of shared memory that holds both K-major with the swizzle of 128 bytes."""
    rng = np.random.default_rng(m + n)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(dtype) for rows in (m, n))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        place(image, at, matrix, lambda r, c: r % 8 * 128 + r // 8 * 1024 + c * np.dtype(dtype).itemsize, 7)
    return a, b, image


SW128_A, SW128_B = (descriptor(at, 16, 1024, 2) for at in (A_AT, B_AT))


def f32(a: Any, b: Any) -> Any:
    return a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("n", [8, 32, 64])
def test_sums_of_128_rows_lie_one_row_a_lane(n: int) -> None:
    a, b, image = operands(128, n)
    outcome, out = product(image, SW128_A, SW128_B, instruction(128, n), n, CLEAR + mma())
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), f32(a, b))


def test_sums_of_64_rows_lie_on_16_lanes_of_each_quarter() -> None:
    """So two accumulators share columns: lane 16 of the address is the other half."""
    a, b, image = operands(64, 32)
    beside = " add.s32 %r93, %r3, 1048576;\n" + mma(d="%r93") + KEEP + mma(d="%r93")
    outcome, out = product(image, SW128_A, SW128_B, instruction(64, 32), 32, CLEAR + mma() + beside)
    assert outcome.kinds == []
    quarters = out.view(np.float32).reshape(4, 2, 16, 32)
    np.testing.assert_array_equal(quarters[:, 0].reshape(64, 32), f32(a, b))
    np.testing.assert_array_equal(quarters[:, 1].reshape(64, 32), 2 * f32(a, b))


# bytes of a span, mode in bits 61-63, XOR mask of the address
LAYOUTS = [(128, 2, 7), (64, 4, 3), (32, 6, 1), (16, 0, 0)]


@pytest.mark.parametrize(("span", "mode", "mask"), LAYOUTS)
def test_k_major_operands(span: int, mode: int, mask: int) -> None:
    rng = np.random.default_rng(span)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (128, 16))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        if mask:
            place(image, at, matrix, lambda r, c: r % 8 * span + r // 8 * 8 * span + c * 2, mask)
        else:
            place(image, at, matrix, lambda r, c: r % 8 * 16 + r // 8 * 256 + c // 8 * 128 + c % 8 * 2, 0)
    lbo, sbo = (16, 8 * span) if mask else (128, 256)
    first, second = (descriptor(at, lbo, sbo, mode) for at in (A_AT, B_AT))
    outcome, out = product(image, first, second, instruction(128, 16), 16, CLEAR + mma())
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), f32(a, b))


def test_m_and_n_major_operands() -> None:
    """Spans of 64 elements side by side, eight k per block (the canonical M/N-major layout with 128 bytes)."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (128, 64))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        place(image, at, matrix, lambda r, k: r % 64 * 2 + r // 64 * 4096 + k % 8 * 128 + k // 8 * 1024, 7)
    first, second = (descriptor(at, 4096, 1024, 2) for at in (A_AT, B_AT))
    outcome, out = product(image, first, second, instruction(128, 64, mn=1), 64, CLEAR + mma())
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), f32(a, b))


@pytest.mark.parametrize(
    ("kind", "dtype", "k", "code"),
    [("f16", ml_dtypes.bfloat16, 16, 1), ("tf32", np.float32, 8, 2), ("f8f6f4", ml_dtypes.float8_e4m3fn, 32, 0),
     ("f8f6f4", ml_dtypes.float8_e5m2, 32, 1)],
)  # fmt: skip
def test_operand_formats(kind: str, dtype: Any, k: int, code: int) -> None:
    a, b, image = operands(128, 16, dtype, k)
    idesc = instruction(128, 16, a=code, b=code)
    outcome, out = product(image, SW128_A, SW128_B, idesc, 16, CLEAR + mma(kind=kind))
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), f32(a, b))


def test_enable_input_d_and_the_sign_of_a() -> None:
    a, b, image = operands(128, 16)
    outcome, out = product(image, SW128_A, SW128_B, instruction(128, 16), 16, CLEAR + mma() + KEEP + mma() + mma())
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), 3 * f32(a, b))
    outcome, out = product(image, SW128_A, SW128_B, instruction(128, 16, negate=1), 16, CLEAR + mma())
    np.testing.assert_array_equal(out.view(np.float32), -f32(a, b))


def test_sums_in_half_precision() -> None:
    a, b, image = operands(128, 16)
    outcome, out = product(image, SW128_A, SW128_B, instruction(128, 16, d=0), 16, CLEAR + mma() + KEEP + mma())
    assert outcome.kinds == []
    np.testing.assert_array_equal((out & 0xFFFF).astype(np.uint16).view(np.float16), (2 * f32(a, b)).astype(np.float16))


@pytest.mark.parametrize("low", [0, 16])
def test_64_rows_of_a_from_tensor_memory(low: int) -> None:
    """They lie on the lanes of their sums (PTX ISA, "Layout F": the same alignment for A and D)."""
    a, b, image = operands(64, 16)
    out = np.zeros((128, 16), np.uint32)
    rows = np.zeros((4, 32, 8), np.uint32)
    rows[:, low : low + 16] = np.ascontiguousarray(a).view(np.uint32).reshape(4, 16, 8)
    body = setup(SW128_A, SW128_B, instruction(64, 16)) + from_global(8, "%rd2", 200) + " add.s32 %r92, %r4, 64;\n"
    body += move("st", "32x32b", 8, 8, "%r92", 200) + move("st", "32x32b", 8, 8) + WAIT_ST + SYNC
    body += f" add.s32 %r93, %r3, {64 + (low << 16)};\n add.s32 %r94, %r3, {low << 16};\n"
    issue = CLEAR + mma(d="%r94", a="[%r93]") + COMMIT
    end = WAIT + AFTER + move("ld", "32x32b", 16, 16) + WAIT_LD + to_global(16, "%rd1")
    outcome = run(body + single(1, issue, "ISSUED") + end, {"i": image, "o": out, "a": rows})
    assert set(outcome.kinds) == {"uninitialised-read"}  # the other lanes have no sums
    found = out.view(np.float32).reshape(4, 32, 16)[:, low : low + 16]
    np.testing.assert_array_equal(found.reshape(64, 16), f32(a, b))
    apart = issue.replace("[%r94]", "[%r3]" if low else "[%r95]").replace(
        CLEAR, f"{CLEAR} add.s32 %r95, %r3, 1048576;\n"
    )
    other = run(body + single(1, apart, "ISSUED") + end, {"i": image, "o": out, "a": rows})
    assert "and so must A" in other.message("tcgen05")


def test_a_from_tensor_memory() -> None:
    """A row of 16 halves is eight columns of its lane."""
    a, b, image = operands(128, 16)
    out = np.zeros((128, 16), np.uint32)
    rows = np.ascontiguousarray(a).view(np.uint32)
    body = setup(SW128_A, SW128_B, instruction(128, 16)) + from_global(8, "%rd2", 200) + " add.s32 %r92, %r4, 64;\n"
    body += move("st", "32x32b", 8, 8, "%r92", 200) + WAIT_ST + SYNC + " add.s32 %r93, %r3, 64;\n"
    body += single(1, CLEAR + mma(a="[%r93]") + COMMIT, "ISSUED") + WAIT + AFTER
    body += move("ld", "32x32b", 16, 16) + WAIT_LD + to_global(16, "%rd1")
    outcome = run(body, {"i": image, "o": out, "a": rows})
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), f32(a, b))
