"""wgmma: operand layouts, accumulator fragments, and the rules for registers and groups."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .ptx_kit import Outcome, launch

A_AT, B_AT = 0, 16384  # shared offsets of the operands; the image that is loaded has 32 KiB


def registers(n: int) -> str:
    return "{" + ", ".join(f"%r{100 + i}" for i in range(n // 2)) + "}"


def descriptor(at: int, lbo: int, sbo: int, mode: int) -> int:
    """PTX ISA, "Matrix-descriptor format" of wgmma, for an operand at dynamic offset `at` (base 1024)."""
    return (at + 1024) >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | mode << 62


def run_mma(
    image: Any, a: int, b: int, n: int, kind: str = "f16", k: int = 16, extra: str = "", issue: str = "", **options: Any
) -> tuple[Outcome, Any]:
    """Fill shared memory with `image`, run `issue` (one wgmma without it) and return D as (64, n) float32."""
    out = np.zeros((128, n // 2), np.float32)
    zero = "".join(f" mov.b32 %r{100 + i}, 0f3F800000;\n" for i in range(n // 2))
    mma = (
        f" wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{kind}.{kind} {registers(n)}, %rd30, %rd31, %p9, 1, 1{extra};\n"
    )
    body = f"""
 mul.wide.u32 %rd20, %r0, 16;
 add.s64 %rd21, %rd0, %rd20;
 shl.b32 %r5, %r0, 4;
 add.s32 %r5, %r5, %r1;
 mov.b32 %r6, 0;
FILL:
 ld.global.v4.b32 {{%r7, %r8, %r9, %r10}}, [%rd21];
 st.shared.v4.b32 [%r5], {{%r7, %r8, %r9, %r10}};
 add.s64 %rd21, %rd21, 2048;
 add.s32 %r5, %r5, 2048;
 add.s32 %r6, %r6, 1;
 setp.lt.u32 %p1, %r6, 16;
 @%p1 bra FILL;
 fence.proxy.async.shared::cta;
 bar.sync 0;
 mov.b64 %rd30, {a};
 mov.b64 %rd31, {b};
{zero}
{
        issue
        or " setp.ne.b32 %p9, 0, 0;"
        + chr(10)
        + " wgmma.fence.sync.aligned;"
        + chr(10)
        + mma
        + " wgmma.commit_group.sync.aligned;"
        + chr(10)
        + " wgmma.wait_group.sync.aligned 0;"
    }
 mul.wide.u32 %rd20, %r0, {2 * n};
 add.s64 %rd21, %rd1, %rd20;
"""
    body += "".join(f" st.global.b32 [%rd21+{4 * i}], %r{100 + i};\n" for i in range(n // 2))
    body = body.replace("MMA;", mma.strip()).replace("NEG;", mma.strip().replace("1, 1;", "-1, 1;"))
    outcome = launch(body, {"i": image, "o": out}, threads=128, shared=32768, **options)
    # PTX ISA, "Accumulator D": row 16 w + l / 4 + 8 (i / 2 % 2), column 2 (l % 4) + i % 2 + 8 (i / 4)
    d = np.zeros((64, n), np.float32)
    for thread in range(128):
        w, lane = divmod(thread, 32)
        for i in range(n // 2):
            d[16 * w + lane // 4 + 8 * (i // 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i // 4)] = out[thread, i]
    return outcome, d


def place(image: Any, at: int, matrix: Any, offset: Any, mask: int) -> None:
    """Write element (r, c) of `matrix` at byte `offset(r, c)` from `at`, swizzled on the absolute address."""
    for r in range(matrix.shape[0]):
        for c in range(matrix.shape[1]):
            address = 1024 + at + offset(r, c)
            address ^= (address >> 7 & mask) << 4
            image[address - 1024 : address - 1024 + matrix.itemsize] = np.frombuffer(matrix[r, c].tobytes(), np.uint8)


# span in bytes, mode in the descriptor, XOR mask (PTX ISA, "Shared memory matrix layout", K-major)
K_MAJOR = [(128, 1, 7), (64, 2, 3), (32, 3, 1), (16, 0, 0)]


K_BLOCKS = [(*layout, block) for layout in K_MAJOR for block in (0, 1) if not block or layout[0] >= 64]


@pytest.mark.parametrize(("span", "mode", "mask", "k_block"), K_BLOCKS)
def test_k_major_layouts(span: int, mode: int, mask: int, k_block: int) -> None:
    rng = np.random.default_rng(span)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (64, 24))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        if mask:
            place(image, at, matrix, lambda r, c: r % 8 * span + r // 8 * 8 * span + c * 2 + 32 * k_block, mask)
        else:  # core matrices of 8 x 16 bytes, 128 bytes apart along K, 256 along M and N
            place(image, at, matrix, lambda r, c: r % 8 * 16 + r // 8 * 256 + c // 8 * 128 + c % 8 * 2, 0)
    lbo, sbo = (16, 8 * span) if mask else (128, 256)
    first, second = (descriptor(at + 32 * k_block, lbo, sbo, mode) for at in (A_AT, B_AT))
    outcome, d = run_mma(image, first, second, 24)
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize(("span", "mode", "mask"), K_MAJOR)
def test_mn_major_layouts(span: int, mode: int, mask: int) -> None:
    """Spans of M or N elements side by side, eight k per block (the canonical M/N-major layouts of the PTX ISA)."""
    rng = np.random.default_rng(span)
    wide = span // 2
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (64, 64))
    image = np.zeros(32768, np.uint8)
    lbo, sbo = 4096, 8 * span  # between spans; between blocks of eight k
    if not mask:
        lbo, sbo = 2048, 128  # between blocks of eight k; between spans
    for at, matrix in ((A_AT, a), (B_AT, b)):
        far, block = (lbo, sbo) if mask else (sbo, lbo)
        place(image, at, matrix, lambda r, k: r % wide * 2 + r // wide * far + k % 8 * span + k // 8 * block, mask)  # noqa: B023
    outcome, d = run_mma(image, descriptor(A_AT, lbo, sbo, mode), descriptor(B_AT, lbo, sbo, mode), 64, extra=", 1, 1")
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize(
    ("kind", "dtype", "k"),
    [("bf16", ml_dtypes.bfloat16, 16), ("tf32", np.float32, 8), ("e4m3", ml_dtypes.float8_e4m3fn, 32),
     ("e5m2", ml_dtypes.float8_e5m2, 32)],
)  # fmt: skip
def test_operand_types(kind: str, dtype: Any, k: int) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(dtype) for rows in (64, 16))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        place(image, at, matrix, lambda r, c: r % 8 * 128 + r // 8 * 1024 + c * np.dtype(dtype).itemsize, 7)
    first, second = (descriptor(at, 16, 1024, 1) for at in (A_AT, B_AT))
    outcome, d = run_mma(image, first, second, 16, kind, k)
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


def small() -> tuple[Any, int, int, Any]:
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (64, 16))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        place(image, at, matrix, lambda r, c: r % 8 * 128 + r // 8 * 1024 + c * 2, 7)
    product = a.astype(np.float32) @ b.astype(np.float32).T
    return image, descriptor(A_AT, 16, 1024, 1), descriptor(B_AT, 16, 1024, 1), product


FENCE, COMMIT = " wgmma.fence.sync.aligned;\n", " wgmma.commit_group.sync.aligned;\n"
WAIT = " wgmma.wait_group.sync.aligned {};\n"
KEEP, CLEAR = " setp.eq.b32 %p9, 0, 0;\n", " setp.ne.b32 %p9, 0, 0;\n"


def test_scale_d_keeps_or_clears_the_accumulator() -> None:
    image, a, b, product = small()
    outcome, d = run_mma(image, a, b, 16, issue=KEEP + FENCE + "MMA;\nMMA;\n" + COMMIT + WAIT.format(0))
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, 1 + 2 * product)
    outcome, d = run_mma(image, a, b, 16, issue=KEEP + FENCE + "MMA;\n" + CLEAR + "MMA;\n" + COMMIT + WAIT.format(0))
    np.testing.assert_array_equal(d, product)


def test_blocks_of_k_in_descending_order() -> None:
    """The second of two products begins below the first in shared memory."""
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-4, 5, (rows, 32)).astype(np.float16) for rows in (64, 16))
    image = np.zeros(32768, np.uint8)
    for at, matrix in ((A_AT, a), (B_AT, b)):
        place(image, at, matrix, lambda r, c: r % 8 * 128 + r // 8 * 1024 + c * 2, 7)
    low, high = ((descriptor(A_AT + at, 16, 1024, 1), descriptor(B_AT + at, 16, 1024, 1)) for at in (0, 32))
    first = KEEP + FENCE + "MMA;\n" + f" mov.b64 %rd30, {low[0]};\n mov.b64 %rd31, {low[1]};\n"
    outcome, d = run_mma(image, *high, 16, issue=first + "MMA;\n" + COMMIT + WAIT.format(0))
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, 1 + a.astype(np.float32) @ b.astype(np.float32).T)


def test_the_sign_of_an_operand() -> None:
    image, a, b, product = small()
    outcome, d = run_mma(image, a, b, 16, issue=CLEAR + FENCE + "NEG;\n" + COMMIT + WAIT.format(0))
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, -product)


def test_accumulators_go_back_and_forth() -> None:
    """Ordinary arithmetic between two groups is seen by the second."""
    image, a, b, product = small()
    double = "".join(f" add.f32 %r{100 + i}, %r{100 + i}, %r{100 + i};\n" for i in range(8))
    one = "MMA;\n" + COMMIT + WAIT.format(0)
    outcome, d = run_mma(image, a, b, 16, issue=CLEAR + FENCE + one + double + FENCE + KEEP + one)
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, 3 * product)


def test_operands_written_word_by_word_are_read_anew() -> None:
    """Words that every second lane writes, one half after the other: no cell is written as a whole."""
    image, a, b, product = small()
    place_of_b = " shl.b32 %r5, %r0, 2;\n add.s32 %r5, %r5, %r1;\n and.b32 %r6, %r0, 1;\n setp.eq.u32 %p2, %r6, 0;\n"
    double = ""
    for row in range(4):  # of 512 bytes, a word for each thread
        word = f"[%r5+{B_AT + 512 * row}]"
        double += f" ld.shared.b32 %r7, {word};\n add.rn.f16x2 %r7, %r7, %r7;\n"
        double += f" @%p2 st.shared.b32 {word}, %r7;\n @!%p2 st.shared.b32 {word}, %r7;\n"
    double = " bar.sync 0;\n" + place_of_b + double + " fence.proxy.async.shared::cta;\n bar.sync 0;\n"
    one = FENCE + COMMIT + "MMA;\n" + COMMIT + WAIT.format(0)
    outcome, d = run_mma(image, a, b, 16, issue=CLEAR + one + KEEP + double + one + double + one)
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, (1 + 2 + 4) * product)


@pytest.mark.parametrize(
    ("issue", "what"),
    [
        (CLEAR + "MMA;\n" + COMMIT + WAIT.format(0), "no wgmma.fence"),
        (CLEAR + FENCE + "MMA;\n" + COMMIT, "in flight"),
        (CLEAR + FENCE + "MMA;\n" + COMMIT + WAIT.format(1), "in flight"),
        (CLEAR + FENCE + "MMA;\n" + WAIT.format(0), "in flight"),
        (CLEAR + FENCE + "MMA;\n" + COMMIT + WAIT.format(0) + " mov.b32 %r100, 0;\nMMA;\n" + COMMIT + WAIT.format(0),
         "no wgmma.fence"),
    ],
)  # fmt: skip
def test_register_rules(issue: str, what: str) -> None:
    image, a, b, _ = small()
    outcome, _ = run_mma(image, a, b, 16, issue=issue)
    assert outcome.kinds[0] == "wgmma-registers"
    assert what in outcome.message("wgmma-registers")


def test_moves_behind_the_fence_can_be_let_pass() -> None:
    """Optimised PTX copies registers between the fence and the wgmma; arithmetic there is a fault all the same."""
    image, a, b, product = small()
    one = "MMA;\n" + COMMIT + WAIT.format(0)
    loose = {"without": frozenset({"wgmma-moves"})}
    moved = CLEAR + FENCE + one + " mov.b32 %r99, %r100;\n mov.b32 %r100, %r99;\n" + KEEP + one
    assert run_mma(image, a, b, 16, issue=moved)[0].kinds == ["wgmma-registers"]
    outcome, d = run_mma(image, a, b, 16, issue=moved, **loose)
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, 2 * product)
    computed = moved.replace("mov.b32 %r100, %r99", "add.f32 %r100, %r99, %r99")
    assert run_mma(image, a, b, 16, issue=computed, **loose)[0].kinds == ["wgmma-registers"]
    early = CLEAR + FENCE + "MMA;\n" + COMMIT + " mov.b32 %r99, %r100;\n" + WAIT.format(0)
    assert run_mma(image, a, b, 16, issue=early, **loose)[0].kinds == ["wgmma-registers"]


def test_pending_groups() -> None:
    image, a, b, product = small()
    outcome, d = run_mma(image, a, b, 16, issue=CLEAR + FENCE + "MMA;\n" + COMMIT + KEEP + "MMA;\n" + COMMIT
                         + WAIT.format(1) + WAIT.format(0))  # fmt: skip
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, 2 * product)


def test_a_wgmma_reads_through_the_async_proxy() -> None:
    image, a, b, _ = small()
    store = " st.shared.b32 [%r1], %r0;\n"
    issue = " setp.eq.u32 %p1, %r0, 0;\n @%p1" + store + "{fence} bar.sync 0;\n" + CLEAR + FENCE + "MMA;\n" + COMMIT
    good, _ = run_mma(image, a, b, 16, issue=issue.format(fence=" fence.proxy.async.shared::cta;\n") + WAIT.format(0))
    assert good.kinds == []
    bad, _ = run_mma(image, a, b, 16, issue=issue.format(fence="") + WAIT.format(0))
    assert bad.kinds == ["race"]
    early = CLEAR + FENCE + "MMA;\n" + COMMIT + " @%p1" + store + WAIT.format(0)
    overwritten, _ = run_mma(image, a, b, 16, issue=" setp.eq.u32 %p1, %r0, 0;\n" + early)
    assert overwritten.kinds == ["race"]


def test_all_warps_must_agree() -> None:
    image, a, b, _ = small()
    differ = " cvt.u64.u32 %rd40, %r5;\n shr.u64 %rd40, %rd40, 9;\n add.s64 %rd30, %rd30, %rd40;\n"
    issue = " shl.b32 %r5, %r0, 4;\n" + differ + CLEAR + FENCE + "MMA;\n" + COMMIT + WAIT.format(0)
    outcome, _ = run_mma(image, a, b, 16, issue=issue)
    assert outcome.kinds == ["wgmma"]
    assert "disagree" in outcome.message("wgmma")
    lone = " shr.u32 %r5, %r0, 5;\n setp.eq.u32 %p2, %r5, 3;\n @%p2 bra OVER;\n"
    some = lone + CLEAR + FENCE + "MMA;\n" + COMMIT + WAIT.format(0) + "OVER:\n"
    outcome, _ = run_mma(image, a, b, 16, issue=some)
    assert outcome.kinds == ["deadlock"]
    assert "3 of 4 warps have committed it" in outcome.message("deadlock")


def test_descriptors_stay_in_shared_memory() -> None:
    image, a, _, _ = small()
    outcome, _ = run_mma(image, a, descriptor(32000, 16, 1024, 1), 16)
    assert outcome.kinds == ["shared-bounds"]


# -- A in registers ------------------------------------------------------------------------------------------------

SIZES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1}
HELD = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
        "e5m2": ml_dtypes.float8_e5m2}  # fmt: skip
LOAD_A = """
 mul.wide.u32 %rd20, %r0, 16;
 add.s64 %rd21, %rd0, %rd20;
 ld.global.b32 %r40, [%rd21+24576];
 ld.global.b32 %r41, [%rd21+24580];
 ld.global.b32 %r42, [%rd21+24584];
 ld.global.b32 %r43, [%rd21+24588];
 setp.ne.b32 %p9, 0, 0;
"""
HELD_MMA = " wgmma.mma_async.sync.aligned.m64n16k{k}.f32.{kind}.{kind} {d}, {{%r40, %r41, %r42, %r43}}, %rd31,"
HELD_MMA += " %p9, 1, 1{tail};\n"
FENCED, COMMITTED = " wgmma.fence.sync.aligned;\n", " wgmma.commit_group.sync.aligned;\n"
WAITED = " wgmma.wait_group.sync.aligned 0;\n"


def held_a(kind: str, issue: str = "", seed: int = 0) -> tuple[Outcome, Any, Any]:
    """(outcome, D, A @ B^T) of one wgmma whose A is in registers and whose B lies in shared memory, not swizzled."""
    size = SIZES[kind]
    k = 32 // size
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (rows, k)).astype(HELD[kind]) for rows in (64, 16))
    image = np.zeros(32768, np.uint8)
    for n in range(16):
        for c in range(k):
            at = B_AT + n % 8 * 16 + n // 8 * 128 + c * size // 16 * 256 + c * size % 16
            image[at : at + size] = np.frombuffer(b[n, c].tobytes(), np.uint8)
    # PTX ISA, "Register fragments" of wgmma for A: rows 16 w + l / 4 and 8 below, columns from 32 bits on of 4 threads
    per = 4 // size
    words = np.zeros((128, 4 * per), HELD[kind])
    for thread in range(128):
        w, lane = divmod(thread, 32)
        for i in range(4 * per):
            column = lane % 4 * per + i % per + (4 * per if i >= 2 * per else 0)
            words[thread, i] = a[16 * w + lane // 4 + (8 if i // per % 2 else 0), column]
    image[24576 : 24576 + 2048] = words.view(np.uint8).reshape(-1)
    mma = HELD_MMA.format(k=k, kind=kind, d=registers(16), tail=", 0" if size == 2 else "")
    text = (issue or LOAD_A + FENCED + "MMA2" + COMMITTED + WAITED).replace("MMA2", mma)
    outcome, d = run_mma(image.view(np.uint32), 0, descriptor(B_AT, 256, 128, 0), 16, issue=text, seed=seed)
    return outcome, d, a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize("kind", list(SIZES))
def test_a_in_registers(kind: str) -> None:
    outcome, d, expected = held_a(kind)
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, expected)


def test_two_products_of_one_group_with_a_in_registers() -> None:
    again = "MMA2".join(["", " setp.eq.b32 %p9, 0, 0;\n", ""])
    outcome, d, expected = held_a("f16", LOAD_A + FENCED + again + COMMITTED + WAITED)
    assert outcome.kinds == []
    np.testing.assert_array_equal(d, 2 * expected)


@pytest.mark.parametrize(
    ("issue", "kinds"),
    [
        (LOAD_A + FENCED + "MMA2" + COMMITTED + " add.s32 %r41, %r41, 1;\n" + WAITED, {"wgmma-registers"}),
        (LOAD_A + FENCED + "MMA2" + COMMITTED + " add.s32 %r50, %r41, 1;\n" + WAITED, set()),  # read, not written
        (LOAD_A + FENCED + "MMA2" + COMMITTED + WAITED + " add.s32 %r41, %r41, 1;\n", set()),
        (FENCED + LOAD_A + "MMA2" + COMMITTED + WAITED, {"wgmma-registers"}),
        (LOAD_A + FENCED + "MMA2" + COMMITTED + WAITED + LOAD_A + FENCED + "MMA2" + COMMITTED + WAITED, set()),
        (LOAD_A + FENCED + "MMA2" + COMMITTED + WAITED + LOAD_A + "MMA2" + COMMITTED + WAITED, {"wgmma-registers"}),
    ],
)
def test_registers_of_a_belong_to_the_wgmma_until_the_wait(issue: str, kinds: set[str]) -> None:
    outcome, _, _ = held_a("f16", issue)
    assert set(outcome.kinds) == kinds


@pytest.mark.parametrize(("held", "wait", "found"), [(8, "", ["setmaxnreg"]), (16, "", []), (8, "WAIT", [])])
def test_sums_in_flight_lie_in_registers_together(held: int, wait: str, found: list[str]) -> None:
    """Eight registers of each thread for each of two products of 16 columns."""
    image, a, b, product = small()
    other = f"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {registers(16).replace('%r1', '%r2')},"
    issue = CLEAR + FENCE + "MMA;\n" + COMMIT + wait.replace("WAIT", WAIT.format(0))
    issue += f" {other} %rd30, %rd31, %p9, 1, 1;\n" + COMMIT + WAIT.format(0)
    outcome, d = run_mma(image, a, b, 16, issue=issue, entry_registers=held)
    assert sorted(set(outcome.kinds)) == found
    np.testing.assert_array_equal(d, product)


KNOWN = """
 setp.ne.b32 %p9, 0, 0;
 shl.b32 %r6, %r0, 4;
 add.s32 %r6, %r6, %r1;
 {first}
 wgmma.fence.sync.aligned;
 MMA;
 {between}
 setp.eq.b32 %p9, 0, 0;
 add.s64 %rd30, %rd30, 512;
 MMA;
 wgmma.commit_group.sync.aligned;
 wgmma.wait_group.sync.aligned 0;
"""


@pytest.mark.parametrize(("barrier", "found"), [(" bar.sync 0;\n", []), ("", ["race"])])
@pytest.mark.parametrize("when", ["first", "between"])
def test_every_warp_must_know_what_its_own_wgmma_reads(when: str, barrier: str, found: list[str]) -> None:
    """Each warp writes a part of A, for one of two products of a group: all four must know of all parts by then."""
    at = 0 if when == "first" else 8192
    write = f" st.shared.v4.b32 [%r6+{at}], {{0, 0, 0, 0}};\n fence.proxy.async.shared::cta;\n{barrier}"
    issue = KNOWN.format(**{"first": "", "between": "", when: write})
    image = np.zeros(32768, np.uint8)
    outcome, _ = run_mma(image, descriptor(A_AT, 16, 1024, 1), descriptor(B_AT, 16, 1024, 1), 16, issue=issue)
    assert outcome.kinds[:1] == found
