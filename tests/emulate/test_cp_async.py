"""cp.async: what is copied, whose groups and waits count, what orders it, and what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import UnsupportedInstruction
from warpwright.emulate.mutants.edits import apply, mutants

from .ptx_kit import HEADER, Outcome, launch

COPY = "cp.async.cg.shared.global [%r3], [%rd21], 16;"
BEGIN = """
 mul.wide.u32 %rd20, %r0, 16;
 add.s64 %rd21, %rd0, %rd20;
 add.s64 %rd22, %rd1, %rd20;
 shl.b32 %r2, %r0, 4;
 add.s32 %r3, %r2, %r1;
 xor.b32 %r4, %r3, 512;
"""
STORE = """
 ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r3];
 st.global.v4.b32 [%rd22], {%r10, %r11, %r12, %r13};
"""
#: Each thread reads what a thread of the other warp copied.
OTHER = STORE.replace("%r3", "%r4")
COMMIT, WAIT, SYNC = " cp.async.commit_group;\n", " cp.async.wait_group 0;\n", " bar.sync 0;\n"


def run(body: str, threads: int = 64, **options: Any) -> tuple[Outcome, Any]:
    data = np.arange(4 * threads, dtype=np.uint32)
    out = np.zeros(4 * threads, np.uint32)
    outcome = launch(BEGIN + body, {"i": data, "o": out}, out=["o"], threads=threads, **options)
    return outcome, out


def kinds(body: str, seeds: int = 3, **options: Any) -> set[str]:
    """What any seed finds, but for copies in flight at the end, which have a test of their own."""
    return {kind for seed in range(seeds) for kind in run(body, seed=seed, **options)[0].kinds} - {"exit"}


@pytest.mark.parametrize("seed", range(3))
def test_there_and_back(seed: int) -> None:
    outcome, out = run(COPY + COMMIT + WAIT + STORE, seed=seed)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.arange(256))
    outcome, out = run(COPY + COMMIT + WAIT + SYNC + OTHER, seed=seed)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.arange(256).reshape(2, 128)[::-1].reshape(-1))


@pytest.mark.parametrize(
    ("copy", "expected"),
    [
        ("cp.async.cg.shared.global.L2::128B [%r3], [%rd21], 16, 16;", [0, 1, 2, 3]),
        ("cp.async.ca.shared::cta.global [%r3], [%rd21], 16, 0;", [0, 0, 0, 0]),
        ("cp.async.ca.shared.global [%r3], [%rd21], 16, 4;", [0, 0, 0, 0]),
        ("cp.async.ca.shared.global [%r3], [%rd21+16], 16, 6;", [4, 5, 0, 0]),
        ("mov.b32 %r5, 8;\n cp.async.ca.shared.global [%r3], [%rd21+16], 16, %r5;", [4, 5, 0, 0]),
        ("setp.eq.u32 %p1, 1, 1;\n cp.async.ca.shared.global [%r3], [%rd21], 16, %p1;", [0, 0, 0, 0]),
        ("mov.b64 %rd9, 0;\n cp.async.cg.shared.global.L2::cache_hint [%r3], [%rd21], 16, %rd9;", [0, 1, 2, 3]),
        ("cp.async.ca.shared.global [%r3], [%rd21], 8;\n cp.async.ca.shared.global [%r3+8], [%rd21+4], 4;\n"
         " cp.async.ca.shared.global [%r3+12], [%rd21+4], 4;", [0, 1, 1, 1]),
    ],
)  # fmt: skip
def test_every_spelling(copy: str, expected: list[int]) -> None:
    outcome, out = run(f" setp.ne.u32 %p9, %r0, 0;\n @%p9 bra OFF;\n {copy}\n{COMMIT}{WAIT}{STORE}\nOFF:\n")
    assert outcome.kinds == []
    assert out[:4].tolist() == expected


def test_bytes_read_may_differ_between_lanes() -> None:
    """Lanes at the edge of a tensor read nothing, from addresses outside it."""
    body = " setp.ge.u32 %p1, %r0, 60;\n selp.b32 %r5, 0, 16, %p1;\n selp.b64 %rd23, 64, %rd21, %p1;\n"
    outcome, out = run(body + " cp.async.cg.shared.global [%r3], [%rd23], 16, %r5;\n" + COMMIT + WAIT + STORE)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.where(np.arange(256) < 240, np.arange(256), 0))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (COPY + COMMIT + STORE + WAIT, "race"),  # read before the wait
        (COPY + WAIT + STORE, "race"),  # never committed
        (COPY + COMMIT + " cp.async.wait_group 1;\n" + STORE, "race"),
        (COPY + COMMIT + WAIT + OTHER, "race"),  # another thread's, without a barrier
        (COPY + COMMIT + SYNC + WAIT + OTHER, "race"),  # the barrier before the wait
        (COPY + "st.shared.b32 [%r3], 1;" + COMMIT + WAIT, "race"),  # a write of one's own before the wait
        (COPY + COMMIT + COPY + COMMIT + WAIT, "race"),  # two copies to one place
        ("cp.async.cg.shared.global [%r3+4], [%rd21], 16;", "misaligned"),
        ("cp.async.cg.shared.global [%r3], [%rd21+4], 16;", "misaligned"),
        ("cp.async.cg.shared.global [%r3], [%rd21+16], 16;", "global-bounds"),
        ("cp.async.cg.shared.global [%r3+4096], [%rd21], 16;", "shared-bounds"),
        ("cp.async.cg.shared.global [%r3], [%rd22], 16;" + COMMIT + WAIT, "global-bounds"),  # an output
        ("cp.async.ca.shared.global [%r3], [%rd21], 8, 12;", "cp-async"),
    ],
)
def test_mistakes(body: str, kind: str) -> None:
    found = kinds(body)
    assert kind in found
    assert found <= {kind, "uninitialised-read"}  # the other warp may not even have begun


def test_what_others_read_is_not_copied_over() -> None:
    again = COPY + COMMIT + WAIT + SYNC + OTHER
    assert kinds(again + SYNC + COPY + COMMIT + WAIT) == set()
    assert kinds(again + COPY + COMMIT + WAIT) == {"race"}


def test_groups_are_counted_from_the_last() -> None:
    """Two stages: a wait that leaves one group shows the first, not the second."""
    second = COPY.replace("%r3", "%r3+1024")
    body = COPY + COMMIT + second + COMMIT + " cp.async.wait_group 1;\n"
    assert kinds(body + STORE) == set()
    assert kinds(body + STORE.replace("%r3", "%r3+1024")) == {"race"}
    assert kinds(COPY + second + COMMIT + COMMIT + " cp.async.wait_group 1;\n" + STORE) == set()  # an empty group
    assert kinds(COPY + second + " cp.async.wait_all;\n" + STORE) == set()


def test_the_groups_are_those_of_a_thread() -> None:
    """Lanes 0 to 15 wait, the others do not: only the first may read, and only what is theirs."""
    half = " and.b32 %r5, %r0, 16;\n setp.ne.u32 %p1, %r5, 0;\n"
    waits = half + COPY + COMMIT + " @%p1 bra OFF;\n" + WAIT
    assert kinds(waits + STORE + "OFF:\n") == set()
    assert kinds(waits + "OFF:\n" + STORE) == {"race"}
    assert kinds(waits + STORE.replace("%r3", "%r3+256") + "OFF:\n") == {"race"}
    assert kinds(waits + "OFF:\n" + WAIT + STORE) == set()
    # lanes 16 to 31 commit once more, so that their first group is the last but one
    commits = half + COPY + COMMIT + " @!%p1 bra OFF;\n" + COMMIT + "OFF:\n cp.async.wait_group 1;\n"
    assert kinds(commits + " @!%p1 bra END;\n" + STORE + "END:\n") == set()
    assert kinds(commits + " @%p1 bra END;\n" + STORE + "END:\n") == {"race"}


def test_the_proxy_is_the_generic_one() -> None:
    """A bulk store reads what was copied: behind a fence, as after any write of a thread."""
    store = (
        " setp.ne.u32 %p1, %r0, 0;\n @%p1 bra OFF;\n cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 1024;\n"
    )
    store += " cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;\nOFF:\n"
    assert kinds(COPY + COMMIT + WAIT + " fence.proxy.async.shared::cta;\n" + SYNC + store) == set()
    assert kinds(COPY + COMMIT + WAIT + SYNC + store) == {"race"}


def arrivals(count: int, arrive: str, copy: str = COPY, after: str = "") -> str:
    return (
        f"""
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+3072], {count};
 bar.sync 0;
 {copy}
 {arrive}
 {after}
LOOP: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+3072], 0;
 @!%p3 bra LOOP;
"""
        + OTHER
    )


NOINC = "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r1+3072];"
INC = NOINC.replace(".noinc", "")
ARRIVE = " mbarrier.arrive.shared::cta.b64 %rd30, [%r1+3072];"


def test_arrivals_at_an_mbarrier() -> None:
    assert kinds(arrivals(64, NOINC)) == set()
    assert kinds(arrivals(64, INC, after=ARRIVE)) == set()  # raised by one and lowered by one
    assert kinds(arrivals(64, INC)) == {"deadlock"}
    assert kinds(arrivals(128, NOINC)) == {"deadlock"}
    assert "race" in kinds(arrivals(32, NOINC))  # one warp's end the phase
    assert kinds(arrivals(64, ARRIVE)) == {"race"}  # an ordinary arrival does not wait for copies
    assert kinds(arrivals(64, COPY + NOINC, copy="")) == set()
    body = arrivals(64, NOINC).replace("LOOP: mbar", OTHER + "LOOP: mbar")
    told = [finding.message for seed in range(6) for finding in run(body, seed=seed)[0].result.findings]
    assert any("a wait by warp" in message for message in told)
    late = NOINC + "\n " + COPY  # a copy behind the arrival is none of it
    assert kinds(arrivals(64, late, copy="")) == {"race"}


def test_what_would_order_it() -> None:
    message = run(COPY + COMMIT + STORE)[0].message("race")
    assert "the cp.async of warp" in message
    assert "cp.async.wait_group by warp" in message
    message = run(COPY + WAIT + STORE)[0].message("race")
    assert "cp.async.commit_group and cp.async.wait_group" in message


def test_mutants_are_caught() -> None:
    body = BEGIN + COPY + COMMIT + COPY.replace("%r3", "%r3+1024") + COMMIT + " cp.async.wait_group 1;\n" + SYNC + OTHER
    body += WAIT + STORE.replace("%r3", "%r3+1024").replace("st.global", "//")
    text = HEADER.format(params="", threads=64, loads="", body=body)
    found = mutants(text, ())
    names = [m.name for m in found]
    assert "delete cp.async.commit_group #1" in names
    assert "+1 group in cp.async.wait_group #1" in names
    data = np.arange(256, dtype=np.uint32)
    for mutant in found:
        altered = apply(text, mutant)
        outcome = launch(altered[altered.index(" mul.wide") : altered.rindex(" ret;")], {"i": data, "o": data.copy()})
        # without the second commit the first wait leaves the first group open, and the last one shows nothing
        assert outcome.kinds, mutant.name


def test_forms_that_are_not_emulated() -> None:
    for copy in ("cp.async.ca.shared.global [%r3], [%rd21], 12;", "cp.async.cg.shared.global [%r3], [%rd21], 8;"):
        with pytest.raises(UnsupportedInstruction, match=r"4, 8 or 16 bytes"):
            run(copy)


@pytest.mark.parametrize(
    ("tail", "found"),
    [(COMMIT + WAIT, set()), (" cp.async.wait_all;\n", set()), (COMMIT, {"exit"}), ("", {"exit"}), (WAIT, {"exit"}),
     (COMMIT + " cp.async.wait_group 1;\n", {"exit"})],
)  # fmt: skip
def test_copies_in_flight_at_the_end(tail: str, found: set[str]) -> None:
    """Shared memory is gone, or another CTA's, once the CTA has ended: its threads wait for their copies before."""
    body = " " + COPY + "\n" + tail
    assert set(run(body)[0].kinds) == found
    if found:
        lacks = "cp.async.wait_group by" if tail.startswith(COMMIT) else "cp.async.commit_group and cp.async.wait_group"
        assert f"what would keep it: {lacks}" in run(body)[0].message("exit")


WITH_BARRIER = """
 setp.ne.u32 %p1, %r0, 0;
 @!%p1 mbarrier.init.shared::cta.b64 [%r1+2048], {count};
 bar.sync 0;
"""
SEEN = "LOOP:\n mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+2048], 0;\n @!%p3 bra LOOP;\n"


@pytest.mark.parametrize(("at", "found"), [(0, set()), (512, {"race"})])
def test_an_arrival_is_of_the_copies_before_it(at: int, found: set[str]) -> None:
    body = WITH_BARRIER.format(count=32) + COPY + " cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+2048];\n"
    body += COPY.replace("[%r3]", "[%r3+512]") + SEEN + f" ld.shared.b32 %r9, [%r3+{at}];\n cp.async.wait_all;\n"
    assert kinds(body, threads=32) == found


@pytest.mark.parametrize(("fence", "found"), [("", {"race"}), (" fence.proxy.async.shared::cta;\n", set())])
def test_what_was_copied_is_fenced_for_the_other_proxy(fence: str, found: set[str]) -> None:
    """Copies of threads are accesses of the generic proxy, whatever tells that they are done."""
    store = " @!%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 512;\n cp.async.bulk.commit_group;\n"
    store += " cp.async.bulk.wait_group 0;\n"
    arrive = " cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+2048];\n"
    for body in (
        WITH_BARRIER.format(count=32) + COPY + arrive + SEEN,
        WITH_BARRIER.format(count=1) + COPY + COMMIT + WAIT,
    ):
        assert kinds(body + fence + SYNC + store, threads=32) == found


@pytest.mark.parametrize(("sync", "found"), [("", {"race"}), (" bar.warp.sync -1;\n", set())])
def test_a_lane_hands_on_its_own_copies_alone(sync: str, found: set[str]) -> None:
    """Each lane has waited for its own; what lane 0 then releases is lane 16's only behind a barrier of the warp."""
    body = WITH_BARRIER.format(count=1) + " setp.ge.u32 %p2, %r0, 32;\n @%p2 bra LOOP;\n" + COPY + COMMIT + WAIT + sync
    body += " @!%p1 mbarrier.arrive.shared::cta.b64 _, [%r1+2048];\n bra END;\n" + SEEN
    assert kinds(body + " ld.shared.b32 %r9, [%r1+256];\nEND:\n") == found
