"""Control flow and what looks across lanes: divergence, reconvergence, shuffles, votes, elections, guards."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from warpwright.emulate import GlobalMemory, Launch, UnsupportedInstruction, run
from warpwright.emulate.ptx.reader import PtxError, parse

from .ptx_kit import HEADER, lanes, launch, module

LANE = np.arange(32, dtype=np.uint32)


def test_divergent_branch_joins_at_the_post_dominator() -> None:
    code = """
 mov.b32 %r9, 0;
 setp.lt.u32 %p1, %r2, 10;
 @%p1 bra SMALL;
 add.s32 %r9, %r2, 1000;
 setp.gt.u32 %p2, %r2, 20;
 @%p2 bra JOIN;
 add.s32 %r9, %r9, 100;
 bra JOIN;
SMALL:
 mul.lo.s32 %r9, %r2, 2;
JOIN:
 add.s32 %r9, %r9, 1;"""
    expected = np.where(LANE < 10, 2 * LANE + 1, np.where(LANE > 20, LANE + 1001, LANE + 1101))
    np.testing.assert_array_equal(lanes(code, LANE), expected)


def test_divergent_loop_keeps_the_values_of_lanes_that_left() -> None:
    code = """
 mov.b32 %r9, 0;
 mov.b32 %r5, 0;
AGAIN:
 add.s32 %r9, %r9, %r5;
 add.s32 %r5, %r5, 1;
 setp.lt.u32 %p1, %r5, %r2;
 @%p1 bra AGAIN;"""
    expected = [sum(range(max(1, n))) for n in range(32)]
    assert lanes(code, LANE).tolist() == expected


def test_lanes_that_return_are_not_waited_for() -> None:
    out = np.zeros(32, np.uint32)
    body = """
 setp.gt.u32 %p1, %r0, 15;
 @%p1 bra OUT;
 setp.lt.u32 %p2, %r0, 4;
 @%p2 ret;
 mul.wide.u32 %rd20, %r0, 4;
 add.s64 %rd21, %rd0, %rd20;
 st.global.b32 [%rd21], 7;
OUT:
"""
    outcome = launch(body, {"o": out})
    assert outcome.kinds == []
    assert out.tolist() == [0] * 4 + [7] * 12 + [0] * 16


def test_guards_of_every_sort() -> None:
    code = """
 mov.b32 %r9, 5;
 setp.eq.u32 %p1, %r2, 3;
 @%p1 mov.b32 %r9, 6;
 @!%p1 add.s32 %r9, %r9, %r2;
 mov.b32 %r5, 1;
 setp.eq.u32 %p2, %r5, 1;
 @!%p2 mov.b32 %r9, 99;
 @%p2 add.s32 %r9, %r9, 100;"""
    assert lanes(code, LANE).tolist() == [106 if n == 3 else 105 + n for n in range(32)]


def test_guarded_memory_touches_only_its_lanes() -> None:
    a, out = np.arange(8, dtype=np.uint32), np.full(8, 50, np.uint32)
    body = """
 setp.lt.u32 %p1, %r0, 8;
 mul.wide.u32 %rd20, %r0, 4;
 add.s64 %rd21, %rd0, %rd20;
 add.s64 %rd22, %rd1, %rd20;
 mov.b32 %r5, 9;
 @%p1 ld.global.b32 %r5, [%rd21];
 @%p1 st.global.b32 [%rd22], %r5;
"""
    outcome = launch(body, {"a": a, "o": out}, out=["o"])
    assert outcome.kinds == []
    assert out.tolist() == list(range(8))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("shfl.sync.idx.b32 %r9, %r2, 5, 31, -1;", [105] * 32),
        ("shfl.sync.up.b32 %r9, %r2, 2, 0, -1;", [100, 101, *range(100, 130)]),
        ("shfl.sync.down.b32 %r9, %r2, 3, 31, -1;", [*range(103, 132), 129, 130, 131]),
        ("shfl.sync.bfly.b32 %r9, %r2, 1, 31, -1;", [100 + (n ^ 1) for n in range(32)]),
        # segments of eight: mask 0x18 in bits 8-12
        ("shfl.sync.idx.b32 %r9, %r2, 1, 0x181F, -1;", [101 + n // 8 * 8 for n in range(32)]),
        ("shfl.sync.up.b32 %r9|%p1, %r2, 1, 0, -1;\nselp.b32 %r9, %r9, 7, %p1;", [7, *range(100, 131)]),
    ],
)
def test_shuffles(code: str, expected: list[int]) -> None:
    """PTX ISA, "shfl.sync": the pseudo-code's source lane and predicate."""
    assert lanes(code, LANE + 100).tolist() == expected


def test_votes_and_elections() -> None:
    code = """
 setp.gt.u32 %p1, %r2, 28;
 vote.sync.ballot.b32 %r9, %p1, -1;"""
    assert lanes(code, LANE)[0] == 0b111 << 29
    elected = "mov.b32 %r9, 0;\nelect.sync %r5|%p1, -1;\n@%p1 add.s32 %r9, %r5, 8;"
    assert lanes(elected).tolist() == [8] + [0] * 31
    every = "setp.lt.u32 %p1, %r2, 32;\nvote.sync.all.pred %p2, %p1, -1;\nselp.b32 %r9, 1, 0, %p2;"
    assert lanes(every, LANE)[3] == 1
    assert lanes("redux.sync.max.u32 %r9, %r2, -1;", LANE)[0] == 31


def test_warp_index_is_uniform_without_a_shuffle() -> None:
    """A branch on tid / 32 does not diverge: both warps run bar.sync with all lanes."""
    code = """
 shr.u32 %r5, %r0, 5;
 setp.ne.u32 %p1, %r5, 0;
 mov.b32 %r9, 1;
 @%p1 bra OTHER;
 bar.sync 1, 64;
 mov.b32 %r9, 2;
 bra DONE;
OTHER:
 bar.sync 1, 64;
DONE:"""
    assert lanes(code, threads=64).tolist() == [2] * 32 + [1] * 32


def test_special_registers_of_a_cluster() -> None:
    out = np.zeros(8, np.uint32)
    body = """
 mov.u32 %r2, %ctaid.x;
 mov.u32 %r3, %cluster_ctarank;
 mov.u32 %r4, %nctaid.x;
 mad.lo.s32 %r5, %r3, 10, %r4;
 mul.wide.u32 %rd20, %r2, 4;
 add.s64 %rd21, %rd0, %rd20;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 st.global.b32 [%rd21], %r5;
"""
    outcome = launch(body, {"o": out}, cluster=2, grid=8)
    assert outcome.kinds == []
    assert out.tolist() == [8, 18] * 4


def test_convergence_is_demanded() -> None:
    body = " setp.lt.u32 %p1, %r0, 3;\n @%p1 bra A;\n bra B;\nA:\n shfl.sync.idx.b32 %r5, %r0, 0, 31, -1;\nB:\n"
    assert launch(body).kinds == ["convergence"]


def test_unknown_instructions_are_named_all_at_once() -> None:
    with pytest.raises(UnsupportedInstruction, match=r"suq\.width\.b32, tex\.1d\.v4\.f32\.s32"):
        launch(" tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%r5, {%r6}];\n suq.width.b32 %r1, [%rd0];\n")
    for redux in ("redux.sync.mul.u32", "redux.sync.add.f32", "redux.sync.and.u32"):
        with pytest.raises(UnsupportedInstruction, match=redux.replace(".", r"\.")):
            launch(f" {redux} %r9, %r0, -1;\n")
    with pytest.raises(UnsupportedInstruction, match=r"%smidx"):
        launch(" mov.u32 %r3, %smidx;\n")


def test_scopes_rename_labels_and_registers() -> None:
    part = "{\n .reg .pred P1;\n setp.eq.u32 P1, %r2, 3;\n @P1 bra DONE;\n add.s32 %r9, %r9, 1;\n DONE:\n }\n"
    assert lanes(f"mov.b32 %r9, 0;\n{part}{part}", LANE).tolist() == [0 if n == 3 else 2 for n in range(32)]


def test_source_lines_and_parse_errors() -> None:
    text = HEADER.format(params="", threads=32, loads="", body=' .file 1 "kernel.py"\n .loc 1 42 0\n trap;\n')
    instruction = next(i for i in parse(text).kernel().body if i.opcode == "trap")
    assert instruction.loc == (("kernel.py", 42, 0),)
    with pytest.raises(PtxError, match=r"directive \.branchtargets"):
        module(" .branchtargets A, B;", 0)
    with pytest.raises(PtxError, match=r"no label 'NOWHERE'"):
        module(" bra NOWHERE;", 0)
    with pytest.raises(PtxError, match="is this PTX"):
        parse("int main() {}")


def test_trap_and_livelock() -> None:
    assert launch(" trap;\n").kinds == ["trap"]
    outcome = launch("HERE:\n add.s32 %r5, %r5, 1;\n bra HERE;\n", budget=2000)
    assert outcome.kinds == ["livelock"]
    assert "add.s32" in outcome.message("livelock")


def test_a_parameter_may_say_what_it_points_to() -> None:
    """`.param .u64 .ptr .global .align 16 p0`: the alignment is that of the memory, not of the parameter."""
    text = HEADER.format(params=".param .u64 .ptr .global .align 16 p0, .param .b32 n", threads=32, loads="", body="")
    kernel = parse(text).kernel(None)
    assert [(p.name, p.bytes, p.align) for p in kernel.params] == [("p0", 8, 8), ("n", 4, 4)]


def test_a_parameter_is_read_at_its_address() -> None:
    """PTX ISA, "Kernel Function Parameters": its address may be moved to a register, and each thread may read there."""
    body = """
 mov.b64 %rd1, many;
 ld.param.v2.b32 {%r2, %r3}, [%rd1+8];
 ld.param.s8 %r4, [%rd1+3];
 mul.wide.u32 %rd2, %r0, 4;
 add.s64 %rd3, %rd1, %rd2;
 ld.param.b32 %r5, [%rd3];
 add.s64 %rd4, %rd0, %rd2;
 mad.lo.s32 %r6, %r3, 1000, %r2;
 mad.lo.s32 %r6, %r4, 1000000, %r6;
 add.s32 %r6, %r6, %r5;
 st.global.b32 [%rd4], %r6;
"""
    loads, params = " ld.param.b64 %rd0, [p0];", ".param .u64 p0, .param .align 16 .b8 many[128]"
    out, many = np.zeros(32, np.int32), np.arange(32, dtype=np.int32)
    many[0] = -5 << 24
    memory = GlobalMemory()
    address = memory.add("o", out, "out")
    launched = Launch((1, 1, 1), (32, 1, 1), (1, 1, 1), 0, (struct.pack("<Q", address), many.tobytes()))
    text = HEADER.format(params=params, threads=32, loads=loads, body=body)
    assert run(parse(text), launched, {}, memory).findings == ()
    np.testing.assert_array_equal(out, many + 2 + 3 * 1000 - 5 * 1000000)


def test_a_vector_register_is_its_parts() -> None:
    body = " { .reg .v4 .b32 four; .reg .v2 .b64 two;\n mov.b32 four.x, 1; mov.b32 four.y, %r0;\n mov.b32 four.z, 3;"
    body += " add.s32 four.w, four.x, four.z;\n st.shared.v4.b32 [%r1], four;\n bar.warp.sync -1;\n"
    body += (
        " ld.shared.v2.b64 two, [%r1];\n cvt.u32.u64 %r2, two.y; shr.u64 two.y, two.y, 32; cvt.u32.u64 %r3, two.y;\n"
    )
    body += " mad.lo.s32 %r9, %r3, 10, %r2;\n }\n"
    assert (lanes(body) == 43).all()


@pytest.mark.parametrize("shift", [0, 4, 5, 6, 31, 32])
def test_shifts_of_the_thread_index(shift: int) -> None:
    """From 5 on they are alike in all lanes of a warp."""
    expected = np.arange(128, dtype=np.int64) >> shift
    np.testing.assert_array_equal(lanes(f" shr.u32 %r9, %r0, {shift};\n", threads=128), expected)


def test_the_x_of_a_thread_is_no_warp_index_where_a_block_has_rows() -> None:
    """Of 48 by 2 threads the second warp holds the end of one row and the beginning of the next."""
    body = " mov.u32 %r2, %tid.y;\n mad.lo.s32 %r3, %r2, 48, %r0;\n shr.u32 %r4, %r0, 5;\n mul.wide.u32 %rd2, %r3, 4;\n"
    body += " add.s64 %rd3, %rd0, %rd2;\n st.global.b32 [%rd3], %r4;\n"
    text = HEADER.format(params=".param .u64 p0", threads=48, loads=" ld.param.b64 %rd0, [p0];", body=body)
    out = np.zeros(96, np.uint32)
    memory = GlobalMemory()
    address = memory.add("o", out, "out")
    launched = Launch((1, 1, 1), (48, 2, 1), (1, 1, 1), 0, (struct.pack("<Q", address),))
    assert run(parse(text.replace("48, 1, 1", "48, 2, 1")), launched, {}, memory).findings == ()
    np.testing.assert_array_equal(out, np.tile(np.arange(48) // 32, 2))
