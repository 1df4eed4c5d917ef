"""Tensor memory: allocation, the order of accesses, and what is reported of each."""

from __future__ import annotations

import numpy as np
import pytest

from warpwright.emulate import UnsupportedInstruction

from .ptx_kit import Outcome, launch
from .tensor_kit import (
    AFTER,
    ALLOC,
    BARRIER,
    BEFORE,
    COMMIT,
    DEALLOC,
    SLOT,
    SYNC,
    WAIT,
    WAIT_LD,
    WAIT_ST,
    descriptor,
    instruction,
    mma,
    move,
    run,
    setup,
    single,
)

CLEAR = " setp.ne.b32 %p9, 0, 0;\n"
A, B = descriptor(0, 16, 1024, 2), descriptor(16384, 16, 1024, 2)
ISSUE = CLEAR + mma()
ST, LD = move("st", "32x32b", 4, 4), move("ld", "32x32b", 4, 4)


def with_mma(body: str, idesc: int = instruction(128, 16)) -> Outcome:
    return run(setup(A, B, idesc) + body, {"i": np.zeros(32768, np.uint8)})


def alone(body: str, **options: int) -> Outcome:
    """`body` by one warp, with nothing allocated."""
    return launch(body, {}, threads=32, shared=SLOT + 64, **options)


def alloc(columns: int, slot: int = SLOT) -> str:
    return f" {ALLOC.format(slot=slot, columns=columns)}\n ld.shared.b32 %r{3 + (slot - SLOT) // 16}, [%r1+{slot}];\n"


def free(columns: int, address: str = "%r3") -> str:
    return f" {DEALLOC.format(address=address, columns=columns)}\n"


RELINQUISH = " tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"


@pytest.mark.parametrize("columns", [32, 64, 128, 256, 512])
def test_allocations_are_powers_of_two_that_are_freed_once(columns: int) -> None:
    assert alone(alloc(columns) + RELINQUISH + free(columns)).kinds == []


def test_two_allocations_do_not_overlap() -> None:
    body = alloc(256) + alloc(128, SLOT + 16) + f" add.s32 %r5, %r3, 256;\n{free(256)}{free(128, '%r4')}"
    assert alone(body).kinds == []


def test_an_allocation_waits_until_there_is_room() -> None:
    """Warp 1 wants 512 columns while warp 0 holds 32 of them."""
    body = f"""
 setp.ge.u32 %p1, %r0, 32;
 @%p1 bra OTHER;
{alloc(32)} bar.sync 1, 64;
 nanosleep.u32 100;
{free(32)} bra DONE;
OTHER:
 bar.sync 1, 64;
{alloc(512, SLOT + 16)}{free(512, "%r4")}DONE:
"""
    for seed in range(6):
        assert launch(body, {}, threads=64, shared=SLOT + 64, seed=seed).kinds == []
    stuck = launch(body.replace(free(32), ""), {}, threads=64, shared=SLOT + 64)
    assert stuck.kinds == ["deadlock"]
    assert "512 columns of tensor memory" in stuck.message("deadlock")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (alloc(48), "a power of two from 32 to 512"),
        (alloc(16), "a power of two from 32 to 512"),
        (alloc(1024), "a power of two from 32 to 512"),
        (alloc(32), "are never freed"),
        (alloc(32) + free(32) + free(32), "it was freed before"),
        (alloc(32) + free(64), "32 are allocated there"),
        (RELINQUISH + alloc(32), "gave up its permit"),
        (alloc(32) + move("ld", "32x32b", 64, 64, "%r3"), "allocated are 0..31"),
        (" mov.b32 %r3, 0;\n" + move("st", "32x32b", 1, 1, "%r3"), "allocated are none"),
        (alloc(32) + " add.s32 %r3, %r3, 2097152;\n" + move("ld", "32x32b", 1, 1, "%r3"), "reaches lanes 0..31 alone"),
        (alloc(32) + " add.s32 %r3, %r3, 1048576;\n" + move("ld", "32x32b", 1, 1, "%r3"), "reaches lanes 0..31 alone"),
    ],
)
def test_misuse_of_tensor_memory(body: str, what: str) -> None:
    outcome = alone(body)
    assert outcome.kinds == ["tensor-memory"]
    assert what in outcome.message("tensor-memory")


def test_a_pair_needs_a_peer_and_one_kind_of_group() -> None:
    both = alloc(32).replace("cta_group::1", "cta_group::2")
    assert "has no peer" in alone(both).message("tcgen05")
    assert "has used cta_group::1" in alone(alloc(32) + RELINQUISH.replace("::1", "::2")).message("tcgen05")


def test_ordered_accesses_are_no_race() -> None:
    """A store, an MMA of another warp over it, and loads, each waited for and fenced."""
    body = ST + WAIT_ST + SYNC + single(1, ISSUE + COMMIT, "ISSUED") + WAIT + AFTER + LD + WAIT_LD
    assert with_mma(body).kinds == []


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (LD + WAIT_LD, "never written"),
        (ST + LD + WAIT_LD + WAIT_ST, "tcgen05.wait::st"),
        (ST + SYNC + single(1, ISSUE + COMMIT, "ISSUED") + WAIT, "tcgen05.wait::st"),
        (ST + WAIT_ST + " bar.sync 0;\n" + AFTER + single(1, ISSUE + COMMIT, "ISSUED") + WAIT, "before_thread_sync"),
        (ST + WAIT_ST + BEFORE + " bar.sync 0;\n" + single(1, ISSUE + COMMIT, "ISSUED") + WAIT, "after_thread_sync"),
        (single(1, ISSUE + COMMIT, "ISSUED") + SYNC + LD + WAIT_LD + WAIT, "tcgen05.commit"),
        (single(1, ISSUE + COMMIT, "ISSUED") + WAIT + LD + WAIT_LD, "after_thread_sync"),
        (single(1, ISSUE + COMMIT, "ISSUED"), "tcgen05.commit"),
        (ST + WAIT_ST + SYNC + LD + SYNC + ST + WAIT_LD + WAIT_ST, "tcgen05.wait::ld"),
    ],
)
def test_what_is_not_ordered_is_found(body: str, hint: str) -> None:
    outcome = with_mma(body)
    assert set(outcome.kinds) & {"race", "uninitialised-read"}
    assert any(hint in finding.message for finding in outcome.result.findings)


RELAXED = WAIT.replace("try_wait.parity.shared::cta", "try_wait.parity.relaxed.cluster.shared::cta")
#: Behind the first wait: all threads have loaded, and one goes on once all have arrived at the barrier of 128.
AGAIN = """
 mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [%r1+32784];
 setp.ne.u32 %p3, %r2, 1;
 @%p3 bra LATER;
 elect.sync %r90|%p4, -1;
 @!%p4 bra LATER;
ALL: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p5, [%r1+32784], 0;
 @!%p5 bra ALL;
{after}
{issue}
 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+32792];
LATER:
 bar.warp.sync -1;
LAST: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p5, [%r1+32792], 0;
 @!%p5 bra LAST;
{end}
"""
INIT = """
 setp.eq.u32 %p6, %r0, 0;
 @%p6 mbarrier.init.shared::cta.b64 [%r1+32784], 128;
 @%p6 mbarrier.init.shared::cta.b64 [%r1+32792], 1;
 fence.mbarrier_init.release.cluster;
 bar.sync 0;
"""


def test_relaxed_barriers_order_tensor_memory_with_its_fences_beside_them() -> None:
    """PTX ISA 9.7.16.6.4, canonical synchronisation patterns: mma, commit, relaxed wait, fence::after, ld; and of two
    threads ld, wait::ld, fence::before, relaxed arrival; relaxed wait, fence::after, mma."""
    assert RELAXED != WAIT
    first = single(1, ISSUE + COMMIT, "ISSUED")
    assert with_mma(first + RELAXED + AFTER + LD + WAIT_LD).kinds == []
    assert with_mma(first + RELAXED + LD + WAIT_LD).kinds[0] == "race"

    def kinds(after: str = AFTER, before: str = BEFORE, complete: str = WAIT_LD, end: str = AFTER) -> set[str]:
        text = INIT + first + RELAXED + AFTER + LD + complete + before + AGAIN.format(after=after, issue=ISSUE, end=end)
        return set(with_mma(text).kinds)

    assert kinds() == set()
    assert kinds(after="") == {"race"}
    assert kinds(before="") == {"race"}
    assert kinds(complete="") == {"race"}
    assert kinds(end="") == {"race"}  # the last MMA is not known to be over when its memory is freed


def test_barriers_alone_can_be_taken_to_order_tensor_memory() -> None:
    """The PTX ISA asks for fences; the pipelines of the DSL go without them."""
    body = ST + WAIT_ST + " bar.sync 0;\n" + single(1, ISSUE + COMMIT, "ISSUED") + WAIT + LD + WAIT_LD
    idesc, image = instruction(128, 16), np.zeros(32768, np.uint8)
    assert "race" in run(setup(A, B, idesc) + body, {"i": image}).kinds
    assert run(setup(A, B, idesc) + body, {"i": image}, without=frozenset({"tcgen05-fences"})).kinds == []
    unwaited = body.replace(WAIT_ST, "")
    assert "race" in run(setup(A, B, idesc) + unwaited, {"i": image}, without=frozenset({"tcgen05-fences"})).kinds


def test_mmas_of_one_accumulator_are_pipelined_and_others_are_not() -> None:
    assert with_mma(single(1, ISSUE + ISSUE + COMMIT, "ISSUED") + WAIT + AFTER + LD + WAIT_LD).kinds == []
    shifted = ISSUE + " add.s32 %r93, %r3, 8;\n" + mma(d="%r93") + COMMIT
    assert with_mma(single(1, shifted, "ISSUED") + WAIT + AFTER + LD + WAIT_LD).kinds == ["race"]


def test_all_mmas_of_a_thread_can_be_taken_to_be_in_order() -> None:
    """What attention kernels rely on: scores are written over probabilities that the MMA before has as its A."""
    shifted = ISSUE + " add.s32 %r93, %r3, 8;\n" + mma(d="%r93") + COMMIT
    operand = ISSUE.replace("[%r3], %rd30", "[%r93], [%r3]")
    assert operand != ISSUE
    over = " add.s32 %r93, %r3, 32;\n" + operand + ISSUE + COMMIT
    idesc, image = instruction(128, 16), np.zeros(32768, np.uint8)

    def kinds(body: str, *rules: str) -> set[str]:
        return set(run(setup(A, B, idesc) + body, {"i": image}, without=frozenset(rules)).kinds)

    for issue in (shifted, over):
        body = move("st", "32x32b", 8, 8) + WAIT_ST + SYNC + single(1, issue, "ISSUED")
        assert kinds(body + WAIT + AFTER + LD + WAIT_LD) == {"race"}
        assert kinds(body + WAIT + AFTER + LD + WAIT_LD, "tcgen05-pipelines") == set()
        assert kinds(body + LD + WAIT_LD + WAIT, "tcgen05-pipelines") == {"race"}


def test_threads_go_on_with_a_pipeline_behind_fences_and_a_barrier() -> None:
    keep = " setp.eq.b32 %p9, 0, 0;\n"
    first, second = single(1, ISSUE + BEFORE, "FIRST"), single(2, AFTER + keep + mma() + COMMIT, "SECOND")
    rest = WAIT + AFTER + LD + WAIT_LD
    assert with_mma(first + " bar.sync 0;\n" + second + rest).kinds == []
    for fence in (BEFORE, AFTER):
        body = first + " bar.sync 0;\n" + second
        assert "race" in with_mma(body.replace(fence, "") + rest).kinds


def test_operands_must_not_be_written_before_the_commit_is_waited_for() -> None:
    overwrite = " st.shared.b32 [%r1], %r0;\n"
    assert "race" in with_mma(single(1, ISSUE + overwrite + COMMIT, "ISSUED") + WAIT).kinds
    assert with_mma(single(1, ISSUE + COMMIT, "ISSUED") + WAIT + f" @!%p1 {overwrite.strip()}\n").kinds == []


def test_the_commit_is_the_arrival_that_is_waited_for() -> None:
    outcome = with_mma(single(1, ISSUE, "ISSUED") + WAIT)
    assert outcome.kinds == ["deadlock"]
    assert "its one arrival has not come" in outcome.message("deadlock")


def test_registers_of_a_load_are_not_ready_before_its_wait() -> None:
    use = " add.s32 %r200, %r100, 1;\n"
    start = ST + WAIT_ST + LD
    assert with_mma(start + use + WAIT_LD).kinds == ["tcgen05-registers"]
    assert with_mma(start + " mov.b32 %r201, %r100;\n" + WAIT_LD + use + " add.s32 %r202, %r201, 1;\n").kinds == []
    copied = start + " mov.b32 %r201, %r100;\n add.s32 %r202, %r201, 1;\n" + WAIT_LD
    assert with_mma(copied).kinds == ["tcgen05-registers"]


def test_the_use_of_registers_can_be_taken_for_the_wait_for_their_load() -> None:
    """What ptxas does of itself: each load ends where one of its registers, or a copy, is first used."""
    loose = frozenset({"tcgen05-loads"})
    other = move("ld", "32x32b", 4, 4, first=110)
    clear = "".join(f" mov.b32 %r{120 + i}, 0;\n" for i in range(4))
    after = SYNC + clear + move("st", "32x32b", 4, 4, first=120) + WAIT_ST
    idesc, image = instruction(128, 16), np.zeros(32768, np.uint8)

    def kinds(body: str) -> list[str]:
        return run(setup(A, B, idesc) + ST + WAIT_ST + body + after, {"i": image}, without=loose).kinds

    use, used = " add.s32 %r200, %r100, 1;\n", " add.s32 %r200, %r112, 1;\n"
    assert kinds(LD + use) == []
    assert kinds(LD + " mov.b32 %r201, %r100;\n add.s32 %r202, %r201, 1;\n") == []
    assert kinds(LD) == ["race"]
    assert kinds(LD + other + use) == ["race"]
    assert kinds(LD + other + use + used) == []


def test_a_load_in_flight_keeps_no_other_one_from_being_over() -> None:
    """Of two loads one is used: an MMA behind a barrier may write over its columns, and not over the other's."""
    begin = f" add.s32 %r93, %r4, 16;\n add.s32 %r94, %r3, 16;\n{ST}{move('st', '32x32b', 4, 4, '%r93')}{WAIT_ST}"
    loads = LD + move("ld", "32x32b", 4, 4, "%r93", first=110)
    idesc, image = instruction(128, 16), np.zeros(32768, np.uint8)

    def kinds(used: int, d: str, *rules: str) -> set[str]:
        issue = SYNC + single(1, CLEAR + mma(d=d) + COMMIT, "ISSUED")
        body = f"{begin}{loads} add.s32 %r200, %r{used}, 1;\n{issue}{WAIT_LD}{WAIT}"
        return set(run(setup(A, B, idesc) + body, {"i": image}, without=frozenset(rules)).kinds)

    for rules in (("tcgen05-loads",), ("tcgen05-loads", "tcgen05-fences")):
        assert kinds(101, "%r3", *rules) == set()
        assert kinds(101, "%r94", *rules) == {"race"}
        assert kinds(111, "%r3", *rules) == {"race"}
        assert kinds(111, "%r94", *rules) == set()
    assert kinds(101, "%r3") == {"race", "tcgen05-registers"}


def test_the_use_of_a_load_stays_before_an_arrival() -> None:
    """However deep in arithmetic it is: all warps load, use late, and arrive; then an MMA writes there."""
    chain = " mov.b32 %r200, %r0;\n" + "".join(f" add.s32 %r200, %r200, {i};\n" for i in range(9))
    use = chain + " add.s32 %r201, %r100, %r200;\n"
    arrive = f" mbarrier.arrive.shared::cta.b64 _, [%r1+{BARRIER + 8}];\n"
    ready = WAIT.replace("WAITING", "READY").replace(f"{BARRIER}]", f"{BARRIER + 8}]")
    init = f" setp.eq.u32 %p2, %r0, 0;\n @%p2 mbarrier.init.shared::cta.b64 [%r1+{BARRIER + 8}], 128;\n"
    start = f"{init}{ST}{WAIT_ST}{SYNC}{LD}"
    end = ready + single(1, CLEAR + mma() + COMMIT, "ISSUED") + WAIT_LD + WAIT
    idesc, image = instruction(128, 16), np.zeros(32768, np.uint8)
    loose = frozenset({"tcgen05-loads", "tcgen05-fences"})
    for body, expected in ((use + arrive, set()), (arrive + use, {"race"})):
        outcome = run(setup(A, B, idesc) + start + body + end, {"i": image}, without=loose)
        assert set(outcome.kinds) == expected


@pytest.mark.parametrize(("m", "n"), [(32, 16), (256, 16), (128, 264), (64, 0)])
def test_the_shape_of_an_mma(m: int, n: int) -> None:
    assert "tcgen05" in with_mma(single(1, ISSUE, "ISSUED"), instruction(m, n)).kinds


def test_one_thread_issues_an_mma() -> None:
    body = " setp.ne.u32 %p3, %r2, 1;\n @%p3 bra ISSUED;\n" + ISSUE + "ISSUED:\n"
    assert "issued by 32 lanes" in with_mma(body).message("tcgen05")


@pytest.mark.parametrize(
    "text",
    [
        " tcgen05.cp.cta_group::1.32x128b [%r3], %rd30;\n",
        " tcgen05.cp.cta_group::1.64x128b.warpx4 [%r3], %rd30;\n",
        " tcgen05.shift.cta_group::1.up [%r3];\n",
        " tcgen05.mma.ws.cta_group::1.kind::f16 [%r3], %rd30, %rd31, %r91, %p9;\n",
        " tcgen05.mma.sp.cta_group::1.kind::f16 [%r3], %rd30, %rd31, [%r5], %r91, %p9;\n",
        " tcgen05.mma.cta_group::1.kind::i8 [%r3], %rd30, %rd31, %r91, %p9, 2;\n",
        " tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::4X [%r3], %rd30, %rd31, %r9, [%r5], [%r5], %p9;\n",
        " tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%r100, %r101}, %r102, [%r3];\n",
    ],
)
def test_what_is_not_modelled_is_named(text: str) -> None:
    with pytest.raises(UnsupportedInstruction) as caught:
        alone(text)
    assert text.split()[0].split(".cta_group")[0] in str(caught.value)


def test_an_mbarrier_beside_the_address_of_an_allocation_is_left_alone() -> None:
    """The two share sixteen bytes, but none of them."""
    assert BARRIER == SLOT + 8
    assert with_mma("").kinds == []
