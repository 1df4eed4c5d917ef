"""Tensor maps that a kernel changes itself: each field as the PTX ISA says, and what orders the copies behind that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import TensorMap
from warpwright.emulate.units.tma.encoding import decode

from .map_kit import encoded
from .ptx_kit import Outcome, launch
from .test_tma import DUMP, LOAD, source

FIRST = (1 << 32) + 4096  # where the kit places the first buffer
F16: dict[str, Any] = {"extents": (80, 24), "strides": (160,), "box": (64, 16), "element": 2, "type": "f16"}
AT = 18432  # of the map in shared memory

#: Eight lanes bring the map at %rd2 to shared memory.
BRING = f"""
 setp.gt.u32 %p8, %r0, 7;
 mul.wide.u32 %rd20, %r0, 8;
 add.s64 %rd21, %rd2, %rd20;
 shl.b32 %r20, %r0, 3;
 add.s32 %r20, %r20, %r1;
 @%p8 bra BROUGHT;
 ld.global.b64 %rd22, [%rd21];
 st.shared.b64 [%r20+{AT}], %rd22;
BROUGHT:
 bar.warp.sync -1;
 setp.ne.u32 %p9, %r0, 0;
"""
COPY = f"""
 bar.warp.sync -1;
 add.s32 %r21, %r1, {AT};
 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r21], 128;
"""
ACQUIRE = " fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n"


def replace(field: str, *values: str, space: str = "shared::cta", kind: str = "b32") -> str:
    place = f"[%r1+{AT}]" if space == "shared::cta" else "[%rd2]"
    dotted = f".{space}" if space else ""
    return f" @!%p9 tensormap.replace.tile.{field}{dotted}.b1024.{kind} {place}, {', '.join(values)};\n"


def changed_map(before: TensorMap, change: str) -> tuple[Outcome, Any]:
    """The map that lies at %rd2 after `change`."""
    raw = np.frombuffer(encoded(before), np.uint8).copy()
    outcome = launch(BRING + change + COPY, {"s": source(), "o": np.zeros(16, np.uint8), "m": raw}, shared=20000)
    return outcome, raw.tobytes()


BASE = TensorMap(0x1000, (80, 24, 3), (160, 4096), (32, 8, 1), 2, "64B", (), "zero", "f16")

#: PTX ISA 9.7.9.28, tensormap.replace: (change, what the map means then)
FIELDS = [
    (" mov.b64 %rd30, 0x123450;\n" + replace("global_address", "%rd30", kind="b64"), {"address": 0x123450}),
    (replace("global_dim", "0", "100"), {"extents": (100, 24, 3)}),
    (" mov.b32 %r30, 7;\n" + replace("global_dim", "2", "%r30"), {"extents": (80, 24, 7)}),
    (" mov.b64 %rd30, 320;\n" + replace("global_stride", "0", "%rd30", kind="b64"), {"strides": (320, 4096)}),
    (" mov.b64 %rd30, 0x8000000010;\n" + replace("global_stride", "1", "%rd30", kind="b64"),
     {"strides": (160, 0x8000000010)}),
    (replace("box_dim", "1", "16"), {"box": (32, 16, 1)}),
    (replace("element_stride", "1", "2"), {"steps": (1, 2, 1)}),
    (replace("global_dim", "2", "1") + " mov.b64 %rd30, 0;\n" + replace("global_stride", "1", "%rd30", kind="b64")
     + replace("rank", "1"), {"extents": (80, 24), "strides": (160,), "box": (32, 8)}),  # one less than the rank
    (replace("fill_mode", "1"), {"fill": "nan"}),
    (replace("swizzle_mode", "0"), {"swizzle": "none"}),
    (replace("swizzle_mode", "3") + replace("box_dim", "0", "64"), {"swizzle": "128B", "box": (64, 8, 1)}),
    (replace("swizzle_mode", "3") + replace("box_dim", "0", "64") + replace("swizzle_atomicity", "1"),
     {"swizzle": "128B/32B", "box": (64, 8, 1)}),
    (replace("elemtype", "1"), {"type": "u16"}),
    (replace("elemtype", "10"), {"type": "bf16"}),
    (replace("elemtype", "11") + replace("box_dim", "0", "16"), {"type": "tf32", "element": 4, "box": (16, 8, 1)}),
    (replace("elemtype", "12") + replace("box_dim", "0", "16"), {"type": "tf32.ftz", "element": 4, "box": (16, 8, 1)}),
    (replace("elemtype", "0") + replace("box_dim", "0", "64"), {"type": "u8", "element": 1, "box": (64, 8, 1)}),
]  # fmt: skip


@pytest.mark.parametrize(("change", "meaning"), FIELDS)
def test_each_field(change: str, meaning: dict[str, Any]) -> None:
    outcome, raw = changed_map(BASE, change)
    assert outcome.kinds == []
    assert decode(raw) == TensorMap(**{**{n: getattr(BASE, n) for n in BASE.__dataclass_fields__}, **meaning})


def test_a_type_is_no_longer_tf32_once_it_is_another() -> None:
    what = TensorMap(0x1000, (80, 24, 3), (160, 4096), (16, 8, 1), 4, "64B", (), "zero", "tf32")
    _, raw = changed_map(what, replace("elemtype", "7"))
    assert decode(raw).type == "f32"


def loaded(change: str, extra: str = ACQUIRE, **options: Any) -> tuple[Outcome, Any]:
    """A box of columns 8.. and rows 4.. of `s`, by a map at %rd2 that is changed first."""
    text = BRING + change + COPY + extra + LOAD.format(bar=16384, bytes=2048, x=8, y=4, at=0)
    text = text.replace("[%rd50,", "[%rd2,")
    text += DUMP.format(out=1, at=0, bytes=2048)
    out = np.zeros(2048, np.uint8)
    raw = np.frombuffer(encoded(TensorMap(address=FIRST, **F16)), np.uint8).copy()
    outcome = launch(text, {"s": source(), "o": out, "m": raw}, shared=20000, **options)
    return outcome, out.view(np.uint16).reshape(16, 64)


def test_copies_follow_the_changed_map() -> None:
    """PTX ISA 9.7.13.16, the example of tensormap.cp_fenceproxy: replace, copy and release, acquire, load."""
    down = f" mov.b64 %rd30, {FIRST + 160 * 3};\n" + replace("global_address", "%rd30", kind="b64")
    outcome, found = loaded(down + replace("global_dim", "1", "12"))
    assert outcome.kinds == []
    expected = np.zeros((16, 64), np.uint16)
    expected[:8] = source()[7:15, 8:72]  # rows from 12 on are outside
    np.testing.assert_array_equal(found, expected)


def test_a_map_in_global_memory_is_changed_in_place() -> None:
    release = " fence.proxy.tensormap::generic.release.gpu;\n"
    for space in ("global", ""):
        change = f" mov.b64 %rd30, {FIRST + 160};\n" + replace("global_address", "%rd30", space=space, kind="b64")
        text = " setp.ne.u32 %p9, %r0, 0;\n" + change + "FENCES" + LOAD.format(bar=16384, bytes=2048, x=8, y=4, at=0)
        text = text.replace("[%rd50,", "[%rd2,") + DUMP.format(out=1, at=0, bytes=2048)
        for fences, kinds in ((release + ACQUIRE, []), (ACQUIRE, ["race"]), (release, ["race"])):
            out = np.zeros(2048, np.uint8)
            raw = np.frombuffer(encoded(TensorMap(address=FIRST, **F16)), np.uint8).copy()
            outcome = launch(text.replace("FENCES", fences), {"s": source(), "o": out, "m": raw}, shared=20000)
            assert outcome.kinds == kinds
            if kinds:
                lacks = "acquire" if fences == release else "release"
                assert f"fence.proxy.tensormap::generic.{lacks}" in outcome.message("race")
            np.testing.assert_array_equal(out.view(np.uint16).reshape(16, 64), source()[5:21, 8:72])


def test_who_has_not_acquired_the_map_may_read_the_old_one() -> None:
    outcome, _ = loaded(replace("global_dim", "1", "12"), extra="")
    assert outcome.kinds == ["race"]
    assert "the write by warp 0 of CTA (0, 0, 0)" in outcome.message("race")
    assert "fence.proxy.tensormap::generic.acquire of that address by warp 0" in outcome.message("race")


def test_another_warp_waits_before_it_acquires() -> None:
    """Warp 0 changes the map, warp 1 copies by it: a barrier between the two, and then the fence."""
    text = BRING.replace("%p8, %r0, 7;", "%p8, %r0, 7;\n setp.gt.u32 %p10, %r0, 31;\n @%p10 bra OTHER;")
    text += replace("global_dim", "1", "12") + COPY + " {first}\n bra END;\nOTHER:\n {then}\n" + ACQUIRE
    text += """
 elect.sync %r5|%p2, -1;
 @!%p2 bra END;
 mbarrier.init.shared::cta.b64 [%r1+16384], 1;
 fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+16384], 2048;
 mov.b32 %r6, 0;
 add.s32 %r8, %r1, 16384;
 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd2, {{%r6, %r6}}], [%r8];
LOOP:
 mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+16384], 0;
 @!%p3 bra LOOP;
END:
"""

    def run(first: str, then: str, seed: int) -> list[str]:
        raw = np.frombuffer(encoded(TensorMap(address=FIRST, **F16)), np.uint8).copy()
        filled = text.format(first=first, then=then)
        buffers = {"s": source(), "o": np.zeros(16, np.uint8), "m": raw}
        return launch(filled, buffers, shared=20000, threads=64, seed=seed).kinds

    assert [run("bar.sync 1, 64;", "bar.sync 1, 64;", seed) for seed in range(4)] == [[]] * 4
    assert {kind for seed in range(8) for kind in run("", "", seed)} == {"race"}


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (" mov.b64 %rd30, 8;\n" + replace("global_stride", "0", "%rd30", kind="b64"), "tma", "a stride of 8 bytes"),
        (replace("rank", "6"), "tma", "it would have 7 modes"),
        (" add.s64 %rd2, %rd2, 16;\n", "misaligned", "is not a multiple of 64"),
    ],
)
def test_what_is_illegal_is_told(change: str, kind: str, words: str) -> None:
    outcome, _ = loaded(change)
    assert outcome.kinds == [kind]
    assert words in outcome.message(kind)
