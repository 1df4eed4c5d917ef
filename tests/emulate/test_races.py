"""Happens-before: what orders two accesses of shared memory and what does not, in whatever order they ran."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from warpwright.emulate import TensorMap

from .ptx_kit import launch

SEEDS = range(4)
WRITE = " setp.lt.u32 %p1, %r0, 32;\n shl.b32 %r5, %r0, 2;\n add.s32 %r5, %r1, %r5;\n @%p1 st.shared.b32 [%r5], %r0;\n"
READ = " setp.ge.u32 %p2, %r0, 32;\n @%p2 ld.shared.b32 %r6, [%r1];\n"


def kinds(body: str, **options: object) -> set[str]:
    """The kinds that any seed finds."""
    return {k for seed in SEEDS for k in launch(body, seed=seed, **options).kinds}  # type: ignore[arg-type]


def test_a_barrier_orders_two_warps() -> None:
    assert kinds(WRITE + " bar.sync 0;\n" + READ, threads=64) == set()
    assert kinds(WRITE + READ, threads=64) & {"race", "uninitialised-read"}


def test_writes_and_reads_in_either_order() -> None:
    first = WRITE + " bar.sync 0;\n ld.shared.b32 %r6, [%r1];\n"
    again = " @%p1 st.shared.b32 [%r5], 5;\n"
    assert kinds(first + " bar.sync 0;\n" + again, threads=64) == set()
    assert kinds(first + again, threads=64) == {"race"}


def test_the_report_names_both_accesses() -> None:
    body = WRITE + " bar.sync 0;\n ld.shared.b32 %r6, [%r1];\n @%p1 st.shared.b32 [%r5], 5;\n"
    outcome = next(o for seed in SEEDS if (o := launch(body, threads=64, seed=seed, names=lambda o: f"d[{o}]")).kinds)
    text = outcome.message("race")
    assert "d[0], offset 0 of the shared memory of CTA (0, 0, 0)" in text
    assert "ld.shared.b32" in text
    assert "st.shared.b32" in text
    assert "generic proxy" in text
    assert "what would order them" in text
    assert len(outcome.result.findings[0].lines) == 2


def test_mbarriers_order_what_came_before_an_arrival() -> None:
    body = """
 setp.eq.u32 %p3, %r0, 0;
 @%p3 mbarrier.init.shared::cta.b64 [%r1+256], 32;
 bar.sync 0;
 setp.ge.u32 %p2, %r0, 32;
 @%p2 bra READER;
 shl.b32 %r5, %r0, 2;
 add.s32 %r5, %r1, %r5;
 {before}
 mbarrier.arrive.shared::cta.b64 _, [%r1+256];
 {after}
 bra END;
READER:
LOOP:
 mbarrier.try_wait.parity.{order}shared::cta.b64 %p4, [%r1+256], 0;
 @!%p4 bra LOOP;
 ld.shared.b32 %r6, [%r1];
END:
"""
    store = "st.shared.b32 [%r5], %r0;"
    assert kinds(body.format(before=store, after="", order=""), threads=64) == set()
    late = kinds(body.format(before=store, after=store, order=""), threads=64)
    assert late == {"race"}
    relaxed = kinds(body.format(before=store, after="", order="relaxed.cta."), threads=64)
    assert relaxed == {"race"}


def copy_out(fence: str, order: str, finish: str) -> str:
    """Warp 1 writes 512 bytes, warp 0 stores them with TMA."""
    return f"""
 setp.lt.u32 %p1, %r0, 32;
 shl.b32 %r5, %r0, 4;
 add.s32 %r5, %r1, %r5;
 add.s32 %r5, %r5, -512;
 @%p1 bra STORE;
 st.shared.v4.b32 [%r5], {{%r0, %r0, %r0, %r0}};
 {fence}
 {order}
 bra END;
STORE:
 {order}
 elect.sync %r6|%p2, -1;
 @!%p2 bra END;
 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd50, {{0, 0}}], [%r1];
 cp.async.bulk.commit_group;
 {finish}
END:
"""


def store_map(addresses: dict[str, int]) -> TensorMap:
    return TensorMap(addresses["o"], (64, 4), (128,), (64, 4), 2)


FENCE, BAR, DONE = "fence.proxy.async.shared::cta;", "bar.sync 1, 64;", "cp.async.bulk.wait_group.read 0;"
MAPS: list[Callable[[dict[str, int]], TensorMap]] = [store_map]


@pytest.mark.parametrize(
    ("fence", "order", "finish", "expected"),
    [
        (FENCE, BAR, DONE, set()),
        ("", BAR, DONE, {"race"}),
        (FENCE, "", DONE, {"race"}),
        (FENCE, BAR, "", {"exit"}),
    ],
)
def test_a_bulk_store_reads_through_the_async_proxy(fence: str, order: str, finish: str, expected: set[str]) -> None:
    found: set[str] = set()
    for seed in SEEDS:
        out = np.zeros((4, 64), np.uint16)
        found |= set(launch(copy_out(fence, order, finish), {"o": out}, threads=64, maps=MAPS, seed=seed).kinds)
    assert found - {"uninitialised-read"} == expected


def test_the_last_store_can_be_left_un_waited_for() -> None:
    loose = frozenset({"bulk-store-tail"})
    for body, expected in (
        (copy_out(FENCE, BAR, ""), []),
        (copy_out(FENCE, BAR, "").replace("cp.async.bulk.commit_group;", ""), []),
        (copy_out("", BAR, ""), ["race"]),
    ):
        out = np.zeros((4, 64), np.uint16)
        outcome = launch(body, {"o": out}, threads=64, maps=MAPS, without=loose)
        assert [kind for kind in outcome.kinds if kind != "uninitialised-read"] == expected


def test_a_missing_fence_is_called_by_its_name() -> None:
    out = np.zeros((4, 64), np.uint16)
    outcome = launch(copy_out("", BAR, DONE), {"o": out}, threads=64, maps=MAPS)
    assert "fence.proxy.async by the writer" in outcome.message("race")


def test_a_buffer_may_be_reused_only_after_it_was_read() -> None:
    reuse = " bar.sync 0;\n shl.b32 %r5, %r0, 4;\n add.s32 %r5, %r1, %r5;\n @%p1 st.shared.b32 [%r5], 1;\n"
    for finish, expected in ((DONE, set()), ("", {"race", "exit"})):
        body = copy_out(FENCE, BAR, finish) + reuse
        found: set[str] = set()
        for seed in SEEDS:
            out = np.zeros((4, 64), np.uint16)
            found |= set(launch(body, {"o": out}, threads=64, maps=MAPS, seed=seed).kinds)
        assert found == expected


def test_a_relaxed_cluster_arrive_carries_only_what_was_fenced() -> None:
    body = """
 mov.u32 %r5, %cluster_ctarank;
 xor.b32 %r6, %r5, 1;
 mapa.shared::cluster.u32 %r7, %r1, %r6;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 st.shared.b32 [%r1], %r5;
 {fence}
 barrier.cluster.arrive{relaxed};
 barrier.cluster.wait;
 ld.shared::cluster.b32 %r8, [%r7];
 barrier.cluster.arrive;
 barrier.cluster.wait;
"""
    assert kinds(body.format(fence="", relaxed=""), cluster=2) == set()
    assert kinds(body.format(fence="", relaxed=".relaxed"), cluster=2) == {"race"}
    assert kinds(body.format(fence="fence.acq_rel.cluster;", relaxed=".relaxed"), cluster=2) == set()


def test_a_cta_must_outlive_what_its_peer_does_to_it() -> None:
    body = """
 mov.u32 %r5, %cluster_ctarank;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
 fence.mbarrier_init.release.cluster;
 barrier.cluster.arrive.relaxed;
 barrier.cluster.wait;
 setp.eq.u32 %p2, %r5, 0;
 @%p2 bra WAIT;
 mapa.shared::cluster.u32 %r7, %r1, 0;
 elect.sync %r8|%p3, -1;
 @%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7];
 bra END;
WAIT:
 {wait}
END:
"""
    wait = "LOOP:\n mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], 0;\n @!%p4 bra LOOP;"
    assert kinds(body.format(wait=wait), cluster=2) == set()
    assert kinds(body.format(wait=""), cluster=2) == {"exit"}
    assert kinds(body.format(wait=wait.replace("parity.", "parity.relaxed.cluster.")), cluster=2) == set()
    barrier = " barrier.cluster.arrive{};\n barrier.cluster.wait;\n"  # of all CTAs, at the end
    kept = body.format(wait="").replace("END:", "END:\n" + barrier)
    assert kinds(kept.format(""), cluster=2) == set()
    assert kinds(kept.format(".relaxed"), cluster=2) == {"exit"}
    loose = frozenset({"arrivals-at-peers"})
    assert launch(kept.format(".relaxed"), cluster=2, without=loose).kinds == []
    assert launch(body.format(wait=""), cluster=2, without=loose).kinds == ["exit"]


def test_one_lane_does_not_release_what_the_others_did() -> None:
    """PTX ISA, "bar.warp.sync": it orders the accesses of its lanes; an election before an arrival does not."""
    body = """
 setp.eq.u32 %p3, %r0, 0;
 @%p3 mbarrier.init.shared::cta.b64 [%r1+256], 1;
 bar.sync 0;
 setp.ge.u32 %p2, %r0, 32;
 @%p2 bra READER;
 shl.b32 %r5, %r0, 2;
 add.s32 %r5, %r1, %r5;
 st.shared.b32 [%r5], %r0;
 {sync}
 elect.sync %r6|%p4, -1;
 @%p4 mbarrier.arrive.shared::cta.b64 _, [%r1+256];
 bra END;
READER:
LOOP:
 mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r1+256], 0;
 @!%p5 bra LOOP;
 ld.shared.b32 %r7, [%r1];
END:
"""
    assert kinds(body.format(sync="bar.warp.sync -1;"), threads=64) == set()
    assert kinds(body.format(sync=""), threads=64) == {"race"}
    loose = frozenset({"reads-of-lanes"})  # of reads alone
    assert "race" in launch(body.format(sync=""), threads=64, without=loose).kinds


def test_a_read_is_fenced_before_a_copy_overwrites_it() -> None:
    """PTX ISA, "Proxy-preserved base causality order": without a proxy fence the copy may be seen by the read."""
    body = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+1024], 1;
 fence.proxy.async.shared::cta;
 bar.sync 0;
 @%p1 st.shared.b32 [%r1], 1;
 fence.proxy.async.shared::cta;
 bar.sync 0;
 ld.shared.b32 %r5, [%r1];
 {fence}
 bar.sync 0;
 add.s32 %r6, %r1, 1024;
 mov.b32 %r7, 0;
 @!%p1 bra END;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 512;
 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd50, {{%r7, %r7}}], [%r6];
LOOP:
 mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r6], 0;
 @!%p5 bra LOOP;
END:
"""
    for fence, expected in ((FENCE, set()), ("", {"race"})):
        out = np.zeros((4, 64), np.uint16)
        found = set(launch(body.format(fence=fence), {"o": out}, threads=64, maps=MAPS).kinds)
        assert found == expected
    loose = {"threads": 64, "maps": MAPS, "without": frozenset({"reads-before-copies"})}
    assert launch(body.format(fence=""), {"o": out}, **loose).kinds == []
    unordered = body.format(fence="").replace("%r5, [%r1];\n \n bar.sync 0;", "%r5, [%r1];")
    assert unordered != body.format(fence="")
    runs = [launch(unordered, {"o": out}, seed=seed, **loose) for seed in range(6)]
    told = [finding.message for each in runs for finding in each.result.findings]
    assert any("not ordered after the generic proxy read" in message for message in told)  # the barrier is wanted still
    written = body.format(fence="").replace("ld.shared.b32 %r5, [%r1];", "st.shared.b32 [%r1+4], 2;")
    assert "race" in launch(written, {"o": out}, **loose).kinds


def test_who_waits_for_a_phase_that_was_over_is_told_so() -> None:
    body = """
 setp.eq.u32 %p1, %r0, 0;
 add.s32 %r6, %r1, 1024;
 mov.b32 %r7, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r6], 1;
 fence.proxy.async.shared::cta;
 bar.warp.sync -1;
 @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 512;
 @%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd50, {{%r7, %r7}}], [%r6];
{wait}
 ld.shared.b32 %r5, [%r1];
LATE:
 mbarrier.try_wait.parity.shared.b64 %p5, [%r6], 0;
 @!%p5 bra LATE;
"""
    loop = "LOOP:\n mbarrier.try_wait.parity.shared.b64 %p5, [%r6], {};\n @!%p5 bra LOOP;"
    for wait, expected in ((loop.format(0), set()), (loop.format(1), {"race"})):
        outcomes = [launch(body.format(wait=wait), {"o": np.zeros((4, 64), np.uint16)}, maps=MAPS, seed=seed)
                    for seed in range(8)]  # fmt: skip
        told = [f for outcome in outcomes for f in outcome.result.findings if "async proxy write" in f.message]
        assert {f.kind for f in told} - {"uninitialised-read"} == expected
        early = [f.message for f in told if "not ordered after the async" in f.message]
        assert bool(early) == bool(expected)
        assert all("a phase that was over already" in message for message in early)


SIZES = [(1, "b8", "%rs1"), (2, "b16", "%rs1"), (4, "b32", "%r0"), (8, "b64", "%rd9")]


@pytest.mark.parametrize(("size", "kind", "value"), SIZES)
def test_two_warps_may_use_neighbouring_bytes(size: int, kind: str, value: str) -> None:
    """PTX ISA, "Memory consistency model": accesses conflict where they overlap, and these do not."""
    body = """
 cvt.u16.u32 %rs1, %r0;
 cvt.u64.u32 %rd9, %r0;
 shr.u32 %r5, %r0, 5;
 mad.lo.s32 %r6, %r5, {step}, %r1;
 and.b32 %r7, %r0, 31;
 setp.eq.u32 %p1, %r7, 0;
 @%p1 st.shared.{kind} [%r6+64], {value};
 @%p1 ld.shared.{kind} {value}, [%r6+64];
 @%p1 st.shared.{kind} [%r6+64], {value};
"""
    assert kinds(body.format(kind=kind, value=value, step=size), threads=64) == set()
    assert kinds(body.format(kind=kind, value=value, step=0), threads=64) == {"race"}
    if size > 1:  # a byte of the other's, wherever it lies in the word
        wide = body + " @%p1 ld.shared.u8 %rs2, [%r1+{other}];\n"
        assert "race" in kinds(wide.format(kind=kind, value=value, step=size, other=64 + 2 * size - 1), threads=64)


@pytest.mark.parametrize("last", ["st.shared.b32 [%r7], %r0", "ld.shared.b32 %r8, [%r7]"])
def test_whole_cells_race_beside_parts_of_cells_that_do_not(last: str) -> None:
    """Each warp has a word of its own behind 16 bytes that both write, or that the second one reads."""
    body = f"""
 and.b32 %r5, %r0, 31;
 shr.u32 %r6, %r0, 5;
 setp.lt.u32 %p1, %r5, 5;
 setp.eq.u32 %p2, %r5, 4;
 setp.eq.u32 %p3, %r6, 1;
 shl.b32 %r7, %r5, 2;
 add.s32 %r7, %r7, %r1;
 @%p2 mad.lo.s32 %r7, %r6, 4, %r7;
 @%p3 bra SECOND;
 @%p1 st.shared.b32 [%r7], %r0;
 bra END;
SECOND:
 @%p2 st.shared.b32 [%r7], %r0;
 @%p1 {last};
END:
"""
    for seed in range(8):
        found = launch(body, threads=64, seed=seed).kinds
        assert "race" in found, (seed, found)


def test_a_word_beside_a_written_one_is_not_written() -> None:
    body = " setp.eq.u32 %p1, %r0, 5;\n @%p1 st.shared.b32 [%r1+36], %r0;\n ld.shared.{read};\n"
    assert kinds(body.format(read="b32 %r5, [%r1+36]")) == set()
    assert kinds(body.format(read="u16 %rs5, [%r1+38]")) == set()
    for read in ("b32 %r5, [%r1+40]", "b32 %r5, [%r1+32]", "u8 %rs5, [%r1+35]", "b64 %rd5, [%r1+32]"):
        assert kinds(body.format(read=read)) == {"uninitialised-read"}


def test_the_place_of_a_finding_is_exact() -> None:
    body = " setp.eq.u32 %p1, %r0, 5;\n @%p1 st.shared.b32 [%r1+36], %r0;\n ld.shared.b64 %rd5, [%r1+32];\n"
    assert "offset 32 of" in launch(body).message("uninitialised-read")
    later = body.replace("b64 %rd5, [%r1+32]", "v4.b32 {%r5, %r6, %r7, %r8}, [%r1+32]")
    assert "offset 32 of" in launch(later).message("uninitialised-read")


def test_copies_see_every_byte() -> None:
    """A bulk store of a row of which one byte was never written; and of one of which another warp wrote a half word."""
    body = copy_out(FENCE, BAR, DONE)
    halves = """ add.s32 %r8, %r5, 8;
 st.shared.v2.b32 [%r5], {%r0, %r0};
 st.shared.b32 [%r8], %r0;
 st.shared.b16 [%r8+4], %rs1;
 st.shared.b8 [%r8+6], %rs1;
"""
    vector = " st.shared.v4.b32 [%r5], {%r0, %r0, %r0, %r0};\n"
    assert vector in body
    found: dict[str, set[str]] = {"": set(), " st.shared.b8 [%r8+7], %rs1;\n": set()}
    for last in found:
        for seed in SEEDS:
            out = np.zeros((4, 64), np.uint16)
            outcome = launch(body.replace(vector, halves + last), {"o": out}, threads=64, maps=MAPS, seed=seed)
            found[last] |= set(outcome.kinds)
            if not last:
                assert "offset 15 of" in outcome.message("uninitialised-read")
    assert [*found.values()] == [{"uninitialised-read"}, set()]


@pytest.mark.parametrize("lane", [0, 8, 31])
def test_copies_see_a_byte_of_one_row_among_whole_ones(lane: int) -> None:
    """Of 512 bytes one was never written, in 16 that one lane writes in parts; all others were written whole."""
    parts = f""" setp.eq.u32 %p5, %r0, {32 + lane};
 add.s32 %r8, %r5, 8;
 @%p5 st.shared.v2.b32 [%r5], {{%r0, %r0}};
 @%p5 st.shared.b32 [%r8], %r0;
 @%p5 st.shared.b16 [%r8+4], %rs1;
 @%p5 st.shared.b8 [%r8+6], %rs1;
 @!%p5 st.shared.v4.b32 [%r5], {{%r0, %r0, %r0, %r0}};
"""
    body = copy_out(FENCE, BAR, DONE)
    vector = " st.shared.v4.b32 [%r5], {%r0, %r0, %r0, %r0};\n"
    assert vector in body
    for last, expected in (("", ["uninitialised-read"]), (" @%p5 st.shared.b8 [%r8+7], %rs1;\n", [])):
        for seed in SEEDS:
            out = np.zeros((4, 64), np.uint16)
            outcome = launch(body.replace(vector, parts + last), {"o": out}, threads=64, maps=MAPS, seed=seed)
            assert outcome.kinds == expected, seed
            if expected:
                assert f"offset {16 * lane + 15} of" in outcome.message("uninitialised-read")


def test_a_cell_is_one_again_when_all_of_it_is_written() -> None:
    """Parts of it, then all of it by another warp behind a barrier, then parts again."""
    body = """
 shr.u32 %r5, %r0, 5;
 setp.eq.u32 %p1, %r5, 0;
 setp.eq.u32 %p2, %r5, 1;
 mad.lo.s32 %r6, %r5, 4, %r1;
 st.shared.b32 [%r6+64], %r0;
 bar.sync 0;
 @%p2 st.shared.v4.b32 [%r1+64], {{%r0, %r0, %r0, %r0}};
 {sync}
 ld.shared.b32 %r8, [%r6+64];
"""
    assert kinds(body.format(sync="bar.sync 0;"), threads=64) == set()
    assert kinds(body.format(sync=""), threads=64) == {"race"}
