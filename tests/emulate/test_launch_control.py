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
