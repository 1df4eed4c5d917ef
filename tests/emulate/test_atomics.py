"""Atomic operations: what they compute, with whom they race, and what releases and acquires order on global memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from warpwright.emulate import UnsupportedInstruction
from warpwright.emulate.mutants.edits import apply, mutants

from .ptx_kit import HEADER, Outcome, launch


def atomic(opcode: str, start: Any, value: str, spread: bool = True, **options: Any) -> tuple[Outcome, Any, Any]:
    """`opcode` of all lanes on one word each, or (not `spread`) all on the first: the old values, and what is there."""
    words = np.ascontiguousarray(start)
    size = words.dtype.itemsize
    old = np.zeros(32, words.dtype)
    kind = {4: "b32", 8: "b64", 2: "b16"}[size]
    register = {4: "%r9", 8: "%rd9", 2: "%rs9"}[size]
    body = f"""
 mul.wide.u32 %rd20, %r0, {size};
 add.s64 %rd21, %rd0, {"%rd20" if spread else "0"};
 add.s64 %rd22, %rd1, %rd20;
 {value}
 {opcode.format(d=register, a="[%rd21]")};
 st.global.{kind} [%rd22], {register};
"""
    outcome = launch(body, {"w": words, "o": old}, out=["o"], **options)
    return outcome, old, words


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("add.u32", lambda w: w + 5), ("min.s32", lambda w: np.minimum(w.view(np.int32), 5)),
        ("max.s32", lambda w: np.maximum(w.view(np.int32), 5)), ("min.u32", lambda w: np.minimum(w, 5)),
        ("max.u32", lambda w: np.maximum(w, 5)), ("and.b32", lambda w: w & 5), ("or.b32", lambda w: w | 5),
        ("xor.b32", lambda w: w ^ 5), ("exch.b32", lambda w: 0 * w + 5),
        ("inc.u32", lambda w: np.where(w >= 5, 0, w + 1)),
        ("dec.u32", lambda w: np.where((w == 0) | (w > 5), 5, w - 1)),
    ],
)  # fmt: skip
def test_integers(operation: str, expected: Any) -> None:
    start = (np.arange(32, dtype=np.int64) - 16).astype(np.uint32)
    outcome, old, words = atomic(f"atom.global.{operation} {{d}}, {{a}}, %r5", start.copy(), "mov.b32 %r5, 5;")
    assert outcome.kinds == []
    np.testing.assert_array_equal(old, start)
    np.testing.assert_array_equal(words, np.asarray(expected(start)).astype(np.uint32))


def test_compare_and_swap_of_every_width() -> None:
    for bits, register in ((16, "%rs"), (32, "%r"), (64, "%rd")):
        start = np.arange(32, dtype=f"u{bits // 8}")
        values = f"mov.b{bits} {register}7, 3;\n mov.b{bits} {register}8, 77;"
        call = f"atom.global.relaxed.gpu.cas.b{bits} {{d}}, {{a}}, {register}7, {register}8"
        outcome, old, words = atomic(call, start.copy(), values)
        assert outcome.kinds == []
        np.testing.assert_array_equal(old, np.arange(32))
        np.testing.assert_array_equal(words, np.where(start == 3, 77, start))


def test_lanes_at_one_word_follow_each_other() -> None:
    outcome, old, words = atomic("atom.global.add.u32 {d}, {a}, 3", np.zeros(32, np.uint32), "", spread=False)
    assert outcome.kinds == []
    assert words[0] == 96
    assert sorted(old.tolist()) == [3 * i for i in range(32)]


@pytest.mark.parametrize(
    ("kind", "dtype", "one"),
    [
        ("f16x2", np.float16, "mov.b32 %r5, 0x3C003C00;"), ("bf16x2", ml_dtypes.bfloat16, "mov.b32 %r5, 0x3F803F80;"),
        ("f32", np.float32, "mov.b32 %r5, 0x3F800000;"),
    ],
)  # fmt: skip
def test_floats(kind: str, dtype: Any, one: str) -> None:
    start = np.linspace(-3, 3, 32 * 4 // np.dtype(dtype).itemsize).astype(dtype)
    noftz = "" if kind == "f32" else ".noftz"
    call = f"atom.global.add{noftz}.{kind} {{d}}, {{a}}, %r5"
    outcome, old, words = atomic(call, start.view(np.uint32).copy(), one)
    assert outcome.kinds == []
    np.testing.assert_array_equal(old.view(dtype), start)
    np.testing.assert_array_equal(words.view(dtype), (start + dtype(1)).astype(dtype))


def test_subnormals_stay_in_shared_memory_alone() -> None:
    """PTX ISA, "red": .add.f32 flushes them in global memory and keeps them in shared memory."""
    _, _, words = atomic("atom.global.add.f32 {d}, {a}, 0f00000000", np.full(32, 5, np.uint32), "")
    assert words.tolist() == [0] * 32
    body = " shl.b32 %r2, %r0, 2;\n add.s32 %r2, %r2, %r1;\n st.shared.b32 [%r2], 5;\n"
    body += " red.shared.add.f32 [%r2], 0f00000000;\n ld.shared.b32 %r9, [%r2];\n mul.wide.u32 %rd20, %r0, 4;\n"
    body += " add.s64 %rd21, %rd0, %rd20;\n st.global.b32 [%rd21], %r9;\n"
    out = np.zeros(32, np.uint32)
    assert launch(body, {"o": out}, out=["o"]).kinds == []
    assert out.tolist() == [5] * 32


def test_vectors() -> None:
    words = np.arange(128, dtype=np.float32)
    body = " mul.wide.u32 %rd20, %r0, 16;\n add.s64 %rd21, %rd0, %rd20;\n mov.b32 %r5, 0x3F800000;\n"
    body += " red.relaxed.gpu.global.add.v4.f32 [%rd21], {%r5, %r5, %r5, %r5};\n"
    assert launch(body, {"w": words}).kinds == []
    np.testing.assert_array_equal(words, np.arange(128) + 1)
    assert launch(body.replace("%rd0, %rd20", "%rd0, 8"), {"w": words}).kinds == ["misaligned"]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("red.global.add.u32 [%rd0+2], 1;", "misaligned"),
        ("red.global.add.u32 [%rd0+128], 1;", "global-bounds"),
        ("red.shared.add.u32 [%r1+8192], 1;", "shared-bounds"),
        ("red.shared.add.u32 [%r1], 1;", "uninitialised-read"),
    ],
)
def test_mistakes(call: str, kind: str) -> None:
    assert kind in launch(" " + call, {"w": np.zeros(32, np.uint32)}).kinds


def test_refused() -> None:
    for call in ("red.global.min.f32 [%rd0], 0f00000000;", "multimem.red.global.add.f32 [%rd0], 0f00000000;"):
        with pytest.raises(UnsupportedInstruction, match=call.split()[0].split(".")[0]):
            launch(" " + call, {"w": np.zeros(32, np.uint32)})


# -- races in shared memory ----------------------------------------------------------------------------------------

ZERO = " setp.ne.u32 %p1, %r0, 0;\n @!%p1 st.shared.b32 [%r1], 0;\n bar.sync 0;\n"
ADD = " red.shared.add.u32 [%r1], 1;\n"
READ = " ld.shared.b32 %r9, [%r1];\n"
WRITE = " @!%p1 st.shared.b32 [%r1], 1;\n"


def kinds(body: str, seeds: int = 4, **options: Any) -> set[str]:
    found = set()
    for seed in range(seeds):
        buffers = {name: np.zeros(64, np.uint32) for name in ("w", "flag")}
        found |= set(launch(body, buffers, seed=seed, **{"threads": 128, **options}).kinds)
    return found


@pytest.mark.parametrize(
    ("body", "races"),
    [
        (ZERO + ADD + " bar.sync 0;\n" + READ, False),
        (ZERO + ADD + ADD, False),
        (ZERO + ADD + READ, True),
        (ZERO.replace(" bar.sync 0;\n", "") + ADD, True),
        (ZERO + ADD + WRITE, True),
        (ZERO + ADD + " bar.sync 0;\n" + WRITE, False),
        (ZERO + READ + ADD, True),
        (ZERO + " ld.volatile.shared.b32 %r9, [%r1];\n" + ADD, False),
        (ZERO + " ld.volatile.shared.b32 %r9, [%r1];\n" + WRITE, True),
    ],
)
def test_races_in_shared_memory(body: str, races: bool) -> None:
    assert kinds(body) - {"uninitialised-read"} == ({"race"} if races else set())


def test_every_atomic_must_be_ordered_before_a_read() -> None:
    """Warp 3 reads what all have added: the last addition may be its own."""
    last = " shr.u32 %r2, %r0, 5;\n setp.ne.u32 %p2, %r2, 3;\n @%p2 bra OFF;\n"
    body = ZERO + ADD + last + READ + "OFF:\n"
    assert all(set(launch(body, threads=128, seed=seed).kinds) == {"race"} for seed in range(6))


# -- order on global memory ----------------------------------------------------------------------------------------

PRODUCE = " mul.wide.u32 %rd20, %r0, 4;\n add.s64 %rd21, %rd0, %rd20;\n{store}"
STORE = " st.global.b32 [%rd21], 7;\n"
LOAD = " ld.global.b32 %r9, [%rd21];\n"
RELEASE = " st.release.gpu.global.b32 [%rd1], 1;\n"
ACQUIRE = " ld.acquire.gpu.global.b32 %r8, [%rd1];\n"
FENCE = " fence.acq_rel.gpu;\n"


def pair(
    store: str, signal: str, wait: str, load: str, before: str = " bar.sync 0;\n", after: str = " bar.sync 0;\n"
) -> str:
    """CTA 0 stores and signals by one thread; one thread of CTA 1 waits for the flag, and all of them load."""
    return f"""
 mul.wide.u32 %rd20, %r0, 4;
 add.s64 %rd21, %rd0, %rd20;
 setp.ne.u32 %p1, %r0, 0;
 mov.u32 %r3, %ctaid.x;
 setp.ne.u32 %p2, %r3, 0;
 @%p2 bra CONSUMER;
{store}{before}
 @%p1 bra END;
{signal}
 bra END;
CONSUMER:
 @%p1 bra SEEN;
SPIN:
{wait}
 setp.eq.u32 %p3, %r8, 0;
 @%p3 bra SPIN;
{{last}}
SEEN:
{after}
{load}
END:
"""


def order(signal: str, wait: str, last: str = "", store: str = STORE, load: str = LOAD, **options: Any) -> set[str]:
    barriers = {name: options.pop(name) for name in ("before", "after") if name in options}
    body = pair(store, signal, wait, load, **barriers).replace("{last}", last)
    return kinds(body, **{"threads": 64, "grid": 2, **options})


@pytest.mark.parametrize(
    ("signal", "wait", "last"),
    [
        (RELEASE, ACQUIRE, ""),
        (RELEASE.replace("gpu", "sys"), ACQUIRE, ""),
        (" red.release.gpu.global.add.u32 [%rd1], 1;\n", ACQUIRE, ""),
        (FENCE + " red.global.add.u32 [%rd1], 1;\n", ACQUIRE, ""),
        (FENCE + " st.relaxed.gpu.global.b32 [%rd1], 1;\n", " ld.relaxed.gpu.global.b32 %r8, [%rd1];\n", FENCE),
        (
            " membar.gl;\n st.volatile.global.b32 [%rd1], 1;\n",
            " ld.volatile.global.b32 %r8, [%rd1];\n",
            " membar.gl;\n",
        ),
        (
            " atom.acq_rel.gpu.global.exch.b32 %r7, [%rd1], 1;\n",
            " atom.acquire.gpu.global.add.u32 %r8, [%rd1], 0;\n",
            "",
        ),
        (" fence.sc.gpu;\n atom.global.exch.b32 %r7, [%rd1], 1;\n", " atom.global.cas.b32 %r8, [%rd1], 9, 9;\n", FENCE),
    ],
)
def test_released_and_acquired(signal: str, wait: str, last: str) -> None:
    assert order(signal, wait, last) == set()
    assert order(signal, wait, last, load=STORE) == set()
    assert order(signal, wait, last, store=LOAD, load=STORE) == set()


@pytest.mark.parametrize(
    ("signal", "wait", "last"),
    [
        (" st.relaxed.gpu.global.b32 [%rd1], 1;\n", ACQUIRE, ""),
        (RELEASE, " ld.relaxed.gpu.global.b32 %r8, [%rd1];\n", ""),
        (RELEASE.replace("gpu", "cta"), ACQUIRE, ""),  # the scope of neither may leave the other out
        (RELEASE, ACQUIRE.replace("gpu", "cluster"), ""),
        (" red.global.add.u32 [%rd1], 1;\n", ACQUIRE, ""),
        (FENCE.replace("gpu", "cta") + " red.global.add.u32 [%rd1], 1;\n", ACQUIRE, ""),
        (FENCE + " red.global.add.u32 [%rd1], 1;\n", " ld.relaxed.gpu.global.b32 %r8, [%rd1];\n", ""),
        (
            FENCE + " red.global.add.u32 [%rd1], 1;\n",
            " ld.relaxed.gpu.global.b32 %r8, [%rd1];\n",
            " fence.acq_rel.cta;\n",
        ),
        (" red.global.add.u32 [%rd1], 1;\n" + FENCE, ACQUIRE, ""),  # the fence comes too late
    ],
)
def test_a_broken_chain_is_a_race(signal: str, wait: str, last: str) -> None:
    assert order(signal, wait, last) == {"race"}
    assert order(signal, wait, last, store=LOAD, load=STORE) == {"race"}


def test_an_ordinary_flag_is_a_race_itself() -> None:
    assert "race" in order(" st.global.b32 [%rd1], 1;\n", ACQUIRE)
    assert "race" in order(RELEASE, " ld.global.b32 %r8, [%rd1];\n")


def test_barriers_on_both_sides() -> None:
    """What other threads stored is released only behind a barrier, and acquired for them only before one."""
    assert order(RELEASE, ACQUIRE, before="") == {"race"}
    assert order(RELEASE, ACQUIRE, after="") == {"race"}


def test_a_release_sequence() -> None:
    """Three CTAs add to a counter, each releases what the ones before it have released: the last one knows of all."""
    body = """
 mul.wide.u32 %rd20, %r0, 4;
 mov.u32 %r3, %ctaid.x;
 mul.wide.u32 %rd22, %r3, 128;
 add.s64 %rd21, %rd0, %rd20;
 add.s64 %rd23, %rd21, %rd22;
 st.global.b32 [%rd23], 7;
 bar.warp.sync -1;
 setp.ne.u32 %p1, %r0, 0;
 mov.b32 %r8, 0;
 @!%p1 atom.acq_rel.gpu.global.add.u32 %r8, [%rd1], 1;
 shfl.sync.idx.b32 %r8, %r8, 0, 31, -1;
 setp.ne.u32 %p2, %r8, 2;
 @%p2 bra END;
 ld.global.b32 %r9, [%rd21];
 ld.global.b32 %r10, [%rd21+128];
 ld.global.b32 %r11, [%rd21+256];
END:
"""

    def found(text: str) -> set[str]:
        result: set[str] = set()
        for seed in range(6):
            buffers = {"w": np.zeros(96, np.uint32), "flag": np.zeros(1, np.uint32)}
            result |= set(launch(text, buffers, grid=3, seed=seed).kinds)
        return result

    assert found(body) == set()
    assert found(body.replace("acq_rel", "acquire")) == {"race"}
    assert found(body.replace("acq_rel", "release")) == {"race"}
    assert found(body.replace(" bar.warp.sync -1;\n", "")) == {"race"}


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (" atom.relaxed.gpu.global.add.u32 %r9, [%rd1], 1;\n", set()),
        (" st.relaxed.gpu.global.b32 [%rd1], 2;\n", {"race"}),
    ],
)
def test_what_ends_a_release_sequence(second: str, expected: set[str]) -> None:
    """PTX ISA, "Release sequence": atomic operations go on with what was released, a store begins anew."""
    spin = "{0}:\n ld.relaxed.gpu.global.b32 %r8, [%rd1];\n setp.ne.u32 %p3, %r8, {1};\n @%p3 bra {0};\n"
    body = " setp.ne.u32 %p1, %r0, 0;\n @%p1 bra END;\n mov.u32 %r3, %ctaid.x;\n setp.eq.u32 %p2, %r3, 0;\n"
    body += " @%p2 bra FIRST;\n setp.eq.u32 %p2, %r3, 1;\n @%p2 bra SECOND;\n" + spin.format("LAST", 2)
    body += " ld.acquire.gpu.global.b32 %r8, [%rd1];\n ld.global.b32 %r9, [%rd0];\n bra END;\n"
    body += "FIRST:\n st.global.b32 [%rd0], 7;\n" + RELEASE + " bra END;\nSECOND:\n" + spin.format("SEEN", 1)
    assert kinds(body + second + "END:\n", threads=32, grid=3) == expected


def test_every_atomic_of_global_memory_must_be_ordered_before_a_read() -> None:
    """The last addition may be the reader's own."""
    body = " red.global.add.u32 [%rd0], 1;\n shr.u32 %r2, %r0, 5;\n setp.ne.u32 %p2, %r2, 3;\n @%p2 bra OFF;\n"
    body += " ld.global.b32 %r9, [%rd0];\nOFF:\n"
    for seed in range(6):
        assert set(launch(body, {"w": np.zeros(64, np.uint32)}, threads=128, seed=seed).kinds) == {"race"}


def test_what_never_meets_is_not_looked_at() -> None:
    """Every CTA reads one part and writes another; and what two CTAs write beside each other is no race."""
    body = " mov.u32 %r3, %ctaid.x;\n mul.wide.u32 %rd20, %r3, 2;\n add.s64 %rd21, %rd0, %rd20;\n mov.b16 %rs1, 1;\n"
    body += " setp.ne.u32 %p1, %r0, 0;\n @!%p1 st.global.b16 [%rd21], %rs1;\n"
    assert kinds(body, grid=4, threads=32) == set()
    assert kinds(body + " @!%p1 ld.global.b16 %rs2, [%rd21];\n", grid=4, threads=32) == set()
    assert kinds(body.replace("%r3, 2", "%r3, 0"), grid=4, threads=32) == {"race"}
    again = body + " @!%p1 ld.global.b16 %rs2, [%rd0];\n"
    assert kinds(again, grid=4, threads=32) == {"race"}


def test_the_read_only_path_sees_no_write_of_the_kernel() -> None:
    """ld.global.nc of what the kernel has written, however it is ordered."""
    body = " mul.wide.u32 %rd20, %r0, 4;\n add.s64 %rd21, %rd0, %rd20;\n{0} bar.sync 0;\n{1}"
    load = " ld.global.nc.L1::no_allocate.b32 %r9, [%rd21];\n"
    assert kinds(body.format(STORE, load), threads=64) == {"race"}
    assert kinds(body.format(STORE, load.replace(".nc", "")), threads=64) == set()
    assert kinds(body.format(load, STORE), threads=64) == set()
    two = load + load.replace("%rd21", "%rd21+128")
    assert kinds(body.format(STORE, two), threads=32) == {"race"}
    buffers = {name: np.zeros(64, np.uint32) for name in ("w", "flag")}
    assert "without .nc" in launch(body.format(STORE, load), buffers, threads=32).message("race")


def test_a_race_is_told_with_what_would_order_it() -> None:
    buffers = {name: np.zeros(64, np.uint32) for name in ("w", "flag")}
    body = pair(STORE, " red.global.add.u32 [%rd1], 1;\n", ACQUIRE, LOAD).replace("{last}", "")
    message = launch(body, buffers, threads=64, grid=2).message("race")
    assert "byte 0 of 'w' in global memory" in message
    assert "generic proxy read by warp 0 of CTA (1, 0, 0)" in message
    assert "a release after the write by warp 0 of CTA (0, 0, 0)" in message


def test_mutants_of_the_order_are_caught() -> None:
    body = pair(STORE, RELEASE, ACQUIRE, LOAD).replace("{last}", "")
    text = HEADER.format(params="", threads=64, loads="", body=body)
    names = []
    for mutant in mutants(text, ()):
        altered = apply(text, mutant)
        altered = altered[altered.index(" mul.wide") : altered.rindex(" ret;")]
        assert kinds(altered, threads=64, grid=2, budget=20000), mutant.name
        names.append(mutant.name)
    assert "relaxed instead of st.release.gpu.global.b32 #1" in names
    assert "delete st.release.gpu.global.b32 #1" in names
    assert "relaxed instead of ld.acquire.gpu.global.b32 #1" in names
