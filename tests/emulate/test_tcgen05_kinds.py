"""tcgen05.mma of integers and of every pair of small floats, masks of output lanes, and the divisor of D.

Expected values: PTX ISA, "Instruction descriptor" (formats), "Packing formats" (sixteen elements of 4 or 6 bits in 16
bytes of shared memory), "Matrix shape", and `tcgen05.mma` (disable-output-lane, scale-input-d).
"""

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
A, B = (descriptor(at, 16, 1024, 2) for at in (A_AT, B_AT))
#: name: code in the instruction descriptor, dtype, bits.
SMALL: dict[str, tuple[int, Any, int]] = {
    "e4m3": (0, ml_dtypes.float8_e4m3fn, 8), "e5m2": (1, ml_dtypes.float8_e5m2, 8),
    "e2m3": (3, ml_dtypes.float6_e2m3fn, 6), "e3m2": (4, ml_dtypes.float6_e3m2fn, 6),
    "e2m1": (5, ml_dtypes.float4_e2m1fn, 4),
}  # fmt: skip


def random_codes(rng: Any, rows: int, kind: str, k: int = 32) -> Any:
    """Encodings of finite values of a small format."""
    _, dtype, bits = SMALL[kind]
    codes = rng.integers(0, 1 << bits, (rows, k)).astype(np.uint8)
    return np.where(np.isfinite(codes.view(dtype).astype(np.float32)), codes, 0).astype(np.uint8)


def padded(codes: Any, bits: int) -> Any:
    """(rows, K) bytes: sixteen elements side by side, low bits first, and padding (here ones) up to 16 bytes."""
    rows, k = codes.shape
    stream = (codes.reshape(rows, k // 16, 16, 1) >> np.arange(bits)) & 1
    packed = np.packbits(stream.reshape(rows, k // 16, -1), axis=-1, bitorder="little")
    found = np.full((rows, k // 16, 16), 0xFF, np.uint8)
    found[..., : 2 * bits] = packed
    return found.reshape(rows, k)


def image_of(*matrices: Any) -> Any:
    """Shared memory with rows of 32 bytes, K-major, swizzled by 128 bytes."""
    image = np.zeros(32768, np.uint8)
    for at, matrix in zip((A_AT, B_AT), matrices, strict=True):
        place(image, at, matrix, lambda r, c: r % 8 * 128 + r // 8 * 1024 + c, 7)
    return image


@pytest.mark.parametrize("b_kind", SMALL)
@pytest.mark.parametrize("a_kind", SMALL)
def test_every_pair_of_small_floats(a_kind: str, b_kind: str) -> None:
    rng = np.random.default_rng(len(a_kind + b_kind))
    a, b = (random_codes(rng, rows, kind) for rows, kind in ((128, a_kind), (16, b_kind)))
    image = image_of(padded(a, SMALL[a_kind][2]), padded(b, SMALL[b_kind][2]))
    idesc = instruction(128, 16, a=SMALL[a_kind][0], b=SMALL[b_kind][0])
    outcome, out = product(image, A, B, idesc, 16, CLEAR + mma(kind="f8f6f4"))
    assert outcome.kinds == []
    left, right = (x.view(SMALL[kind][1]).astype(np.float64) for x, kind in ((a, a_kind), (b, b_kind)))
    assert (abs(out.view(np.float32) - left @ right.T) <= 1e-6 * (abs(left) @ abs(right).T)).all()


@pytest.mark.parametrize("kind", ["e2m1", "e2m3", "e5m2"])
def test_small_floats_that_are_not_k_major(kind: str) -> None:
    """Sixteen elements along M or N in 16 bytes; 128 of them beside each other, eight k in a block."""
    rng = np.random.default_rng(4)
    code, dtype, bits = SMALL[kind]
    a, b = (random_codes(rng, 128, kind) for _ in range(2))
    image = np.zeros(32768, np.uint8)
    for at, codes in ((A_AT, a), (B_AT, b)):
        place(image, at, padded(np.ascontiguousarray(codes.T), bits), lambda k, c: k % 8 * 128 + k // 8 * 1024 + c, 7)
    first, second = (descriptor(at, 4096, 1024, 2) for at in (A_AT, B_AT))
    idesc = instruction(128, 128, a=code, b=code, mn=1)
    outcome, out = product(image, first, second, idesc, 128, CLEAR + mma(kind="f8f6f4"))
    assert outcome.kinds == []
    left, right = (x.view(dtype).astype(np.float64) for x in (a, b))
    assert (abs(out.view(np.float32) - left @ right.T) <= 1e-6 * (abs(left) @ abs(right).T)).all()


def test_a_of_small_floats_in_tensor_memory() -> None:
    """One element a byte: e2m1 in its middle four bits, the others in the lower six."""
    rng = np.random.default_rng(0)
    for kind, shift in (("e2m1", 2), ("e3m2", 0), ("e2m3", 0)):
        code, dtype, _ = SMALL[kind]
        a, b = random_codes(rng, 128, kind), random_codes(rng, 16, "e4m3")
        out = np.zeros((128, 16), np.uint32)
        rows = np.ascontiguousarray(a << shift).view(np.uint32)
        body = setup(A, B, instruction(128, 16, a=code)) + from_global(8, "%rd2", 200) + " add.s32 %r92, %r4, 64;\n"
        body += move("st", "32x32b", 8, 8, "%r92", 200) + WAIT_ST + SYNC + " add.s32 %r93, %r3, 64;\n"
        body += single(1, CLEAR + mma(a="[%r93]", kind="f8f6f4") + COMMIT, "ISSUED") + WAIT + AFTER
        body += move("ld", "32x32b", 16, 16) + WAIT_LD + to_global(16, "%rd1")
        outcome = run(body, {"i": image_of(a, b), "o": out, "a": rows})
        assert outcome.kinds == []
        expected = a.view(dtype).astype(np.float64) @ b.view(SMALL["e4m3"][1]).astype(np.float64).T
        np.testing.assert_allclose(out.view(np.float32), expected, rtol=1e-5, atol=1e-3)


def integers(signed_a: bool, signed_b: bool, saturate: bool = False, m: int = 128, n: int = 16) -> int:
    """D is s32 (2 in bits 4 and 5); 1 is signed; bit 3 saturates."""
    return instruction(m, n, d=2, a=int(signed_a), b=int(signed_b)) | saturate << 3


@pytest.mark.parametrize("m", [64, 128])
@pytest.mark.parametrize("signed", [(False, False), (True, True), (True, False), (False, True)])
def test_integers(signed: tuple[bool, bool], m: int) -> None:
    rng = np.random.default_rng(m)
    a, b = (rng.integers(0, 256, (rows, 32)).astype(np.uint8) for rows in (m, 16))
    outcome, out = product(
        image_of(a, b), A, B, integers(*signed, m=m), 16, CLEAR + mma(kind="i8") + KEEP + mma(kind="i8")
    )
    assert outcome.kinds == ([] if m == 128 else ["uninitialised-read"])  # of lanes 16 to 31 of each quarter
    left, right = (x.view(np.int8 if s else np.uint8).astype(np.int64) for x, s in zip((a, b), signed, strict=True))
    found = out.view(np.int32)
    if m == 64:
        found = found.reshape(4, 32, 16)[:, :16].reshape(64, 16)
    np.testing.assert_array_equal(found, 2 * (left @ right.T))


@pytest.mark.parametrize("saturate", [False, True])
def test_sums_of_integers_wrap_or_saturate(saturate: bool) -> None:
    """D begins at the greatest and the least s32."""
    a = np.full((128, 32), 127, np.uint8)
    a[64:] = 128  # -128
    b = np.full((16, 32), 127, np.uint8)
    start = np.full((128, 16), 2**31 - 1, np.int32)
    start[64:] = -(2**31)
    out = np.zeros((128, 16), np.uint32)
    body = setup(A, B, integers(True, True, saturate)) + from_global(16, "%rd2", 200)
    body += move("st", "32x32b", 16, 16, first=200) + WAIT_ST + SYNC
    body += single(1, KEEP + mma(kind="i8") + COMMIT, "ISSUED") + WAIT + AFTER
    body += move("ld", "32x32b", 16, 16) + WAIT_LD + to_global(16, "%rd1")
    outcome = run(body, {"i": image_of(a, b), "o": out, "d": start.view(np.uint32)})
    assert outcome.kinds == []
    exact = start.astype(np.int64) + a.view(np.int8).astype(np.int64) @ b.view(np.int8).astype(np.int64).T
    wrapped = (exact + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(out.view(np.int32), start if saturate else wrapped)


F16 = instruction(128, 16)


def halves() -> tuple[Any, Any]:
    """An image, and the product of what it holds: small integers of 16 bits."""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (128, 16))
    return image_of(*(x.view(np.uint8).reshape(-1, 32) for x in (a, b))), a.astype(np.float32) @ b.astype(np.float32).T


def test_disabled_lanes_keep_what_they_hold() -> None:
    """Bit b of word w stands for lane 32 w + b."""
    image, expected = halves()
    words = (0x80000001, 0, 0xFFFF0000, 0x12345678)
    masks = "".join(f" mov.b32 %r{80 + i}, {word};\n" for i, word in enumerate(words))
    masked = mma().replace("%p9;", "{%r80, %r81, %r82, %r83}, %p9;")
    outcome, out = product(image, A, B, F16, 16, masks + CLEAR + mma() + KEEP + masked)
    assert outcome.kinds == []
    off = np.array([words[lane // 32] >> lane % 32 & 1 for lane in range(128)], bool)
    np.testing.assert_array_equal(out.view(np.float32), np.where(off[:, None], expected, 2 * expected))


def test_lanes_that_are_disabled_are_not_written() -> None:
    """So the load of a band of lanes that are all off is one of what nothing wrote."""
    image, _ = halves()
    masked = " mov.b32 %r80, -1;\n mov.b32 %r81, 0;\n" + CLEAR
    masked += mma().replace("%p9;", "{%r81, %r81, %r80, %r81}, %p9;")
    outcome, _ = product(image, A, B, F16, 16, masked)
    assert set(outcome.kinds) == {"uninitialised-read"}
    assert "lanes 64..79" in outcome.message("uninitialised-read")
    few = masked.replace("{%r81, %r81, %r80, %r81}", "{%r81, %r81}")
    assert "4" in product(image, A, B, F16, 16, few)[0].message("tcgen05")


@pytest.mark.parametrize("power", [0, 1, 15])
def test_d_is_divided_by_a_power_of_two(power: int) -> None:
    image, expected = halves()
    outcome, out = product(image, A, B, F16, 16, CLEAR + mma() + KEEP + mma().replace("%p9;", f"%p9, {power};"))
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), expected * np.float32(1 + 2.0**-power))


@pytest.mark.parametrize(
    ("kind", "idesc", "what"),
    [
        ("f16", instruction(128, 16, a=2), "2 is no format of A"),
        ("f16", instruction(128, 16, b=7), "7 is no format of B"),
        ("f16", instruction(128, 16, d=2), "2 is no format of D"),
        ("f16", instruction(128, 16, d=0, a=1), "sums of bf16 are f32"),
        ("tf32", instruction(128, 16, d=0, a=2, b=2), "0 is no format of D"),
        ("f16", instruction(128, 16) | 1 << 6, "bits 0x40 are to be 0"),
        ("f16", instruction(128, 16) | 1 << 3, "bits 0x8 are to be 0"),
        ("i8", integers(True, True, n=40), "N = 40 is no multiple of 16"),
        ("i8", integers(True, True) | 1 << 13, "bits 0x2000 are to be 0"),
        ("i8", instruction(128, 16, d=1), "1 is no format of D"),
        ("f8f6f4", instruction(128, 16, a=2), "2 is no format of A"),
        ("mxf4", 1 << 7 | 1 << 10 | 1 << 15 | 16 >> 3 << 17 | 1 << 23 | 1 << 27, "bits 0x8000 are to be 0"),
        ("f8f6f4", instruction(128, 24, mn=1), "N = 24 is no multiple of 16"),
    ],
)
def test_illegal_instruction_descriptors(kind: str, idesc: int, what: str) -> None:
    issue = CLEAR + mma(kind=kind).replace("%p9;", "[%r3], [%r3], %p9;" if "mx" in kind else "%p9;")
    outcome, _ = product(halves()[0], A, B, idesc, 16, issue)
    assert what in outcome.message("tcgen05")


def test_tf32_that_is_not_k_major_has_a_swizzle_of_its_own() -> None:
    """Parts of 32 bytes (mode 1): 32 elements of M or N beside each other, four k in a block, blocks SBO apart.

    Bits 5 and 6 of the address ^= bits 7 and 8 (PTX ISA, "Layout for swizzle atoms", and the canonical layout
    Swizzle<2,5,2> o ((T,8,m),(4,k)):((1,T,LBO),(8T,SBO)) of CUTLASS).
    """
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-4, 5, (rows, 8)).astype(np.float32) for rows in (128, 64))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        for (r, k), value in np.ndenumerate(matrix):
            address = 1024 + at + r % 32 * 4 + r // 32 * 1024 + k % 4 * 128 + k // 4 * 512
            address ^= (address >> 7 & 3) << 5
            image[address - 1024 : address - 1020] = np.frombuffer(value.tobytes(), np.uint8)
    first, second = (descriptor(at, 1024, 512, 1) for at in (A_AT, B_AT))
    idesc = instruction(128, 64, a=2, b=2, mn=1)
    outcome, out = product(image, first, second, idesc, 64, CLEAR + mma(kind="tf32"))
    assert outcome.kinds == []
    np.testing.assert_array_equal(out.view(np.float32), a @ b.T)
    outcome, _ = product(image, A, second, idesc, 64, CLEAR + mma(kind="tf32"))
    assert "parts of 32 bytes" in outcome.message("tcgen05")


def test_half_the_lanes_twice() -> None:
    """16x32bx2: threads 16 and up have the same lanes as the others, in columns that an immediate is further on."""
    memory = np.arange(128 * 64, dtype=np.uint32).reshape(128, 64)
    out, again = np.zeros((128, 4), np.uint32), np.zeros((128, 4), np.uint32)
    fill = from_global(64, "%rd0", 200) + move("st", "32x32b", 64, 64, first=200) + WAIT_ST
    load = " tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {%r100, %r101, %r102, %r103}, [%r4], 40;\n" + WAIT_LD
    outcome = run(fill + load + to_global(4, "%rd1"), {"i": memory, "o": out})
    assert outcome.kinds == []
    for thread in range(128):
        lane = thread // 32 * 32 + thread % 16
        column = 40 if thread % 32 > 15 else 0
        np.testing.assert_array_equal(out[thread], memory[lane, column : column + 4])
    store = " tcgen05.st.sync.aligned.16x32bx2.x4.b32 [%r4], 40, {%r100, %r101, %r102, %r103};\n" + WAIT_ST
    body = fill + from_global(4, "%rd1") + store + load + to_global(4, "%rd2")
    assert run(body, {"i": memory, "o": out + 7, "a": again}).kinds == []
    np.testing.assert_array_equal(again, out + 7)
