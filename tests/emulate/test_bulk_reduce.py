"""Bulk reductions, copies between CTAs, prefetches; and the order of bulk copies on global memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import TensorMap, UnsupportedInstruction

from .ptx_kit import Outcome, launch

SIZE = 512
PEER = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
REDUCE = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32"
OUT = "cp.reduce.async.bulk.global.shared::cta.bulk_group"
#: Each thread of a warp fills 16 bytes at %r1, and thread 0 knows itself by %p1.
FILL = """
 shl.b32 %r5, %r0, 4;
 add.s32 %r6, %r5, %r1;
 mul.wide.u32 %rd20, %r5, 1;
 add.s64 %rd21, %rd0, %rd20;
 ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd21];
 st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};
 setp.eq.u32 %p1, %r0, 0;
"""
FENCE = " fence.proxy.async.shared::cta;\n bar.warp.sync -1;\n"
WAIT = "LOOP: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+2048], 0;\n @!%p3 bra LOOP;\n"
SYNC = " barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;\n"


def to_peer(
    copy: str, before: str = "", after: str = "", fence: str = FENCE, wait: str = WAIT, last: str = SYNC
) -> str:
    """Each CTA of a pair copies what it filled to offset 1024 of the other, and stores what has come to it."""
    return f"""{FILL}
 mov.u32 %r7, %cluster_ctarank;
 add.s32 %r14, %r7, 1;
 st.shared.v4.b32 [%r6+1024], {{%r14, %r14, %r14, %r14}};
 @%p1 mbarrier.init.shared::cta.b64 [%r1+2048], 1;
 fence.mbarrier_init.release.cluster;
{fence}{SYNC}
 xor.b32 %r8, %r7, 1;
 mapa.shared::cluster.u32 %r9, %r1, %r8;
 @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], {SIZE};
{before}
 @%p1 {copy} [%r9+1024], [%r1], {SIZE}, [%r9+2048];
{after}{wait}
 ld.shared.v4.b32 {{%r10, %r11, %r12, %r13}}, [%r6+1024];
 mul.wide.u32 %rd22, %r7, {SIZE};
 add.s64 %rd23, %rd1, %rd20;
 add.s64 %rd23, %rd23, %rd22;
 st.global.v4.b32 [%rd23], {{%r10, %r11, %r12, %r13}};
{last}"""


def pair(body: str, seed: int = 0) -> tuple[Outcome, Any]:
    out = np.zeros((2, SIZE // 4), np.uint32)
    data = np.arange(SIZE // 4, dtype=np.uint32)
    return launch(body, {"i": data, "o": out}, out=["o"], cluster=2, seed=seed), out


def kinds(body: str) -> set[str]:
    return {kind for seed in range(4) for kind in pair(body, seed)[0].kinds}


def test_a_copy_to_the_peer() -> None:
    for seed in range(3):
        outcome, out = pair(to_peer(PEER), seed)
        assert outcome.kinds == []
        np.testing.assert_array_equal(out, [np.arange(SIZE // 4)] * 2)
        assert outcome.result.observations["bulk"]["peer"]["bytes"] == 2 * SIZE


def test_a_reduction_in_the_peer() -> None:
    outcome, out = pair(to_peer(REDUCE))
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, [np.arange(SIZE // 4) + 1, np.arange(SIZE // 4) + 2])
    outcome, out = pair(to_peer(REDUCE.replace("add.u32", "max.s32")))
    np.testing.assert_array_equal(out[1], np.maximum(np.arange(SIZE // 4), 2))


@pytest.mark.parametrize("copy", [PEER, REDUCE])
def test_mistakes_between_ctas(copy: str) -> None:
    assert "race" in kinds(to_peer(copy, wait=""))
    assert "race" in kinds(to_peer(copy, fence=""))
    assert "race" in kinds(to_peer(copy, after=" st.shared.b32 [%r1], 7;\n"))
    assert "exit" in kinds(to_peer(copy, wait=" bra OFF;\n", last="OFF:\n"))
    assert kinds(to_peer(copy).replace("[%r9+2048]", "[%r1+2048]")) == {"tma"}
    assert kinds(to_peer(copy).replace(f"{SIZE}, [%r9", "500, [%r9")) == {"tma"}
    assert kinds(to_peer(copy).replace("[%r9+1024]", "[%r9+1032]")) == {"misaligned"}


# -- reductions in global memory -----------------------------------------------------------------------------------

DRAIN = " @%p1 cp.async.bulk.commit_group;\n @%p1 cp.async.bulk.wait_group 0;\n"


def reduction(operation: str, start: Any, tail: str = DRAIN, fence: str = FENCE, **options: Any) -> Outcome:
    body = FILL + fence + f" @%p1 {OUT}.{operation} [%rd1], [%r1], {SIZE};\n" + tail
    data = options.pop("data")
    return launch(body, {"i": data, "w": start}, **options)


@pytest.mark.parametrize(
    ("operation", "dtype", "expected"),
    [
        ("add.f32", np.float32, np.add), ("add.noftz.f16", np.float16, np.add), ("min.s32", np.int32, np.minimum),
        ("max.u64", np.uint64, np.maximum), ("or.b32", np.uint32, np.bitwise_or), ("add.f64", np.float64, np.add),
    ],
)  # fmt: skip
def test_every_kind_of_reduction(operation: str, dtype: Any, expected: Any) -> None:
    count = SIZE // np.dtype(dtype).itemsize
    data, start = np.arange(count).astype(dtype), (np.arange(count)[::-1] // 2).astype(dtype)
    words = start.copy()
    assert reduction(operation, words, data=data.view(np.uint32)).kinds == []
    np.testing.assert_array_equal(words, expected(start, data))


def test_several_ctas_add_to_one_place() -> None:
    words, data = np.zeros(SIZE // 4, np.uint32), np.arange(SIZE // 4, dtype=np.uint32)
    assert reduction("add.u32", words, data=data, grid=3).kinds == []
    np.testing.assert_array_equal(words, 3 * data)


@pytest.mark.parametrize(
    ("tail", "fence", "expected"),
    [
        (DRAIN + " @%p1 ld.global.b32 %r9, [%rd1];\n", FENCE, set()),
        (
            DRAIN.replace("wait_group", "wait_group.read") + " @%p1 ld.global.b32 %r9, [%rd1];\n" + DRAIN,
            FENCE,
            {"race"},
        ),
        (DRAIN.replace("wait_group", "wait_group.read") + DRAIN + " @%p1 ld.global.b32 %r9, [%rd1];\n", FENCE, set()),
        (" @%p1 ld.global.b32 %r9, [%rd1];\n" + DRAIN, FENCE, {"race"}),
        (" @%p1 st.global.b32 [%rd1], 0;\n" + DRAIN, FENCE, {"race"}),
        (" @%p1 red.global.add.u32 [%rd1], 1;\n" + DRAIN, FENCE, set()),
        (DRAIN, "", {"race"}),
        ("", FENCE, {"exit"}),
    ],
)
def test_the_order_of_a_reduction(tail: str, fence: str, expected: set[str]) -> None:
    data = np.arange(SIZE // 4, dtype=np.uint32)
    found: set[str] = set()
    for seed in range(3):
        words = np.zeros(SIZE // 4, np.uint32)
        found |= set(reduction("add.u32", words, tail, fence, data=data, seed=seed).kinds)
    assert found == expected


def test_reductions_that_are_refused() -> None:
    data = np.zeros(SIZE // 4, np.uint32)
    for operation in ("min.f32", "exch.b32", "add.b32"):
        with pytest.raises(UnsupportedInstruction, match="not emulated"):
            reduction(operation, data.copy(), data=data)


def test_a_tensor_reduction() -> None:
    words, data = np.ones((8, 16), np.float32), np.arange(128, dtype=np.float32)
    body = FILL + FENCE + (" @%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group"
                           " [%rd50, {%r20, %r20}], [%r1];\n") + DRAIN  # fmt: skip
    body = " mov.b32 %r20, 0;\n" + body
    make = lambda a: TensorMap(a["w"], (16, 8), (64,), (16, 8), 4, type="f32")  # noqa: E731
    assert launch(body, {"i": data, "w": words}, maps=[make], grid=2).kinds == []
    np.testing.assert_array_equal(words.reshape(-1), 1 + 2 * data)
    plain = body.replace("cp.reduce.", "cp.").replace(".add.bulk_group", ".bulk_group")
    assert launch(plain, {"i": data, "w": words}, maps=[make], grid=2).kinds == ["race"]


# -- copies and the threads' accesses of global memory -------------------------------------------------------------

LOAD = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1+1024], [%rd1], 512, [%r1+2048];"


def through_memory(between: str) -> set[str]:
    """A warp stores to global memory, and a bulk copy of the same warp loads that."""
    body = f"""{FILL}
 @%p1 mbarrier.init.shared::cta.b64 [%r1+2048], 1;
 add.s64 %rd22, %rd1, %rd20;
 st.global.v4.b32 [%rd22], {{%r10, %r11, %r12, %r13}};
 fence.mbarrier_init.release.cluster;
{between}
 @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], {SIZE};
 @%p1 {LOAD}
{WAIT}"""
    buffers = {"i": np.arange(128, dtype=np.uint32), "w": np.zeros(128, np.uint32)}
    return set(launch(body, buffers).kinds)


def test_what_threads_stored_is_fenced_before_a_copy_reads_it() -> None:
    assert through_memory(" fence.proxy.async;\n bar.warp.sync -1;\n") == set()
    assert through_memory(" bar.warp.sync -1;\n") == {"race"}


def test_prefetches_are_of_what_is_there() -> None:
    buffers = {"i": np.zeros(128, np.uint32)}
    assert launch(" cp.async.bulk.prefetch.L2.global [%rd0], 512;\n", buffers).kinds == []
    assert launch(" cp.async.bulk.prefetch.L2.global [%rd0+16], 512;\n", buffers).kinds == ["global-bounds"]
    assert launch(" cp.async.bulk.prefetch.L2.global [%rd0], 100;\n", buffers).kinds == ["tma"]


@pytest.mark.parametrize(
    "opcode",
    [
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd50, {MANY}], [%r1]",
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"
        " [%r1], [%rd50, {MANY}], [%r1]",
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd50, {MANY}], [%r1]",
    ],
)
def test_tensor_copies_that_are_named(opcode: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=opcode.split()[0]):
        launch(f" {opcode};\n".replace("MANY", "%r20, %r20, %r20, %r20, %r20"))


@pytest.mark.parametrize(("where", "found"), [("", set()), (".global", set()), (".shared::cta", {"race"})])
def test_a_fence_of_another_memory_is_none(where: str, found: set[str]) -> None:
    assert through_memory(f" fence.proxy.async{where};\n bar.warp.sync -1;\n") == found
