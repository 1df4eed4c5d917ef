"""Tensor copies: boxes and swizzles, edges, multicast, bulk groups, and what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import EmulatorError, TensorMap, split_box

from .ptx_kit import launch

LOAD = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+{bar}], 1;
 fence.mbarrier_init.release.cluster;
 bar.sync 0;
 elect.sync %r5|%p2, -1;
 @!%p2 bra WAIT;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+{bar}], {bytes};
 mov.b32 %r6, {x};
 mov.b32 %r7, {y};
 add.s32 %r8, %r1, {bar};
 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1+{at}], [%rd50, {{%r6, %r7}}], [%r8];
WAIT:
LOOP:
 mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+{bar}], 0;
 @!%p3 bra LOOP;
"""
DUMP = """
 mov.b32 %r10, 0;
 mul.wide.u32 %rd20, %r0, 16;
 add.s64 %rd21, %rd{out}, %rd20;
 shl.b32 %r11, %r0, 4;
 add.s32 %r11, %r11, %r1;
COPY:
 ld.shared.v4.b32 {{%r12, %r13, %r14, %r15}}, [%r11+{at}];
 st.global.v4.b32 [%rd21], {{%r12, %r13, %r14, %r15}};
 add.s64 %rd21, %rd21, 512;
 add.s32 %r11, %r11, 512;
 add.s32 %r10, %r10, 512;
 setp.lt.u32 %p5, %r10, {bytes};
 @%p5 bra COPY;
"""


def source(rows: int = 24, columns: int = 80) -> Any:
    return np.arange(rows * columns, dtype=np.uint16).reshape(rows, columns)


def load(box: tuple[int, int], swizzle: Any, x: int, y: int, at: int = 0) -> Any:
    """The shared memory, as uint16 rows of the box's width, after one load from `source()`."""
    data = source()
    size = box[0] * box[1] * 2
    out = np.zeros(size, np.uint8)
    text = LOAD.format(bar=16384, bytes=size, x=x, y=y, at=at) + DUMP.format(out=1, at=at, bytes=size)

    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["s"], (80, 24), (160,), box, 2, swizzle)

    outcome = launch(text, {"s": data, "o": out}, maps=[tensor], shared=20000)
    assert outcome.kinds == []
    assert outcome.result.observations["tma"][2] == {"boxes": {box}, "multicast": {1}, "lanes": {1}, "copies": 1}
    return out.view(np.uint16).reshape(box[1], box[0])


def window(box: tuple[int, int], x: int, y: int) -> Any:
    """The box of `source()`, zero outside (PTX ISA, "Out-of-bounds access": zero fill)."""
    padded = np.zeros((24 + 400, 80 + 400), np.uint16)
    padded[200:224, 200:280] = source()
    return padded[200 + y : 200 + y + box[1], 200 + x : 200 + x + box[0]]


@pytest.mark.parametrize("place", [(0, 0), (8, 3), (-5, -2), (70, 20), (200, 0)])
def test_boxes_inside_across_and_outside(place: tuple[int, int]) -> None:
    np.testing.assert_array_equal(load((64, 16), "none", *place), window((64, 16), *place))


@pytest.mark.parametrize(("swizzle", "span"), [("32B", 32), ("64B", 64), ("128B", 128)])
def test_swizzles(swizzle: str, span: int) -> None:
    """PTX ISA, "Swizzling modes": the 16-byte chunk of a span is XORed with the row of the 128-byte pattern."""
    box = (span // 2, 16)
    at = 1024 if span == 128 else 256
    stored = load(box, swizzle, 8, 4, at).reshape(-1, 8)  # 16-byte chunks
    plain = window(box, 8, 4).reshape(-1, 8)
    for chunk in range(len(plain)):
        address = at + 16 * chunk
        row = address >> 7
        moved = address ^ (row % (span // 16) << 4)
        np.testing.assert_array_equal(stored[(moved - at) // 16], plain[chunk])


def test_out_of_bounds_bytes_count_as_well() -> None:
    size = 64 * 16 * 2
    text = LOAD.format(bar=16384, bytes=size - 16, x=60, y=20, at=0)

    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["s"], (80, 24), (160,), (64, 16), 2)

    outcome = launch(text, {"s": source()}, maps=[tensor], shared=20000)
    assert outcome.kinds == ["mbarrier", "deadlock"]
    assert "16 more than expected" in outcome.message("mbarrier")
    short = launch(text.replace(str(size - 16), str(size + 16)), {"s": source()}, maps=[tensor], shared=20000)
    assert short.kinds == ["deadlock"]
    assert "16 bytes are missing" in short.message("deadlock")


def multicast(mask: str, init: str = "fence.mbarrier_init.release.cluster;", drain: bool = True) -> str:
    wait = "LOOP:\n mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+8192], 0;\n @!%p3 bra LOOP;\n"
    return f"""
 mov.u32 %r20, %cluster_ctarank;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+8192], 1;
 {init}
 barrier.cluster.arrive.relaxed;
 barrier.cluster.wait;
 elect.sync %r5|%p2, -1;
 @!%p2 bra WAIT;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+8192], 2048;
 shl.b32 %r6, %r20, 3;
 shl.b32 %r7, %r20, 10;
 add.s32 %r7, %r7, %r1;
 mov.b32 %r8, 0;
 mov.b16 %rs1, {mask};
 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r7], [%rd50, {{%r8, %r6}}], [%r1+8192], %rs1;
WAIT:
{wait if drain else ""}
"""  # noqa: E501


def half(a: dict[str, int]) -> TensorMap:
    assert split_box((64, 16), 2) == (64, 8)
    return TensorMap(a["s"], (80, 24), (160,), (64, 8), 2)


def test_multicast_fills_every_cta_of_the_mask() -> None:
    """Each CTA brings half of the box for both; both barriers count both halves."""
    out = np.zeros((2, 2048), np.uint8)
    text = multicast("3") + " mul.wide.u32 %rd30, %r20, 2048;\n add.s64 %rd1, %rd1, %rd30;\n"
    for seed in range(3):
        text_ = text + DUMP.format(out=1, at=0, bytes=2048)
        outcome = launch(text_, {"s": source(), "o": out}, cluster=2, maps=[half], shared=9000, seed=seed)
        assert outcome.kinds == []
    for copy in out:
        np.testing.assert_array_equal(copy.view(np.uint16).reshape(16, 64), window((64, 16), 0, 0))
    seen = outcome.result.observations["mbarriers"]
    assert [v["bytes"] for v in seen.values()] == [{2048}]


def test_multicast_mistakes() -> None:
    def found(text: str) -> set[str]:
        runs = [launch(text, {"s": source()}, cluster=2, maps=[half], shared=9000, seed=s) for s in range(3)]
        return {k for run in runs for k in run.kinds}

    assert found(multicast("1")) == {"deadlock"}
    assert found(multicast("4")) == {"tma"}
    assert "race" in found(multicast("3", init=""))
    assert found(multicast("3", drain=False)) == {"exit"}


STORE = """
 shl.b32 %r5, %r0, 4;
 add.s32 %r6, %r1, %r5;
 st.shared.v4.b32 [%r6], {{%r0, %r0, %r0, %r0}};
 fence.proxy.async.shared::cta;
 bar.sync 0;
 elect.sync %r5|%p2, -1;
 @!%p2 bra END;
 mov.b32 %r7, {x};
 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd50, {{%r7, {y}}}], [%r1];
 {again}
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group 0;
END:
"""


def test_stores_are_clipped_at_the_tensor() -> None:
    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["o"], (12, 10), (64,), (8, 16), 4)

    out = np.full((10, 16), 99, np.uint32)
    outcome = launch(STORE.format(x=8, y=-6, again=""), {"o": out}, maps=[tensor], out=["o"])
    assert outcome.kinds == []
    expected = np.full((10, 16), 99)
    rows = (np.arange(512) // 16 % 32).reshape(16, 32)[:, ::4]  # lane whose 16 bytes each element lies in
    expected[:10, 8:12] = rows[6:16, :4]
    np.testing.assert_array_equal(out, expected)


def test_storing_an_element_twice() -> None:
    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["o"], (12, 10), (64,), (8, 16), 4)

    again = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd50, {%r7, 2}], [%r1];"
    out = np.zeros((10, 16), np.uint32)
    outcome = launch(STORE.format(x=0, y=0, again=again), {"o": out}, maps=[tensor], out=["o"])
    assert outcome.kinds == ["written-twice"]
    assert "element [" in outcome.message("written-twice")


def test_a_tensor_that_leaves_its_buffer() -> None:
    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["s"], (80, 40), (160,), (64, 16), 2)

    text = LOAD.format(bar=16384, bytes=2048, x=0, y=20, at=0)
    outcome = launch(text, {"s": source()}, maps=[tensor], shared=20000)
    assert outcome.kinds == ["global-bounds"]


def test_shared_alignment_and_operands() -> None:
    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["s"], (80, 24), (160,), (64, 16), 2)

    text = LOAD.format(bar=16384, bytes=2048, x=0, y=0, at=64)
    assert launch(text, {"s": source()}, maps=[tensor], shared=20000).kinds == ["misaligned"]
    text = LOAD.format(bar=16384, bytes=2048, x=0, y=0, at=0)
    assert launch(text.replace("[%rd50,", "[%rd0,"), {"s": source()}, maps=[tensor], shared=20000).kinds == ["tma"]
    flat = text.replace("tensor.2d", "tensor.1d").replace("{%r6, %r7}", "{%r6}")
    assert launch(flat, {"s": source()}, maps=[tensor], shared=20000).kinds == ["tma"]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"address": 8}, "base address"),
        ({"strides": (100,)}, "multiples of 16"),
        ({"box": (300, 16)}, "1 to 256"),
        ({"box": (7, 16)}, "multiple of 16 bytes"),
        ({"swizzle": "64B"}, "swizzle span"),
    ],
)
def test_illegal_maps(change: dict[str, Any], rule: str) -> None:
    legal = {"address": 4096, "extents": (80, 24), "strides": (160,), "box": (64, 16), "element": 2}
    with pytest.raises(EmulatorError, match=rule):
        TensorMap(**{**legal, **change})  # type: ignore[arg-type]


def test_the_timeline_orders_issue_landing_and_wait() -> None:
    def tensor(a: dict[str, int]) -> TensorMap:
        return TensorMap(a["s"], (80, 24), (160,), (64, 16), 2)

    text = LOAD.format(bar=16384, bytes=2048, x=8, y=2, at=0)
    outcome = launch(text, {"s": source()}, maps=[tensor], shared=20000, trace=True)
    (copy,) = [e for e in outcome.result.timeline if e["kind"] == "load"]
    (wait,) = [e for e in outcome.result.timeline if e["kind"] == "wait"]
    assert copy["coordinates"] == (8, 2)
    assert copy["start"] < copy["end"] == wait["end"]
    assert wait["what"] == "mbarrier"
    assert wait["phase"] == 0
