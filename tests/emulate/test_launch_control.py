"""clusterlaunchcontrol: the tiles of clusters that have not started are done by those that run; 128-bit registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_kit import Outcome, launch

TRY = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r1+16];"
QUERY = """
 { .reg .b128 handle;
 ld.shared.b128 handle, [%r1];
 clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, handle;
 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r6, %r7, %r8, _}, handle;
 }
"""
HALVES = """
 .reg .b128 %rq<3>;
 ld.shared.v2.b64 {%rd5, %rd6}, [%r1];
 mov.b128 %rq1, {%rd5, %rd6};
 clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %rq1;
 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r6, %rq1;
"""
#: Each CTA counts its tile, and then those that it takes over.
BODY = """
 setp.ne.u32 %p1, %r0, 0;
 @!%p1 mbarrier.init.shared::cta.b64 [%r1+16], 1;
 fence.proxy.async.shared::cta;
 bar.sync 0;
 mov.u32 %r6, %ctaid.x;
 mov.b32 %r9, 0;
TILE:
 mul.wide.u32 %rd20, %r6, 4;
 add.s64 %rd21, %rd0, %rd20;
 @!%p1 red.global.add.u32 [%rd21], 1;
 @!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+16], 16;
 @!%p1 {request}
LOOP: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+16], %r9;
 @!%p3 bra LOOP;
{query}
 fence.proxy.async.shared::cta;
 bar.sync 0;
 xor.b32 %r9, %r9, 1;
 @%p4 bra TILE;
"""


def run(query: str = QUERY, request: str = TRY, **options: Any) -> tuple[Outcome, Any]:
    tiles = np.zeros(12, np.uint32)
    outcome = launch(BODY.format(query=query, request=request), {"t": tiles}, threads=64, grid=12, **options)
    return outcome, tiles


@pytest.mark.parametrize("query", [QUERY, HALVES])
def test_every_tile_once(query: str) -> None:
    for seed in range(4):
        for clusters in (0, 1, 3):
            outcome, tiles = run(query, clusters=clusters, seed=seed)
            assert outcome.kinds == []
            assert tiles.tolist() == [1] * 12


def test_the_answer_is_asynchronous() -> None:
    early = BODY.replace("LOOP: mbarrier", "{query}LOOP: mbarrier")
    outcome = launch(
        early.format(query=QUERY, request=TRY), {"t": np.zeros(12, np.uint32)}, threads=64, grid=12, clusters=2
    )
    assert "race" in outcome.kinds
    assert "the launch request of warp 0" in outcome.message("race")


def test_one_thread_asks() -> None:
    outcome, _ = run(request=TRY.replace("clusterlaunch", "clusterlaunch"), clusters=2)
    assert outcome.kinds == []
    assert "convergence" in launch(
        BODY.replace("@!%p1 {request}", "{request}").format(query=QUERY, request=TRY), {"t": np.zeros(12, np.uint32)},
        threads=64, grid=12, clusters=2,
    ).kinds  # fmt: skip


def test_an_answer_for_the_whole_cluster() -> None:
    request = TRY.replace(".b128", ".multicast::cluster::all.b128")
    body = BODY.replace("@!%p1 {request}", "mov.u32 %r10, %cluster_ctarank;\n or.b32 %r11, %r10, %r0;\n"
                        " setp.eq.u32 %p5, %r11, 0;\n @%p5 {request}")  # fmt: skip
    body = body.replace(" bar.sync 0;\n", " barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;\n")
    body = body.replace("{query}", "{query}\n mov.u32 %r10, %cluster_ctarank;\n add.s32 %r6, %r6, %r10;\n")
    for clusters in (0, 1, 2):
        tiles = np.zeros(12, np.uint32)
        outcome = launch(body.format(query=QUERY, request=request), {"t": tiles}, threads=64, grid=12, cluster=2,
                         clusters=clusters)  # fmt: skip
        assert outcome.kinds == []
        assert tiles.tolist() == [1] * 12


def test_of_a_part_of_a_grid_that_part_alone_is_taken_over() -> None:
    for seed in range(3):
        outcome, tiles = run(only=(7, 2, 11), clusters=1, seed=seed)
        assert outcome.kinds == []
        assert np.flatnonzero(tiles).tolist() == [2, 7, 11]


def test_nobody_asks_again_after_a_failure() -> None:
    """PTX ISA 9.7.13.17: a request after the CTA has observed that one failed is undefined behaviour."""
    stubborn = BODY.replace(" xor.b32 %r9, %r9, 1;\n @%p4 bra TILE;",
                            " xor.b32 %r9, %r9, 1;\n add.u32 %r12, %r12, 1;\n setp.lt.u32 %p4, %r12, 13;\n"
                            " @%p4 bra TILE;").replace("TILE:\n", "TILE:\n min.u32 %r6, %r6, 11;\n", 1)  # fmt: skip
    stubborn = stubborn.replace(" mov.b32 %r9, 0;\n", " mov.b32 %r9, 0;\n mov.b32 %r12, 0;\n", 1)
    outcome = launch(stubborn.format(query=QUERY, request=TRY), {"t": np.zeros(12, np.uint32)}, threads=64, grid=12,
                     clusters=1)  # fmt: skip
    assert outcome.kinds == ["launch-control"]
    assert "after this CTA has seen that a request failed" in outcome.message("launch-control")


def test_the_cluster_of_a_request_that_failed_is_none() -> None:
    """PTX ISA 9.7.13.18: what get_first_ctaid gives then is undefined; nobody may compute with it."""
    body = BODY.replace("@%p4 bra TILE;", " setp.ne.u32 %p5, %r0, 0;\n @!%p5 st.global.u32 [%rd0], %r6;\n")
    out = np.zeros(12, np.uint32)
    outcome = launch(body.format(query=QUERY, request=TRY), {"t": out}, threads=64, grid=1)
    assert outcome.kinds == []
    assert out[0] > 1 << 20


def test_a_peer_that_has_ended_gets_no_answer() -> None:
    """PTX ISA 9.7.13.17: with .multicast::cluster::all no CTA of the cluster may have exited."""
    request = TRY.replace(".b128", ".multicast::cluster::all.b128")
    body = """
 mov.u32 %r10, %cluster_ctarank;
 setp.ne.u32 %p1, %r10, 0;
 setp.ne.u32 %p2, %r0, 0;
 @!%p2 mbarrier.init.shared::cta.b64 [%r1+16], 1;
 fence.proxy.async.shared::cta;
 barrier.cluster.arrive.aligned;
 barrier.cluster.wait.aligned;
 @%p1 bra END;
 @%p2 bra END;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+16], 16;
 {request}
LOOP: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+16], 0;
 @!%p3 bra LOOP;
END:
"""
    assert "exit" in launch(body.format(request=request), {}, threads=32, grid=2, cluster=2).kinds
    assert "exit" not in launch(body.format(request=TRY), {}, threads=32, grid=2, cluster=2).kinds


def test_lanes_that_arrive_and_wait_themselves_need_no_other_barrier_of_theirs() -> None:
    """What each lane has read and arrived with, all that have waited for the phase know: one may go on for them."""
    body = """
 setp.ne.u32 %p1, %r0, 0;
 @!%p1 mbarrier.init.shared::cta.b64 [%r1+16], 1;
 @!%p1 mbarrier.init.shared::cta.b64 [%r1+24], {count};
 fence.proxy.async.shared::cta;
 bar.warp.sync -1;
 mov.b32 %r9, 0;
AGAIN:
 elect.sync %r5|%p2, -1;
 @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+16], 16;
 @%p2 {request}
LOOP: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+16], %r9;
 @!%p3 bra LOOP;
{query}
 fence.proxy.async.shared::cta;
 {arrive}
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+24], %r9;
 @!%p3 bra FREE;
 xor.b32 %r9, %r9, 1;
 @%p4 bra AGAIN;
"""
    every, one = "mbarrier.arrive.shared::cta.b64 _, [%r1+24];", "@%p2 mbarrier.arrive.shared::cta.b64 _, [%r1+24];"
    for count, arrive, kinds in ((32, every, []), (1, one, ["race"])):
        filled = body.format(count=count, arrive=arrive, request=TRY, query=QUERY)
        assert launch(filled, {}, threads=32, grid=12, clusters=1).kinds == kinds
    loose = frozenset({"reads-of-lanes"})  # that the lanes are together is relied on then
    filled = body.format(count=1, arrive=one, request=TRY, query=QUERY)
    assert launch(filled, {}, threads=32, grid=12, clusters=1, without=loose).kinds == []
