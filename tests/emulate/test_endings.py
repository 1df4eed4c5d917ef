"""Kernels that do not end, and kernels that end too early: loops, waits, and what is in flight at the end."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_kit import launch
from .test_wgmma import run_mma

LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 256, [%r1+2048];"
BEGIN = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+2048], 1;
 fence.mbarrier_init.release.cluster;
 bar.sync 0;
 shr.u32 %r5, %r0, 5;
"""


@pytest.mark.parametrize(
    "body",
    [
        "HERE:\n bra HERE;\n",
        "HERE:\n add.s32 %r5, %r5, 1;\n bra HERE;\n",
        " setp.lt.u32 %p1, %r0, 7;\n @%p1 bra HERE;\nOTHER:\n add.s32 %r5, %r5, 1;\n bra OTHER;\nHERE:\n bra HERE;\n",
        " setp.lt.u32 %p1, %r0, 7;\n @!%p1 ret;\nHERE:\n bra HERE;\n",
        " bar.sync 0;\nHERE:\n st.shared.b32 [%r1], 1;\n bar.sync 0;\n bra HERE;\n",
    ],
)
def test_endless_loops_are_livelocks(body: str) -> None:
    """Also where the kernel, or a part of its lanes, has no way to its end."""
    outcome = launch(body, budget=3000)
    assert outcome.kinds == ["livelock"]
    assert "warp instructions and no end (budget 3000)" in outcome.message("livelock")


@pytest.mark.parametrize("between", ["", "nanosleep.u32 100;", "pmevent 1;"])
def test_a_wait_with_a_pause_is_a_wait(between: str) -> None:
    """A loop that only tests a barrier and sleeps is suspended: a deadlock at once, not a livelock after the budget."""
    body = (
        BEGIN + f"WAIT:\n {between}\n mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+2048], 0;\n @!%p3 bra WAIT;\n"
    )
    outcome = launch(body)
    assert outcome.kinds == ["deadlock"]
    assert "its one arrival has not come" in outcome.message("deadlock")
    assert outcome.result.statistics["warp_instructions"] < 1000


def in_flight(wait: str, warps: int = 2) -> str:
    """Warp 0 loads 256 bytes and ends; `wait` is what warp 1 does."""
    return BEGIN + f"""
 setp.ne.u32 %p2, %r5, 0;
 @%p2 bra OTHER;
 elect.sync %r6|%p4, -1;
 @!%p4 bra END;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], 256;
 {LOAD}
 bra END;
OTHER:
 {wait}
END:
"""  # fmt: skip


WAIT = "mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+2048], 0;\n @!%p3 bra OTHER;"


def test_loads_that_nobody_waits_for_outlive_the_cta() -> None:
    """Who issued them may end before; but some warp of the CTA must know that they have landed."""
    data = np.arange(256, dtype=np.uint8)
    for seed in range(3):
        assert launch(in_flight(WAIT), {"s": data}, threads=64, seed=seed).kinds == []
        outcome = launch(in_flight(""), {"s": data}, threads=64, seed=seed)
        assert outcome.kinds == ["exit"]
        assert "CTA (0, 0, 0) may end while this is in flight into its shared memory" in outcome.message("exit")
    peek = WAIT.replace(" @!%p3 bra OTHER;", "selp.b32 %r7, 1, 0, %p3;")  # a look is no wait, unless it says yes
    found = {tuple(launch(in_flight(peek), {"s": data}, threads=64, seed=seed).kinds) for seed in range(12)}
    assert ("exit",) in found


STORE = "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 256;"


def stored(commit: str, wait: str) -> str:
    """Lane 0 stores 256 bytes; `commit` and `wait` say which lane goes on."""
    return f"""
 shl.b32 %r6, %r0, 3;
 add.s32 %r6, %r6, %r1;
 st.shared.v2.b32 [%r6], {{{{%r0, %r0}}}};
 fence.proxy.async.shared::cta;
 bar.warp.sync -1;
 setp.eq.u32 %p1, %r0, 0;
 setp.eq.u32 %p2, %r0, 1;
 @%p1 {STORE}
 {commit} cp.async.bulk.commit_group;
 {wait} cp.async.bulk.wait_group.read 0;
""".replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize(
    ("commit", "wait", "found"),
    [("@%p1", "@%p1", []), ("", "", []), ("@%p1", "", []), ("", "@%p1", []), ("@%p2", "@%p1", ["exit"]),
     ("@%p1", "@%p2", ["exit"]), ("@%p2", "@%p2", ["exit"]), ("@%p2", "", ["exit"])],
)  # fmt: skip
def test_bulk_groups_are_those_of_a_thread(commit: str, wait: str, found: list[str]) -> None:
    """PTX ISA, "cp.async.bulk.commit_group": of the executing thread; another's do nothing for it."""
    outcome = launch(stored(commit, wait), {"o": np.zeros(256, np.uint8)})
    assert outcome.kinds == found
    if found:
        lacks = "commit_group" if commit == "@%p2" else "wait_group"
        assert f"what would keep it: cp.async.bulk.{lacks}" in outcome.message("exit")
        assert "by lane 0 of warp 0" in outcome.message("exit")


def test_what_one_lane_waits_for_the_others_do_not_know() -> None:
    """Lane 0 waits until its store has read; all lanes write again, with or without bar.warp.sync between."""
    again = " {sync}\n st.shared.v2.b32 [%r6], {{%r0, %r0}};\n"
    for sync, found in (("bar.warp.sync -1;", []), ("", ["race"])):
        body = stored("@%p1", "@%p1") + again.format(sync=sync)
        outcome = launch(body, {"o": np.zeros(256, np.uint8)})
        assert outcome.kinds == found
        if found:
            assert "what would order them: bar.warp.sync of warp 0" in outcome.message("race")
            assert "only its lanes 0x00000001 have waited" in outcome.message("race")


def test_a_store_by_one_lane_of_what_the_others_wrote() -> None:
    """The fence is there, and bar.warp.sync is not: that is what the report asks for."""
    body = stored("@%p1", "@%p1")
    assert launch(body, {"o": np.zeros(256, np.uint8)}).kinds == []
    outcome = launch(body.replace(" bar.warp.sync -1;\n", ""), {"o": np.zeros(256, np.uint8)})
    assert outcome.kinds == ["race"]
    assert "what would order them: bar.warp.sync of warp 0" in outcome.message("race")
    neither = body.replace(" bar.warp.sync -1;\n", "").replace(" fence.proxy.async.shared::cta;\n", "")
    text = launch(neither, {"o": np.zeros(256, np.uint8)}).message("race")
    assert "what would order them: fence.proxy.async by all lanes of warp 0" in text
    assert "then bar.warp.sync of warp 0" in text


MMA = " wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {d}, %rd30, %rd31, %p9, 1, 1;\n"
COMMIT, DRAIN = " wgmma.commit_group.sync.aligned;\n", " wgmma.wait_group.sync.aligned {count};\n"


@pytest.mark.parametrize(
    ("commit", "wait", "lacks"),
    [(COMMIT, DRAIN.format(count=0), ""), ("", DRAIN.format(count=0), "wgmma.commit_group"),
     (COMMIT, "", "wgmma.wait_group"), (COMMIT, DRAIN.format(count=1), "wgmma.wait_group")],
)  # fmt: skip
def test_what_a_wgmma_in_flight_lacks(commit: str, wait: str, lacks: str) -> None:
    d = "{" + ", ".join(f"%r{100 + i}" for i in range(32)) + "}"
    issue = " setp.ne.b32 %p9, 0, 0;\n wgmma.fence.sync.aligned;\n" + MMA.format(d=d) + commit + wait
    outcome, _ = run_mma(np.zeros(16384, np.float16), 0x4000004000010040, 0x4000004000010440, 64, issue=issue)
    assert outcome.kinds == (["wgmma-registers", "exit"] if lacks else [])
    if lacks:
        assert f"what would order them: {lacks}" in outcome.message("wgmma-registers")
        assert f"what would keep it: {lacks}" in outcome.message("exit")
