"""Fences, relaxed operations and scopes: what hands order on and what does not, by the PTX ISA's consistency model."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_kit import launch

SEEDS = range(3)


def kinds(body: str, **options: object) -> set[str]:
    """The kinds that any seed finds."""
    return {k for seed in SEEDS for k in launch(body, seed=seed, **options).kinds}  # type: ignore[arg-type]


#: Warp 0 writes, arrives; warp 1 waits, reads.
HAND_OVER = """
 setp.eq.u32 %p3, %r0, 0;
 @%p3 mbarrier.init.shared::cta.b64 [%r1+256], 32;
 bar.sync 0;
 setp.ge.u32 %p2, %r0, 32;
 @%p2 bra READER;
 shl.b32 %r5, %r0, 2;
 add.s32 %r5, %r1, %r5;
 st.shared.b32 [%r5], %r0;
 {release}
 mbarrier.arrive.{arrive}shared::cta.b64 _, [%r1+256];
 bra END;
READER:
LOOP:
 mbarrier.try_wait.parity.{wait}shared::cta.b64 %p4, [%r1+256], 0;
 @!%p4 bra LOOP;
 {acquire}
 ld.shared.b32 %r6, [%r1];
END:
"""


@pytest.mark.parametrize(
    ("release", "arrive", "wait", "acquire", "found"),
    [
        ("", "", "", "", set()),
        ("", "release.cta.", "acquire.cta.", "", set()),
        ("", "relaxed.cta.", "", "", {"race"}),
        ("fence.acq_rel.cta;", "relaxed.cta.", "", "", set()),
        ("fence.release.cta;", "relaxed.cta.", "", "", set()),
        ("fence.acquire.cta;", "relaxed.cta.", "", "", {"race"}),
        ("membar.cta;", "relaxed.cta.", "", "", set()),
        ("", "", "relaxed.cta.", "", {"race"}),
        ("", "", "relaxed.cta.", "fence.acq_rel.cta;", set()),
        ("", "", "relaxed.cluster.", "fence.acq_rel.cluster;", set()),
        ("", "", "relaxed.cta.", "fence.acquire.cta;", set()),
        ("", "", "relaxed.cta.", "fence.release.cta;", {"race"}),
        ("", "", "relaxed.cluster.", "fence.acquire.sync_restrict::shared::cluster.cluster;", set()),
        ("fence.release.sync_restrict::shared::cta.cluster;", "relaxed.cluster.", "", "", set()),
        ("fence.gpu;", "relaxed.cta.", "relaxed.cta.", "fence.sc.gpu;", set()),
        ("fence.mbarrier_init.release.cluster;", "relaxed.cta.", "", "", {"race"}),
    ],
)
def test_release_and_acquire_patterns(release: str, arrive: str, wait: str, acquire: str, found: set[str]) -> None:
    """PTX ISA, "Release and Acquire Patterns": an operation of that kind, or a fence on its side of a relaxed one."""
    assert kinds(HAND_OVER.format(release=release, arrive=arrive, wait=wait, acquire=acquire), threads=64) == found


def test_a_fence_of_one_lane_releases_what_it_did_itself() -> None:
    body = HAND_OVER.replace("[%r1+256], 32", "[%r1+256], 1")
    body = body.replace(" mbarrier.arrive", " @%p3 mbarrier.arrive")
    parts = {"arrive": "relaxed.cta.", "wait": "", "acquire": ""}
    assert kinds(body.format(release="@%p3 fence.acq_rel.cta;", **parts), threads=64) == {"race"}
    assert kinds(body.format(release="bar.warp.sync -1;\n @%p3 fence.acq_rel.cta;", **parts), threads=64) == set()


#: Rank 0 writes into rank 1's memory and arrives there; rank 1 waits and reads.
ACROSS = """
 mov.u32 %r3, %cluster_ctarank;
 setp.eq.u32 %p3, %r0, 0;
 @%p3 mbarrier.init.shared::cta.b64 [%r1+256], 1;
 barrier.cluster.arrive.aligned;
 barrier.cluster.wait.aligned;
 setp.ne.u32 %p2, %r3, 0;
 @%p2 bra READER;
 mapa.shared::cluster.u32 %r5, %r1, 1;
 @%p3 st.shared::cluster.b32 [%r5], %r0;
 {release}
 @%p3 mbarrier.arrive.{arrive}shared::cluster.b64 _, [%r5+256];
 bra END;
READER:
LOOP:
 mbarrier.try_wait.parity.{wait}shared::cta.b64 %p4, [%r1+256], 0;
 @!%p4 bra LOOP;
 {acquire}
 ld.shared.b32 %r6, [%r1];
END:
 barrier.cluster.arrive.aligned;
 barrier.cluster.wait.aligned;
"""


@pytest.mark.parametrize(
    ("release", "arrive", "wait", "acquire", "found"),
    [
        ("", "release.cluster.", "acquire.cluster.", "", set()),
        ("", "", "", "", set()),  # without a scope: as NVIDIA's pipelines mean it
        ("", "release.cta.", "", "", {"race"}),
        ("", "", "acquire.cta.", "", {"race"}),
        ("", "relaxed.cluster.", "acquire.cluster.", "", {"race"}),
        ("fence.acq_rel.cluster;", "relaxed.cluster.", "acquire.cluster.", "", set()),
        ("fence.acq_rel.cta;", "relaxed.cluster.", "acquire.cluster.", "", {"race"}),
        ("fence.acq_rel.cluster;", "relaxed.cta.", "acquire.cluster.", "", {"race"}),
        ("", "release.cluster.", "relaxed.cluster.", "fence.acq_rel.cluster;", set()),
    ],
)
def test_scopes_across_ctas(release: str, arrive: str, wait: str, acquire: str, found: set[str]) -> None:
    """PTX ISA, "Scope": what is of scope .cta synchronises with no thread of another CTA."""
    body = ACROSS.format(release=release, arrive=arrive, wait=wait, acquire=acquire)
    assert kinds(body, threads=32, cluster=2) == found


def test_a_generic_address_may_be_a_peers() -> None:
    """PTX ISA, "mbarrier.arrive": without a state space generic addresses are used, a peer's among them."""
    body = ACROSS.format(release="", arrive="", wait="", acquire="").replace(
        "mbarrier.arrive.shared::cluster.b64 _, [%r5+256];", "mbarrier.arrive.release.cluster.b64 _, [%rd9+256];"
    )
    body = body.replace(" bra END;", " bra END;", 1)
    body = body.replace(
        "mapa.shared::cluster.u32 %r5, %r1, 1;",
        "mapa.shared::cluster.u32 %r5, %r1, 1;\n cvt.u64.u32 %rd8, %r5;\n cvta.shared::cluster.u64 %rd9, %rd8;",
    )
    assert kinds(body, threads=32, cluster=2) == set()


BULK = """
 setp.eq.u32 %p1, %r0, 0;
 shl.b32 %r5, %r0, 4;
 add.s32 %r5, %r1, %r5;
 st.shared.v4.b32 [%r5], {{%r0, %r0, %r0, %r0}};
 {fence}
 bar.sync 0;
 @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 512;
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group 0;
"""


@pytest.mark.parametrize(
    ("fence", "orders"),
    [
        ("fence.proxy.async;", True), ("fence.proxy.async.shared::cta;", True),
        ("fence.proxy.async.shared::cluster;", True), ("membar.proxy.async;", True),
        ("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;", True),
        ("fence.proxy.async.global;", False), ("membar.proxy.async.global;", False), ("fence.proxy.alias;", False),
        ("fence.proxy.tensormap::generic.release.gpu;", False), ("fence.acq_rel.gpu;", False), ("fence.sc.sys;", False),
        ("", False),
    ],
)  # fmt: skip
def test_which_proxy_fences_concern_shared_memory(fence: str, orders: bool) -> None:
    """PTX ISA, "membar/fence": the order is limited to the state space that is named, all without one."""
    found = launch(BULK.format(fence=fence), {"o": np.zeros(512, np.uint8)}).kinds
    assert found == ([] if orders else ["race"])


STATE = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1], {count};
 bar.sync 0;
"""


def test_the_pending_count_of_a_state_is_that_before_the_arrival() -> None:
    out = np.zeros(2, np.uint32)
    body = STATE.format(count=3) + """
 @%p1 mbarrier.arrive.shared::cta.b64 %rd9, [%r1];
 @%p1 mbarrier.pending_count.b64 %r5, %rd9;
 @%p1 mbarrier.arrive.shared::cta.b64 %rd9, [%r1];
 @%p1 mbarrier.pending_count.b64 %r6, %rd9;
 @%p1 st.global.b32 [%rd0], %r5;
 @%p1 st.global.b32 [%rd0+4], %r6;
"""  # fmt: skip
    assert launch(body, {"o": out}).kinds == []
    assert out.tolist() == [3, 2]


def test_a_state_is_of_this_phase_or_of_the_one_before() -> None:
    """PTX ISA, "mbarrier.test_wait": other states are undefined behaviour."""
    arrive = " @%p1 mbarrier.arrive.shared::cta.b64 {to}, [%r1];\n"
    peek = " @%p1 mbarrier.test_wait.shared::cta.b64 %p2, [%r1], %rd9;\n"
    first = STATE.format(count=1) + arrive.format(to="%rd9")
    assert launch(first + arrive.format(to="_") + peek).kinds == ["mbarrier"]
    assert launch(first + peek).kinds == []
    assert "state of phase 0" in launch(first + arrive.format(to="_") + peek).message("mbarrier")


def test_an_arrival_without_completion_must_not_complete() -> None:
    arrive = " @%p1 mbarrier.arrive.noComplete.shared::cta.b64 %rd9, [%r1], {count};\n"
    assert launch(STATE.format(count=2) + arrive.format(count=1)).kinds == []
    assert launch(STATE.format(count=2) + arrive.format(count=2)).kinds == ["mbarrier"]


def test_a_dropped_arrival_is_not_expected_again() -> None:
    """PTX ISA, "mbarrier.arrive_drop": it arrives, and the later phases expect one less."""
    drop = " @%p1 mbarrier.arrive_drop.shared::cta.b64 _, [%r1];\n"
    one = " @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
    wait = "L{p}:\n mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], {p};\n @!%p4 bra L{p};\n"
    body = STATE.format(count=2) + drop + one + wait.format(p=0) + one + wait.format(p=1)
    assert launch(body).kinds == []
    assert launch(body.replace("arrive_drop", "arrive")).kinds == ["deadlock"]


@pytest.mark.parametrize(("count", "found"), [(1, []), (0, ["mbarrier"]), ((1 << 20) - 1, []), (1 << 20, ["mbarrier"])])
def test_the_range_of_counts(count: int, found: list[str]) -> None:
    """PTX ISA, "Contents of the mbarrier object": 1 to 2^20 - 1."""
    assert launch(STATE.format(count=count)).kinds == found
    arrive = f" @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1], {count};\n"
    assert launch(STATE.format(count=(1 << 20) - 1) + arrive).kinds == found


def test_a_waiter_that_misses_two_phases_is_told() -> None:
    """Two arrivals of one warp follow each other while another waits for the first: parity cannot tell it."""
    body = STATE.format(count=1) + """
 setp.ge.u32 %p2, %r0, 32;
 @%p2 bra WAITER;
 @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];
 @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];
 bra END;
WAITER:
 mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], 0;
 @!%p4 bra WAITER;
END:
"""  # fmt: skip
    found = [launch(body, threads=64, seed=seed).kinds for seed in range(12)]
    assert ["mbarrier", "deadlock"] in found


def test_a_proxy_fence_of_one_lane_is_of_what_it_knows() -> None:
    for fence, found in (("@%p1 fence.proxy.async;", ["race"]), ("bar.warp.sync -1;\n @%p1 fence.proxy.async;", [])):
        assert launch(BULK.format(fence=fence), {"o": np.zeros(512, np.uint8)}).kinds == found


def test_a_barrier_of_some_lanes_says_nothing_of_the_others() -> None:
    body = HAND_OVER.replace("[%r1+256], 32", "[%r1+256], 1").replace("ld.shared.b32 %r6, [%r1]", "{load}")
    body = body.replace(" mbarrier.arrive", " @%p3 mbarrier.arrive")
    half = "setp.ge.u32 %p5, %r0, 16;\n @%p5 bra REST;\n bar.warp.sync 65535;\nREST:\n"
    parts = {"arrive": "", "wait": "", "acquire": "", "load": "ld.shared.b32 %r6, [%r1+64]"}
    assert kinds(body.format(release=half, **parts), threads=64) == {"race"}
    assert kinds(body.format(release="bar.warp.sync -1;", **parts), threads=64) == set()


def test_a_relaxed_arrival_at_the_cluster_barrier_releases_nothing_itself() -> None:
    """PTX ISA, "barrier.cluster": .relaxed gives no order of memory accesses; a fence before it does."""
    body = """
 mov.u32 %r3, %cluster_ctarank;
 setp.ne.u32 %p2, %r3, 0;
 @%p2 bra MEET;
 mapa.shared::cluster.u32 %r5, %r1, 1;
 st.shared::cluster.b32 [%r5], 7;
MEET:
 {fence}
 barrier.cluster.arrive.{how}aligned;
 barrier.cluster.wait.aligned;
 @%p2 ld.shared.b32 %r6, [%r1];
"""
    for fence, how, found in (
        ("", "", set()),
        ("", "relaxed.", {"race"}),
        ("fence.acq_rel.cluster;", "relaxed.", set()),
        ("fence.acq_rel.cta;", "relaxed.", {"race"}),
    ):
        assert kinds(body.format(fence=fence, how=how), cluster=2) - {"exit"} == found


def test_who_waits_for_a_relaxed_arrival_may_end() -> None:
    """The arrival of a peer is over with the phase that it completes, whether it releases anything or not."""
    body = ACROSS[: ACROSS.index("END:\n")] + "END:\n"
    body = body.replace(" @%p3 st.shared::cluster.b32 [%r5], %r0;\n", "").replace(" ld.shared.b32 %r6, [%r1];\n", "")
    parts = {"release": "", "wait": "acquire.cluster.", "acquire": ""}
    assert kinds(body.format(arrive="relaxed.cluster.", **parts), cluster=2) == set()
    assert kinds(body.format(arrive="release.cluster.", **parts), cluster=2) == set()
