"""Loads and stores that follow each other are one call: results, and findings, are those of each by itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

from warpwright.emulate import program

from .ptx_kit import lanes, launch, module

LANE = np.arange(32, dtype=np.uint32)
PLACES = " shl.b32 %r5, %r0, 2;\n add.s32 %r5, %r1, %r5;\n"


def calls(body: str) -> list[str]:
    """The names of the functions for several accesses that the code of `body` calls."""
    source = program(module(body, 1)).source
    return re.findall(r"\b(\w+_(?:loads|stores)|stmatrices)\(", source)


def test_results_are_those_of_each() -> None:
    code = PLACES + "".join(f" st.shared.b32 [%r5+{128 * i}], %r{2 + i};\n" for i in range(3))
    code += " bar.warp.sync -1;\n"
    code += "".join(f" ld.shared.b32 %r{20 + i}, [%r5+{128 * i}];\n" for i in range(3))
    code += " mad.lo.s32 %r9, %r20, 100, %r21;\n mad.lo.s32 %r9, %r9, 100, %r22;\n"
    assert calls(code) == ["shared_stores", "shared_loads"]
    np.testing.assert_array_equal(lanes(code, LANE, LANE + 1, LANE + 2), LANE * 10000 + (LANE + 1) * 100 + LANE + 2)


def test_the_last_of_two_stores_stays() -> None:
    code = PLACES + " st.shared.b32 [%r5], %r2;\n st.shared.b32 [%r5], %r3;\n bar.warp.sync -1;\n"
    code += " ld.shared.b32 %r9, [%r5];\n"
    assert calls(code) == ["shared_stores"]
    np.testing.assert_array_equal(lanes(code, LANE, LANE + 7), LANE + 7)


def test_vectors_and_narrow_values() -> None:
    code = " shl.b32 %r5, %r0, 4;\n add.s32 %r5, %r1, %r5;\n cvt.u16.u32 %rs1, %r2;\n cvt.u16.u32 %rs2, %r3;\n"
    code += " st.shared.v4.b32 [%r5], {%r2, %r3, %r2, %r3};\n st.shared.v4.b32 [%r5+512], {%r3, %r3, %r2, %r2};\n"
    code += " st.shared.b8 [%r5+1], %rs1;\n st.shared.b8 [%r5+513], %rs2;\n"
    code += " ld.shared.s8 %rs3, [%r5+1];\n ld.shared.s8 %rs4, [%r5+513];\n cvt.s32.s16 %r20, %rs3;\n"
    code += " cvt.s32.s16 %r21, %rs4;\n ld.shared.v2.b32 {%r22, %r23}, [%r5+8];\n"
    code += " ld.shared.v2.b32 {%r24, %r25}, [%r5+520];\n"
    code += " mad.lo.s32 %r9, %r20, 1000, %r21;\n add.s32 %r9, %r9, %r23;\n sub.s32 %r9, %r9, %r24;\n"
    assert calls(code) == ["shared_stores", "shared_stores", "shared_loads", "shared_loads"]
    a, b = LANE + 120, LANE * 3
    signed = [v.astype(np.uint8).astype(np.int8).astype(np.int64) for v in (a, b)]
    expected = (signed[0] * 1000 + signed[1] + b - a).astype(np.uint32)
    np.testing.assert_array_equal(lanes(code, a, b), expected)


def test_what_depends_on_a_load_stays_behind_it() -> None:
    """The second address comes from the first load; and a register is loaded, used, loaded again."""
    code = PLACES + " st.shared.b32 [%r5], %r5;\n bar.warp.sync -1;\n"
    chain = code + " ld.shared.b32 %r6, [%r5];\n ld.shared.b32 %r9, [%r6];\n sub.s32 %r9, %r9, %r1;\n"
    assert calls(chain) == []
    np.testing.assert_array_equal(lanes(chain, LANE), 4 * LANE)
    again = code + " ld.shared.b32 %r6, [%r5];\n add.s32 %r7, %r6, 1;\n ld.shared.b32 %r6, [%r5];\n"
    again += " add.s32 %r9, %r6, %r7;\n sub.s32 %r9, %r9, %r1;\n sub.s32 %r9, %r9, %r1;\n"
    assert calls(again) == []
    np.testing.assert_array_equal(lanes(again, LANE), 8 * LANE + 1)


def test_a_stored_register_may_be_written_again_between() -> None:
    code = PLACES + " st.shared.b32 [%r5], %r2;\n add.s32 %r2, %r2, 5;\n st.shared.b32 [%r5+128], %r2;\n"
    code += " bar.warp.sync -1;\n ld.shared.b32 %r6, [%r5];\n ld.shared.b32 %r7, [%r5+128];\n"
    code += " mad.lo.s32 %r9, %r6, 1000, %r7;\n"
    np.testing.assert_array_equal(lanes(code, LANE), LANE * 1000 + LANE + 5)


def test_a_guard_counts() -> None:
    code = PLACES + " setp.lt.u32 %p1, %r0, 16;\n st.shared.b32 [%r5], 1;\n st.shared.b32 [%r5+128], 2;\n"
    code += " @%p1 st.shared.b32 [%r5], 3;\n @%p1 st.shared.b32 [%r5+128], 4;\n @!%p1 st.shared.b32 [%r5], 5;\n"
    code += " bar.warp.sync -1;\n ld.shared.b32 %r6, [%r5];\n ld.shared.b32 %r7, [%r5+128];\n"
    code += " mad.lo.s32 %r9, %r6, 10, %r7;\n"
    assert calls(code) == ["shared_stores", "shared_stores", "shared_loads"]
    np.testing.assert_array_equal(lanes(code, LANE), np.where(LANE < 16, 34, 52))


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(
    ("wrong", "kind"), [("+8192", "shared-bounds"), ("+2", "misaligned"), ("+1024", "uninitialised-read")]
)
def test_a_bad_load_is_named(at: int, wrong: str, kind: str) -> None:
    body = PLACES + "".join(f" st.shared.b32 [%r5+{128 * i}], %r0;\n" for i in range(3)) + " bar.warp.sync -1;\n"
    loads = [f" ld.shared.b32 %r{20 + i}, [%r5+{128 * i}];\n" for i in range(3)]
    loads[at] = f" ld.shared.b32 %r{20 + at}, [%r5{wrong}];\n"
    body += "".join(loads)
    assert "shared_loads" in calls(body)
    outcome = launch(body)
    assert outcome.kinds == [kind]
    line = next(n for n, text in enumerate(module_text(body).split("\n"), 1) if f"[%r5{wrong}]" in text)
    assert outcome.result.findings[0].lines == (line,)


def module_text(body: str) -> str:
    from .ptx_kit import HEADER

    return HEADER.format(params="", threads=32, loads="", body=body)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_both_lines_of_a_race_are_named(at: int) -> None:
    """Warp 1 reads one of three rows that warp 0 writes at once, and nothing orders them."""
    body = PLACES + " setp.ge.u32 %p1, %r0, 32;\n @%p1 bra READ;\n"
    body += "".join(f" st.shared.b32 [%r5+{128 * i}], %r{i};\n" for i in range(3)) + " bra END;\nREAD:\n"
    body += f" ld.shared.b32 %r20, [%r5+{128 * at - 128}];\nEND:\n"
    found = {f.lines: f for seed in range(6) for f in launch(body, threads=64, seed=seed).result.findings}
    lines = module_text(body).split("\n")
    store = next(n for n, text in enumerate(lines, 1) if f"st.shared.b32 [%r5+{128 * at}]" in text)
    load = next(n for n, text in enumerate(lines, 1) if "ld.shared" in text)
    assert {(load, store), (store, load)} & set(found)


def test_global_accesses() -> None:
    body = """
 mul.wide.u32 %rd20, %r0, 4;
 add.s64 %rd21, %rd0, %rd20;
 add.s64 %rd22, %rd1, %rd20;
 ld.global.b32 %r5, [%rd21];
 ld.global.b32 %r6, [%rd21+128];
 st.global.b32 [%rd22], %r6;
 st.global.b32 [%rd22+{offset}], %r5;
"""
    assert calls(body.format(offset=128)) == ["global_loads", "global_stores"]
    data = np.arange(64, dtype=np.uint32) * 7
    good = launch(body.format(offset=128), {"a": data, "o": np.zeros(64, np.uint32)}, out=["o"])
    assert good.kinds == []
    np.testing.assert_array_equal(good.arrays["o"].view(np.uint32), np.concatenate([data[32:], data[:32]]))
    for offset, kind in ((256, "global-bounds"), (124, "written-twice"), (126, "misaligned")):
        outcome = launch(body.format(offset=offset), {"a": data, "o": np.zeros(64, np.uint32)}, out=["o"])
        assert outcome.kinds == [kind]
        assert f"[%rd22+{offset}]" in outcome.message(kind)
    outcome = launch(body.format(offset=128), {"a": data, "o": data.copy()}, out=["a", "o"])
    assert outcome.kinds == ["global-bounds", "global-bounds"]  # both loads of what is an output only


@pytest.mark.parametrize("width", [8, 16, 32])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_global_stores_that_another_warp_meets(at: int, width: int) -> None:
    """Warp 0 writes three rows of a buffer that is read as well; warp 1 reads, or writes, one of them."""
    size = width // 8
    body = f" setp.ge.u32 %p1, %r0, 32;\n and.b32 %r4, %r0, 31;\n mul.wide.u32 %rd20, %r4, {size};\n"
    body += " add.s64 %rd21, %rd0, %rd20;\n mov.b32 %r5, 7;\n mov.b32 %r6, 8;\n mov.b32 %r7, 9;\n @%p1 bra OTHER;\n"
    body += "".join(f" st.global.b{width} [%rd21+{32 * size * i}], %r{5 + i};\n" for i in range(3)) + " bra END;\n"
    body += "OTHER:\n {}\nEND:\n"
    assert calls(body.format("")) == ["global_stores"]
    rows = np.zeros(32 * 5 * size, np.uint8)
    place = f"[%rd21+{32 * size * at}]"
    alone = launch(body.format(""), {"a": rows}, threads=64)
    assert alone.kinds == []
    words = alone.arrays["a"].view(f"u{size}").reshape(5, 32)
    np.testing.assert_array_equal(words, np.repeat([[7], [8], [9], [0], [0]], 32, axis=1))
    for other in (f"ld.global.b{width} %r9, {place};", f"st.global.b{width} {place}, %r5;"):
        outcomes = [launch(body.format(other), {"a": rows.copy()}, threads=64, seed=seed) for seed in range(6)]
        assert {kind for each in outcomes for kind in each.kinds} == {"race"}
        lines = {line for each in outcomes for f in each.result.findings for line in f.lines}
        text = module_text(body.format(other)).split("\n")
        ours = f"st.global.b{width} {place}, %r{5 + at}"
        assert lines == {n for n, line in enumerate(text, 1) if ours in line or (other in line)}


def test_global_stores_to_one_place() -> None:
    """The last one stays, and the buffer's other readers are not disturbed."""
    body = " mul.wide.u32 %rd20, %r0, 4;\n add.s64 %rd21, %rd0, %rd20;\n mov.b32 %r5, 7;\n mov.b32 %r6, 8;\n"
    body += " st.global.b32 [%rd21], %r5;\n st.global.b32 [%rd21], %r6;\n"
    body += " ld.global.b32 %r7, [%rd21];\n ld.global.b32 %r8, [%rd21+128];\n st.global.b32 [%rd21+256], %r7;\n"
    assert calls(body) == ["global_stores", "global_loads"]
    outcome = launch(body, {"a": np.zeros(96, np.uint32)})
    assert outcome.kinds == []
    np.testing.assert_array_equal(outcome.arrays["a"].view(np.uint32), np.repeat([8, 0, 8], 32))


def both_ways(body: str, threads: int) -> list[set[str]]:
    """What each of several schedules finds."""
    return [set(launch(body, threads=threads, seed=seed).kinds) for seed in range(6)]


def test_stores_meet_those_who_have_read() -> None:
    """Warp 0 writes rows that warp 1 reads before the next barrier: a race, whoever comes first."""
    rows = "".join(f" st.shared.b32 [%r5+{128 * i}], %r0;\n" for i in range(2))
    body = " and.b32 %r4, %r0, 31;\n shl.b32 %r5, %r4, 2;\n add.s32 %r5, %r1, %r5;\n setp.ge.u32 %p1, %r0, 32;\n"
    body += " @%p1 bra FIRST;\n" + rows + "FIRST:\n bar.sync 0;\n @%p1 bra READ;\n" + rows + " bra END;\nREAD:\n"
    body += " ld.shared.b32 %r20, [%r5];\n ld.shared.b32 %r21, [%r5+128];\nEND:\n"
    assert calls(body) == ["shared_stores", "shared_stores", "shared_loads"]
    assert both_ways(body, 64) == [{"race"}] * 6


def test_loads_meet_every_atomic_before_them() -> None:
    """Warp 3 reads two words that all have added to: the last addition may be its own."""
    body = " setp.ne.u32 %p1, %r0, 0;\n @!%p1 st.shared.b32 [%r1], 0;\n @!%p1 st.shared.b32 [%r1+4], 0;\n bar.sync 0;\n"
    body += " red.shared.add.u32 [%r1], 1;\n red.shared.add.u32 [%r1+4], 1;\n shr.u32 %r2, %r0, 5;\n"
    body += " setp.ne.u32 %p2, %r2, 3;\n @%p2 bra OFF;\n and.b32 %r4, %r0, 1;\n shl.b32 %r5, %r4, 2;\n"
    body += " add.s32 %r5, %r1, %r5;\n ld.shared.b32 %r9, [%r5];\n ld.shared.b32 %r10, [%r5];\nOFF:\n"
    assert "shared_loads" in calls(body)
    assert both_ways(body, 128) == [{"race"}] * 6


def test_rows_of_one_of_several_matrix_stores_are_different_ones() -> None:
    body = " shl.b32 %r5, %r0, 4;\n add.s32 %r5, %r1, %r5;\n and.b32 %r6, %r0, 3;\n shl.b32 %r6, %r6, 4;\n"
    body += " add.s32 %r6, %r1, %r6;\n stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r0};\n"
    body += " stmatrix.sync.aligned.m8n8.x1.shared.b16 [{}+1024], {%r0};\n"
    assert calls(body.replace("{}", "%r6")) == ["stmatrices"]
    assert launch(body.replace("{}", "%r6")).kinds == ["race"]
    assert launch(body.replace("{}", "%r5")).kinds == []


def test_loads_of_lanes_that_know_different_things() -> None:
    """One lane of warp 1 waits for warp 0, and all of them read: the others know only behind a barrier of the warp."""
    body = " setp.eq.u32 %p1, %r0, 0;\n @%p1 mbarrier.init.shared::cta.b64 [%r1+512], 32;\n bar.sync 0;\n"
    body += " and.b32 %r4, %r0, 31;\n shl.b32 %r5, %r4, 2;\n add.s32 %r5, %r1, %r5;\n setp.ge.u32 %p2, %r0, 32;\n"
    body += " @%p2 bra READER;\n st.shared.b32 [%r5], %r0;\n st.shared.b32 [%r5+128], %r0;\n"
    body += " mbarrier.arrive.shared::cta.b64 _, [%r1+512];\n bra END;\nREADER:\n setp.ne.u32 %p3, %r0, 32;\n"
    body += " @%p3 bra JOIN;\nLOOP:\n mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1+512], 0;\n @!%p4 bra LOOP;\n"
    body += "JOIN:\n{}ld.shared.b32 %r20, [%r5];\n ld.shared.b32 %r21, [%r5+128];\nEND:\n"
    assert calls(body.format(" ")) == ["shared_stores", "shared_loads"]
    assert set().union(*both_ways(body.format(" "), 64)) == {"race"}
    assert both_ways(body.format(" bar.warp.sync -1;\n "), 64) == [set()] * 6


def test_the_last_of_two_stores_is_what_a_race_names() -> None:
    body = " setp.ge.u32 %p1, %r0, 32;\n @%p1 bra READ;\n and.b32 %r4, %r0, 31;\n shl.b32 %r5, %r4, 2;\n"
    body += " mov.b16 %rs1, 2;\n add.s32 %r5, %r1, %r5;\n st.shared.b32 [%r5], 1;\n st.shared.b16 [%r5], %rs1;\n"
    body += " bra END;\nREAD:\n ld.shared.b32 %r9, [%r1];\nEND:\n"
    lines = module_text(body).split("\n")
    first, last, load = (
        next(n for n, text in enumerate(lines, 1) if part in text) for part in ("%r5], 1", "%r5], %rs1", "%r9")
    )
    found = {f.lines for seed in range(8) for f in launch(body, threads=64, seed=seed).result.findings}
    assert (load, last) in found
    assert (load, first) not in found
