"""Exchanges between lanes with partial masks, and barriers that parts of warps come to."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from .ptx_kit import lanes, launch

LANE = np.arange(32, dtype=np.uint32)
MIXED = np.array([(7 * n) % 5 for n in range(32)], np.uint32)
HALVES = "setp.lt.u32 %p1, %r0, 16;\nselp.b32 %r5, 0xFFFF, 0xFFFF0000, %p1;\n"


def reference(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The source lane and whether it is in range, by the pseudo-code of the PTX ISA ("shfl.sync")."""
    segment, clamp = c >> 8 & 31, c & 31
    highest, lowest = (lane & segment) | (clamp & ~segment), lane & segment
    b &= 31
    j = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": lowest | (b & ~segment & 31)}[mode]
    inside = j >= highest if mode == "up" else j <= highest
    return (j if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode: str) -> None:
    """With a value that differs and one that does not; whether the source is in range differs in both."""
    for b, c in itertools.product((0, 1, 5, 31), (0x1F, 0x00, 0x1C1F, 0x1800, 0x0F)):
        expected = [reference(mode, n, b, c) for n in range(32)]
        code = f"shfl.sync.{mode}.b32 %r9|%p2, {{}}, {b}, {c:#x}, -1;\n"
        got = lanes(code.format("%r2"), LANE + 100)
        assert got.tolist() == [source + 100 for source, _ in expected]
        said = "selp.b32 %r9, 1, 0, %p2;"
        for value in ("%r2", "7"):
            register = code.format(value) if value != "7" else "mov.b32 %r7, 7;\n" + code.format("%r7")
            assert lanes(register + said, LANE).tolist() == [inside for _, inside in expected]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("shfl.sync.idx.b32 %r9, %r2, 20, 31, 0xFFFF;", ["shuffle"]),  # named lanes 0..15 read lane 20
        ("shfl.sync.idx.b32 %r9, %r2, 15, 31, 0xFFFF;", []),
        ("shfl.sync.down.b32 %r9, %r2, 8, 31, 0xFFFF;", ["shuffle"]),  # lanes 8..15 read 16..23
        ("shfl.sync.down.b32 %r9, %r2, 8, 15, 0xFFFF;", []),  # clamped: they keep their own
        ("shfl.sync.bfly.b32 %r9, %r2, 8, 31, 0xFFFF;", []),
        ("shfl.sync.bfly.b32 %r9, %r2, 16, 31, 0xFFFF;", ["shuffle"]),
        ("mov.b32 %r7, 1;\nshfl.sync.idx.b32 %r9, %r7, 20, 31, 0xFFFF;", ["shuffle"]),
        ("shfl.sync.idx.b32 %r9, %r2, 0, 31, 0xFF;", ["convergence"]),  # lanes 8..15 are not in their mask
        ("vote.sync.ballot.b32 %r9, %p1, 0xFF;", ["convergence"]),
        ("redux.sync.add.u32 %r9, %r2, 0x1FFFF;", ["convergence"]),  # lane 16 is named and not here
    ],
)
def test_half_a_warp(code: str, found: list[str]) -> None:
    """PTX ISA: undefined where a lane is read that is inactive or not in the mask, or who executes is not in it."""
    body = f" mov.b32 %r2, %r0;\n setp.ge.u32 %p1, %r0, 16;\n @%p1 bra OTHER;\n {code}\nOTHER:\n"
    assert launch(body).kinds == found


def test_lanes_that_have_ended_are_read() -> None:
    body = " setp.eq.u32 %p1, %r0, 3;\n @%p1 ret;\n shfl.sync.bfly.b32 %r9, %r0, 1, 31, -1;\n"
    outcome = launch(body)
    assert outcome.kinds == ["shuffle"]
    assert "lanes 0x00000004 read the register of lane 3, which has ended or is not here" in outcome.message("shuffle")
    assert launch(body.replace("bfly.b32 %r9, %r0, 1", "idx.b32 %r9, %r0, 4")).kinds == []


def test_groups_exchange_by_their_own_masks() -> None:
    """Lanes may name different masks in one instruction, each lane its own group."""
    total = HALVES + "redux.sync.add.u32 %r9, %r2, %r5;"
    assert lanes(total, LANE).tolist() == [120] * 16 + [376] * 16
    ballot = HALVES + "setp.lt.u32 %p2, %r2, 20;\nvote.sync.ballot.b32 %r9, %p2, %r5;"
    assert lanes(ballot, LANE).tolist() == [0xFFFF] * 16 + [0xF0000] * 16
    every = HALVES + "setp.lt.u32 %p2, %r2, 20;\nvote.sync.all.pred %p3, %p2, %r5;\nselp.b32 %r9, 1, 0, %p3;"
    assert lanes(every, LANE).tolist() == [1] * 16 + [0] * 16
    leader = HALVES + "elect.sync %r8|%p2, %r5;\nselp.b32 %r9, %r8, 99, %p2;"
    assert lanes(leader, LANE).tolist() == [0] + [99] * 15 + [16] + [99] * 15
    assert lanes(HALVES + "shfl.sync.bfly.b32 %r9, %r2, 3, 31, %r5;", LANE).tolist() == [n ^ 3 for n in range(32)]
    crossing = f"{HALVES} shfl.sync.bfly.b32 %r9, %r0, 16, 31, %r5;\n"
    assert launch(crossing).kinds == ["shuffle"]
    disagree = (
        " setp.lt.u32 %p1, %r0, 16;\n selp.b32 %r5, 0x1FFFF, 0xFFFF0000, %p1;\n vote.sync.any.pred %p2, %p1, %r5;\n"
    )
    assert launch(disagree).kinds == ["convergence"]


def test_matches() -> None:
    anyone = lanes("match.any.sync.b32 %r9, %r2, -1;", MIXED)
    assert anyone.tolist() == [sum(1 << m for m in range(32) if MIXED[m] == MIXED[n]) for n in range(32)]
    assert not lanes("match.all.sync.b32 %r9|%p2, %r2, -1;", MIXED).any()
    assert (lanes("match.all.sync.b32 %r9|%p2, 5, -1;", MIXED) == 0xFFFFFFFF).all()
    said = "match.all.sync.b32 %r8|%p2, {}, -1;\nselp.b32 %r9, 1, 0, %p2;"
    assert lanes(said.format("%r2"), MIXED)[0] == 0
    assert lanes(said.format("7"), MIXED)[0] == 1


def test_reductions_of_floats() -> None:
    """PTX ISA, "redux.sync": +0 above -0; NaN is left out without .NaN, and wins, canonical, with it."""
    x = np.array([-0.0, 0.0, 3.5, -7.0] * 8, np.float32)
    assert lanes("redux.sync.max.f32 %r9, %r2, -1;", x.view("u4")).view("f4")[0] == 3.5
    assert lanes("redux.sync.min.f32 %r9, %r2, -1;", x.view("u4")).view("f4")[0] == -7
    assert lanes("redux.sync.max.abs.f32 %r9, %r2, -1;", x.view("u4")).view("f4")[0] == 7
    zeros = np.array([-0.0, 0.0] * 16, np.float32)
    assert lanes("redux.sync.min.f32 %r9, %r2, -1;", zeros.view("u4"))[0] == 0x80000000
    x[5] = np.nan
    assert lanes("redux.sync.max.f32 %r9, %r2, -1;", x.view("u4")).view("f4")[0] == 3.5
    assert lanes("redux.sync.max.NaN.f32 %r9, %r2, -1;", x.view("u4"))[0] == 0x7FFFFFFF


SPLIT = """
 setp.lt.u32 %p2, %r0, 8;
 @%p2 bra FEW;
 st.shared.b32 [%r1+4], 1;
 {many}
 bra DONE;
FEW:
 st.shared.b32 [%r1], 2;
 {few}
DONE:
"""
READ = " ld.shared.b32 %r6, [%r1];\n"


def test_a_barrier_without_aligned_takes_parts_of_a_warp() -> None:
    """PTX ISA, "barrier": it waits for all threads of the warp that have not exited; bar is .aligned."""
    apart = SPLIT.format(many="barrier.sync 1, 64;", few="barrier.sync 1, 64;") + " ld.shared.b32 %r6, [%r1];\n"
    two = " setp.lt.u32 %p1, %r0, 32;\n @%p1 bra ONE;\n bar.sync 1, 64;\n bra LAST;\nONE:\n" + apart + "LAST:\n"
    for seed in range(3):
        assert launch(two, threads=64, seed=seed).kinds == []
        aligned = two.replace("barrier.sync 1, 64;", "barrier.sync.aligned 1, 64;")
        assert launch(aligned, threads=64, seed=seed).kinds == ["named-barrier"]
        assert launch(two.replace("barrier.sync", "bar.sync"), threads=64, seed=seed).kinds == ["named-barrier"]


def test_the_rest_of_a_warp_that_does_not_come_is_told() -> None:
    body = SPLIT.format(many="barrier.sync 1, 32;", few="barrier.sync 2, 32;")
    outcome = launch(body)
    assert outcome.kinds == ["deadlock"]
    text = outcome.message("deadlock")
    assert "of warp 0 of CTA (0, 0, 0) itself lanes 0x000000ff have not come" in text
    assert "lanes 0xffffff00 have not come" in text


def test_lanes_that_end_are_not_waited_for() -> None:
    body = SPLIT.format(many="barrier.sync 1, 32;", few="ret;")
    assert launch(body).kinds == []
    assert launch(SPLIT.format(many="barrier.arrive 1, 64;\n barrier.sync 2, 32;", few="ret;")).kinds == []


WARPS_END = """
 shr.u32 %r5, %r0, 5;
 setp.eq.u32 %p1, %r5, 2;
 @%p1 ret;
 {delay}
 bar.sync {barrier};
"""


@pytest.mark.parametrize(
    ("barrier", "found"), [("0", []), ("3", []), ("0, 96", ["deadlock"]), ("0, 64", [])]
)  # fmt: skip
def test_a_barrier_without_a_count_waits_for_the_live_warps(barrier: str, found: list[str]) -> None:
    """PTX ISA, "bar": the threads that wait for each other are those that have not exited; a count is a count."""
    late = "setp.eq.u32 %p2, %r5, 1;\n" + "add.u32 %r7, %r7, 1;\n" * 3
    for seed in range(6):
        assert launch(WARPS_END.format(barrier=barrier, delay=late), threads=96, seed=seed).kinds == found
    last = " shr.u32 %r5, %r0, 5;\n setp.ne.u32 %p1, %r5, 2;\n @%p1 bra WAIT;\nSPIN:\n add.u32 %r7, %r7, 1;\n"
    last += " setp.lt.u32 %p2, %r7, 300;\n @%p2 bra SPIN;\n ret;\nWAIT:\n bar.sync 0;\n"  # it ends when they wait
    for seed in range(4):
        assert launch(" mov.b32 %r7, 0;\n" + last, threads=96, seed=seed).kinds == []


def test_parts_of_a_warp_at_the_cluster_barrier() -> None:
    both = "barrier.cluster.arrive{0};\n barrier.cluster.wait{0};"
    body = SPLIT.format(many=both.format(""), few=both.format("")) + READ
    assert launch(body, cluster=2).kinds == []
    assert launch(SPLIT.format(many=both.format(".aligned"), few=both.format(".aligned")), cluster=2).kinds == [
        "convergence"
    ]
    gone = SPLIT.format(many=both.format(""), few="ret;")
    assert launch(gone, cluster=2).kinds == []
