"""mbarriers, named barriers, the cluster barrier and register reallocation: semantics, misuse, and hangs explained."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_kit import launch

INIT = " setp.eq.u32 %p1, %r0, 0;\n @%p1 mbarrier.init.shared::cta.b64 [%r1], {count};\n bar.sync 0;\n"
WAIT = """
{{
 .reg .pred P;
LOOP:
 mbarrier.try_wait.parity.shared::cta.b64 P, [%r1], {parity};
 @P bra DONE;
 bra LOOP;
DONE:
}}
"""
ONE = " @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
PEEK = " mbarrier.test_wait.parity.shared::cta.b64 %p3, [%r1], {parity};\n selp.b32 %r{to}, 1, 0, %p3;\n"


def observe(body: str, count: int, **options: object) -> list[int]:
    """Registers %r30.. of warp 0 after `body`, four of them."""
    out = np.zeros(4, np.uint32)
    store = "".join(f" @%p1 st.global.b32 [%rd0+{4 * i}], %r{30 + i};\n" for i in range(4))
    outcome = launch(INIT.format(count=count) + body + store, {"o": out}, peek_failure=0.0, **options)  # type: ignore[arg-type]
    assert outcome.kinds == []
    return [int(v) for v in out]


def test_parity_names_the_phase_that_is_over() -> None:
    """PTX ISA, "mbarrier.test_wait": parity 1 refers to the phase before the first one, so it is over at once."""
    body = "".join(
        [PEEK.format(parity=0, to=30), PEEK.format(parity=1, to=31), ONE, PEEK.format(parity=0, to=32),
         PEEK.format(parity=1, to=33)]
    )  # fmt: skip
    assert observe(body, 1) == [0, 1, 1, 0]


def test_a_phase_ends_at_its_count_and_starts_again() -> None:
    two = PEEK.format(parity=0, to=30) + ONE + PEEK.format(parity=0, to=31)
    assert observe(ONE + two + ONE + PEEK.format(parity=0, to=32) + ONE + PEEK.format(parity=1, to=33), 2) == [
        0,
        1,
        1,
        1,
    ]


def test_every_active_lane_arrives() -> None:
    body = " mbarrier.arrive.shared::cta.b64 _, [%r1];\n" + PEEK.format(parity=0, to=30)
    assert observe(body, 32)[0] == 1
    assert observe(" @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1], 3;\n" + PEEK.format(parity=0, to=30), 3)[0] == 1


def test_the_state_of_an_arrival_names_its_phase() -> None:
    body = """
 mbarrier.arrive.shared::cta.b64 %rd9, [%r1], 1;
 mbarrier.test_wait.shared::cta.b64 %p3, [%r1], %rd9;
 selp.b32 %r30, 1, 0, %p3;
"""
    assert observe(body, 32)[0] == 1
    assert observe(body, 64)[0] == 0


def test_transactions_hold_a_phase_open() -> None:
    """PTX ISA, "expect-tx operation": the phase is over when arrivals and bytes are both in."""
    body = " @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64;\n" + PEEK.format(parity=0, to=30)
    assert observe(body, 1)[0] == 0


def test_peeks_fail_at_random() -> None:
    out = np.zeros(1, np.uint32)
    body = INIT.format(count=1) + ONE
    body += " mov.b32 %r30, 0;\n"
    for _ in range(40):
        body += PEEK.format(parity=0, to=31) + " add.s32 %r30, %r30, %r31;\n"
    outcome = launch(body + " @%p1 st.global.b32 [%rd0], %r30;\n", {"o": out}, peek_failure=0.5)
    assert outcome.kinds == []
    assert 5 < out[0] < 35


def test_wait_wakes_when_another_warp_arrives() -> None:
    body = INIT.format(count=1) + """
 setp.ge.u32 %p2, %r0, 32;
 @%p2 bra ARRIVE;
""" + WAIT.format(parity=0) + """
 bra END;
ARRIVE:
 elect.sync %r5|%p3, -1;
 @%p3 mbarrier.arrive.shared::cta.b64 _, [%r1];
END:
"""  # fmt: skip
    for seed in range(4):
        assert launch(body, threads=64, seed=seed).kinds == []


def test_deadlock_says_who_waits_for_what() -> None:
    outcome = launch(
        INIT.format(count=3) + ONE + WAIT.format(parity=0), threads=64, roles=lambda w: f"role{w}",
        names=lambda offset: f"ab_full[{offset // 8}]",
    )  # fmt: skip
    assert outcome.kinds == ["deadlock"]
    text = outcome.message("deadlock")
    assert "warps 0..1 (role0, role1) of CTA (0, 0, 0) wait for the phase of parity 0 of mbarrier ab_full[0]" in text
    assert "phase 0: 1 of 3 arrivals has come\n" in text
    assert "mbarrier.try_wait" in text
    waits = outcome.result.findings[0].details["waits"]
    assert [(w["warp"], w["parity"], w["pending_arrivals"]) for w in waits] == [(0, 0, 2), (1, 0, 2)]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (" mbarrier.arrive.shared::cta.b64 _, [%r1];\n", "no mbarrier is initialised"),
        (INIT.format(count=1) + " mbarrier.arrive.shared::cta.b64 _, [%r1], 2;\n", "more arrivals than the phase has"),
        (INIT.format(count=1) + " @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;\n", "initialised again"),
        (" mbarrier.init.shared::cta.b64 [%r1], 0;\n", "arrival count of 0"),
        (INIT.format(count=1) + " @%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 1048576;\n", "exceeds"),
        (INIT.format(count=1) + " @%p1 st.shared.b32 [%r1+4], 1;\n", "holds a live mbarrier"),
    ],
)
def test_mbarrier_misuse(body: str, what: str) -> None:
    outcome = launch(body)
    assert outcome.kinds == ["mbarrier"]
    assert what in outcome.message("mbarrier")


def test_misaligned_and_outside_barriers() -> None:
    assert launch(" mbarrier.init.shared::cta.b64 [%r1+4], 1;\n").kinds == ["misaligned"]
    assert launch(" mbarrier.init.shared::cta.b64 [%r1+4096], 1;\n", shared=4096).kinds == ["shared-bounds"]


def test_initialisation_must_be_ordered() -> None:
    body = " setp.eq.u32 %p1, %r0, 0;\n @%p1 mbarrier.init.shared::cta.b64 [%r1], 64;\n"
    body += " mbarrier.arrive.shared::cta.b64 _, [%r1];\n"
    found = {kind for seed in range(6) for kind in launch(body, threads=64, seed=seed).kinds}
    assert "race" in found or "mbarrier" in found


def test_named_barriers() -> None:
    partial = " shr.u32 %r5, %r0, 5;\n setp.eq.u32 %p1, %r5, 2;\n @%p1 bra END;\n bar.sync 3, 64;\nEND:\n"
    outcome = launch(partial, threads=96)
    assert outcome.kinds == []
    assert outcome.result.observations["named"] == {3: {64}}
    hang = launch(" bar.sync 2, 96;\n", threads=64)
    assert hang.kinds == ["deadlock"]
    assert "named barrier 2: 32 of 96 threads have not arrived" in hang.message("deadlock")
    arrive = " shr.u32 %r5, %r0, 5;\n setp.eq.u32 %p1, %r5, 0;\n @%p1 bra A;\n bar.sync 1, 64;\n bra B;\nA:\n"
    assert launch(arrive + " bar.arrive 1, 64;\nB:\n", threads=64).kinds == []


def test_named_barrier_misuse() -> None:
    differ = " shr.u32 %r5, %r0, 5;\n shl.b32 %r6, %r5, 5;\n add.s32 %r6, %r6, 64;\n bar.sync 1, %r6;\n"
    outcome = launch(differ, threads=64)
    assert outcome.kinds == ["named-barrier"]
    assert "for those already there" in outcome.message("named-barrier")
    divergent = " setp.lt.u32 %p1, %r0, 5;\n @%p1 bra A;\n bra B;\nA:\n bar.sync 0;\nB:\n"
    assert launch(divergent).kinds == ["named-barrier"]
    assert launch(" bar.sync 16;\n").kinds == ["named-barrier"]


def test_cluster_barrier_and_missing_arrivals() -> None:
    assert launch(" barrier.cluster.arrive;\n barrier.cluster.wait;\n", cluster=2, threads=64).kinds == []
    body = " mov.u32 %r5, %cluster_ctarank;\n setp.eq.u32 %p1, %r5, 1;\n @%p1 bra END;\n"
    # warps that have ended count no longer, so this goes through
    assert launch(body + " barrier.cluster.arrive;\n barrier.cluster.wait;\nEND:\n", cluster=2).kinds == []
    assert launch(" barrier.cluster.wait;\n").kinds == ["convergence"]


def test_setmaxnreg() -> None:
    """PTX ISA, "setmaxnreg": an increase waits until the CTA's pool has the registers."""
    split = " shr.u32 %r5, %r0, 7;\n setp.eq.u32 %p1, %r5, 0;\n @%p1 bra LESS;\n"
    good = (
        split + " setmaxnreg.inc.sync.aligned.u32 232;\n bra END;\nLESS:\n setmaxnreg.dec.sync.aligned.u32 24;\nEND:\n"
    )
    outcome = launch(good, threads=256, entry_registers=128)
    assert outcome.kinds == []
    assert {n: sorted(w) for n, w in outcome.result.observations["registers"].items()} == {
        24: [0, 1, 2, 3], 232: [4, 5, 6, 7]}  # fmt: skip
    hang = launch(good.replace("232", "240"), threads=256, entry_registers=128)
    assert hang.kinds == ["deadlock"]
    assert "240 per thread wanted, 128 held" in hang.message("deadlock")
    uneven = " shr.u32 %r5, %r0, 5;\n setp.eq.u32 %p1, %r5, 0;\n @%p1 bra END;\n"
    assert launch(uneven + " setmaxnreg.dec.sync.aligned.u32 24;\nEND:\n", threads=128).kinds == ["setmaxnreg"]
    assert launch(" setmaxnreg.dec.sync.aligned.u32 25;\n", threads=128).kinds == ["setmaxnreg"]


def test_the_stage_that_is_behind_the_others_is_told() -> None:
    """An arrival at the wrong stage: the deadlock says in which phase the other stages of the barrier are."""
    body = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+8], 1;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+16], 1;
 bar.sync 0;
 @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1+8];
 @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1+16];
""" + WAIT.format(parity=0)  # fmt: skip
    text = launch(body, names=lambda offset: f"empty[{offset // 8}]").message("deadlock")
    assert "its one arrival has not come\n    its other stages: [1..2] in phase 1\n    initialised for" in text
    assert "other stages" not in launch(body, names=lambda offset: f"b{offset}").message("deadlock")


def test_a_second_arrival_in_a_phase_says_who_is_missing() -> None:
    body = " setp.ge.u32 %p1, %r0, 32;\n @%p1 ret;\n bar.arrive 3, 64;\n bar.arrive 3, 64;\n"
    text = launch(body, threads=64).message("named-barrier")
    assert "named barrier 3: the warp arrives twice in one phase, of which 32 of 64 threads have not arrived" in text
    assert "arrived in this phase: warp 0; this warp by\n      PTX line" in text


def test_arrivals_of_one_warp_can_be_let_count_each() -> None:
    """A group of warps that gives itself the first turn: it has arrived for those that are still to come."""
    other = " setp.ge.u32 %p1, %r0, 32;\n @%p1 ret;\n"
    loose = frozenset({"named-barrier-twice"})
    assert launch(other + " bar.arrive 3, 64;\n bar.sync 3, 64;\n", threads=64, without=loose).kinds == []
    assert launch(other + " bar.arrive 3, 96;\n bar.sync 3, 96;\n", threads=96, without=loose).kinds == ["deadlock"]


def test_lanes_initialise_mbarriers_of_their_own_and_none_of_another_s() -> None:
    each = " setp.lt.u32 %p1, %r0, 4;\n shl.b32 %r5, %r0, 3;\n add.s32 %r5, %r5, %r1;\n"
    assert launch(each + " @%p1 mbarrier.init.shared::cta.b64 [%r5], 1;\n").kinds == []
    outcome = launch(" mbarrier.init.shared::cta.b64 [%r1], 1;\n")
    assert outcome.kinds == ["mbarrier"]
    assert "32 lanes initialise mbarrier" in outcome.message("mbarrier")


def test_memory_of_an_mbarrier_that_is_gone_holds_nothing() -> None:
    body = INIT.format(count=1) + " @%p1 mbarrier.inval.shared::cta.b64 [%r1];\n{}"
    read = " @%p1 ld.shared.b32 %r9, [%r1];\n"
    assert launch(body.format(" @%p1 st.shared.b32 [%r1], 1;\n" + read)).kinds == []
    assert launch(body.format(read)).kinds == ["uninitialised-read"]


def test_every_store_over_an_mbarrier_is_told() -> None:
    """Of 16 bytes it takes 8: the first store of all of them does not make it ordinary memory."""
    store = " @%p1 st.shared.v4.b32 [%r1], {%r0, %r0, %r0, %r0};\n"
    small = " @%p1 st.shared.b32 [%r1+8], 1;\n"
    assert launch(INIT.format(count=1) + store + small + store).kinds == ["mbarrier", "mbarrier"]


def test_a_barrier_is_not_invalidated_while_somebody_waits() -> None:
    body = INIT.format(count=1) + " setp.lt.u32 %p2, %r0, 32;\n @%p2 bra WAITER;\n setp.ne.u32 %p3, %r0, 32;\n"
    body += " @!%p3 mbarrier.inval.shared::cta.b64 [%r1];\n bra END;\nWAITER:" + WAIT.format(parity=0) + "END:\n"
    found = [f.message for seed in range(6) for f in launch(body, threads=64, seed=seed).result.findings]
    assert any("is invalidated while warps wait for it" in message for message in found)


def test_a_barrier_of_the_cta_counts_warps_that_are_there() -> None:
    body = " setp.ge.u32 %p1, %r0, 32;\n @%p1 ret;\n bar.sync 0;\n"
    for seed in range(4):
        assert launch(body, threads=96, seed=seed).kinds == []


def test_ctas_that_wait_alike_are_told_of_once() -> None:
    body = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1], 2;
 bar.warp.sync -1;
 @%p1 mbarrier.arrive.shared::cta.b64 _, [%r1];
LOOP:
 mbarrier.try_wait.parity.shared.b64 %p5, [%r1], 0;
 @!%p5 bra LOOP;
"""
    message = launch(body, grid=3).message("deadlock")
    assert message.count("wait for the phase") == 1
    assert "warp 0 of CTAs (0, 0, 0), (1, 0, 0), (2, 0, 0) wait for" in message
    assert "1 arrival by warp 0 of its CTA" in message
