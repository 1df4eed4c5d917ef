"""Pairs of CTAs: who computes and keeps which part of a product, allocation together, and loads for both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import TensorMap

from .ptx_kit import Outcome, launch
from .tensor_kit import (
    AFTER,
    BARRIER,
    BEFORE,
    BEGIN,
    COLUMNS,
    END,
    FILL,
    SLOT,
    WAIT,
    WAIT_LD,
    WAIT_ST,
    descriptor,
    from_global,
    instruction,
    mma,
    move,
    to_global,
)
from .test_wgmma import place

CLUSTER = " barrier.cluster.arrive;\n barrier.cluster.wait;\n"
A_AT, B_AT = 0, 16384
COMMIT = (
    " mov.b16 %rs1, 3;\n tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
    f" [%r1+{BARRIER}], %rs1;\n"
)


def two(text: str) -> str:
    return text.replace("cta_group::1", "cta_group::2")


def leader(body: str, label: str) -> str:
    """`body` by one lane of warp 1 of the CTA of rank 0."""
    return (
        f" mov.u32 %r94, %cluster_ctarank;\n setp.ne.u32 %p5, %r94, 0;\n @%p5 bra {label};\n setp.ne.u32 %p3, %r2, 1;\n"
        f" @%p3 bra {label};\n elect.sync %r90|%p4, -1;\n @!%p4 bra {label};\n{body}{label}:\n"
    )


def run(body: str, buffers: dict[str, Any], **options: Any) -> Outcome:
    text = two(BEGIN) + CLUSTER + body + CLUSTER + two(END)
    return launch(text, buffers, threads=128, shared=SLOT + 64, cluster=2, **options)


@pytest.mark.parametrize(("m", "n"), [(256, 32), (128, 32), (128, 64), (256, 128)])
def test_where_the_sums_of_a_pair_lie(m: int, n: int) -> None:
    """Each CTA gives half of the rows of A and of B, and keeps its half of the rows of D.

    With M = 256 a row is a lane; with M = 128 lanes 64 and up hold the second half of N.
    """
    rng = np.random.default_rng(n)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (m, n))
    images = np.zeros((2, 32768), np.uint8)
    for rank in (0, 1):
        for at, matrix in ((A_AT, a), (B_AT, b)):
            share = np.split(matrix, 2)[rank]
            place(images[rank], at, share, lambda r, c: r % 8 * 128 + r // 8 * 1024 + c * 2, 7)
    columns = n if m == 256 else n // 2
    out = np.zeros((2, 128, columns), np.float32)
    first, second = (descriptor(at, 16, 1024, 2) for at in (A_AT, B_AT))
    body = f"""
 mov.u32 %r94, %cluster_ctarank;
 mul.wide.u32 %rd40, %r94, 32768;
 add.s64 %rd0, %rd0, %rd40;
 mul.wide.u32 %rd40, %r94, {128 * columns * 4};
 add.s64 %rd1, %rd1, %rd40;
{FILL}
 fence.proxy.async.shared::cta;
{CLUSTER}
 mov.b64 %rd30, {first};
 mov.b64 %rd31, {second};
 mov.b32 %r91, {instruction(m, n)};
 setp.ne.b32 %p9, 0, 0;
{leader(two(mma()) + COMMIT, "ISSUED")}{WAIT}{AFTER}{move("ld", "32x32b", columns, columns)}{WAIT_LD}
 mul.wide.u32 %rd20, %r0, {4 * columns};
 add.s64 %rd21, %rd1, %rd20;
"""
    body += "".join(f" st.global.b32 [%rd21+{4 * i}], %r{100 + i};\n" for i in range(columns))
    outcome = run(body, {"i": images, "o": out})
    assert outcome.kinds == []
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    for rank in (0, 1):
        rows = np.split(expected, 2)[rank]
        np.testing.assert_array_equal(out[rank], rows if m == 256 else np.concatenate(np.split(rows, 2, axis=1)))


def test_a_mask_of_output_lanes_has_eight_words_for_a_pair() -> None:
    """The first four are those of the CTA of even rank."""
    words = ", ".join(["%r95"] * 4 + ["%r96"] * 4)
    masked = two(mma()).replace("%p9;", f"{{{words}}}, %p9;")
    body = f"""
{FILL}
 fence.proxy.async.shared::cta;
{CLUSTER}
 mov.b64 %rd30, {descriptor(A_AT, 16, 1024, 2)};
 mov.b64 %rd31, {descriptor(B_AT, 16, 1024, 2)};
 mov.b32 %r91, {instruction(256, 32)};
 mov.b32 %r95, -1;
 mov.b32 %r96, 0;
 setp.ne.b32 %p9, 0, 0;
{leader(masked + COMMIT, "ISSUED")}{WAIT}{AFTER}{move("ld", "32x32b", 32, 32)}{WAIT_LD}
"""
    outcome = run(body, {"i": np.zeros(32768, np.uint8)})
    assert set(outcome.kinds) == {"uninitialised-read"}
    text = outcome.message("uninitialised-read")
    assert "of the tensor memory of CTA (0, 0, 0) is read" in text
    assert "CTA (1, 0, 0)" not in "".join(finding.message for finding in outcome.result.findings)


def test_a_pair_allocates_together() -> None:
    assert run("", {}).kinds == []
    skipped = (
        f" mov.u32 %r94, %cluster_ctarank;\n setp.ne.u32 %p5, %r94, 0;\n @%p5 bra GONE;\n{two(BEGIN)}{two(END)}GONE:\n"
    )
    outcome = launch(skipped, {}, threads=128, shared=SLOT + 64, cluster=2)
    assert outcome.kinds == ["deadlock"]
    assert f"{COLUMNS} columns of tensor memory" in outcome.message("deadlock")


@pytest.mark.parametrize(("mask", "expected"), [(0, 1024), (3, 2048)])
def test_loads_of_a_pair_signal_the_leader(mask: int, expected: int) -> None:
    """Each CTA loads 512 bytes (with `mask`: for both) and names the leader's barrier: bit 24 cleared."""
    source = np.arange(4 * 512, dtype=np.uint16)
    cast = ".multicast::cluster" if mask else ""
    load = (
        f" cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{cast}.cta_group::2"
        f" [%r30], [%rd50, {{%r31}}], [%r32]{', %rs1' if mask else ''};\n"
    )
    body = f"""
 mov.u32 %r94, %cluster_ctarank;
 mov.b16 %rs1, {mask};
 and.b32 %r32, %r1, -16777217;
 add.s32 %r32, %r32, {BARRIER};
 mul.lo.u32 %r31, %r94, 256;
 mul.lo.u32 %r33, %r94, {512 if mask else 0};
 add.s32 %r30, %r1, %r33;
 setp.ne.u32 %p6, %r0, 0;
 @%p6 bra LOADED;
{load} setp.ne.u32 %p5, %r94, 0;
 @%p5 bra LOADED;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+{BARRIER}], {expected};
LOADED:
 setp.ne.u32 %p5, %r94, 0;
 @%p5 bra DONE;
{WAIT}DONE:
"""

    def tensor_map(addresses: Any) -> TensorMap:
        return TensorMap(addresses["i"], (2048,), (), (256,), 2)

    assert run(body, {"i": source}, maps=[tensor_map]).kinds == []
    own = body.replace("and.b32 %r32, %r1, -16777217", "mov.b32 %r32, %r1")
    assert "deadlock" in run(own, {"i": source}, maps=[tensor_map]).kinds


@pytest.mark.parametrize("same", [True, False])
def test_64_rows_a_cta_of_a_in_tensor_memory(same: bool) -> None:
    """With M = 128 both halves of the lanes hold the CTA's rows of A (CUTLASS, `TmemAllocMode::Duplicated`)."""
    m, n = 128, 32
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (m, n))
    images, rows = np.zeros((2, 32768), np.uint8), np.zeros((2, 128, 8), np.uint32)
    for rank in (0, 1):
        place(images[rank], B_AT, np.split(b, 2)[rank], lambda r, c: r % 8 * 128 + r // 8 * 1024 + c * 2, 7)
        rows[rank] = np.tile(np.split(a, 2)[rank], (2, 1)).view(np.uint32)
    if not same:
        rows[1, 70] += 1
    out = np.zeros((2, 128, n // 2), np.float32)
    body = f"""
 mov.u32 %r94, %cluster_ctarank;
 mul.wide.u32 %rd40, %r94, 32768;
 add.s64 %rd0, %rd0, %rd40;
 mul.wide.u32 %rd40, %r94, {128 * n // 2 * 4};
 add.s64 %rd1, %rd1, %rd40;
 mul.wide.u32 %rd40, %r94, 4096;
 add.s64 %rd2, %rd2, %rd40;
{FILL}{from_global(8, "%rd2", 200)} add.s32 %r92, %r4, 64;
{move("st", "32x32b", 8, 8, "%r92", 200)}{WAIT_ST} fence.proxy.async.shared::cta;
{BEFORE}{CLUSTER}{AFTER}
 mov.b64 %rd31, {descriptor(B_AT, 16, 1024, 2)};
 mov.b32 %r91, {instruction(m, n)};
 setp.ne.b32 %p9, 0, 0;
 add.s32 %r93, %r3, 64;
{leader(two(mma(a="[%r93]")) + COMMIT, "ISSUED")}{WAIT}{AFTER}{move("ld", "32x32b", 16, 16)}{WAIT_LD}
{to_global(16, "%rd1")}
"""
    outcome = run(body, {"i": images, "o": out, "a": rows})
    if not same:
        assert outcome.kinds == ["tcgen05"]
        assert "lanes 64 and up must hold" in outcome.message("tcgen05")
        return
    assert outcome.kinds == []
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    for rank in (0, 1):
        np.testing.assert_array_equal(out[rank], np.concatenate(np.split(np.split(expected, 2)[rank], 2, axis=1)))


def test_a_pair_frees_together() -> None:
    """PTX ISA, Table 48: a deallocation ahead of the cluster barrier on one side, behind it on the other, may hang."""
    free = two(END)
    early = (
        two(BEGIN)
        + f"""
 mov.u32 %r94, %cluster_ctarank;
 setp.ne.u32 %p5, %r94, 0;
 @%p5 bra SECOND;
{CLUSTER}{free} bra DONE;
SECOND:
{free.replace("FREED", "FREED2")}{CLUSTER}DONE:
"""
    )
    outcome = launch(early, {}, threads=128, shared=SLOT + 64, cluster=2)
    assert "deadlock" in outcome.kinds
    assert f"the peer CTA's tcgen05.dealloc beside that of {COLUMNS} columns" in outcome.message("deadlock")
