"""Bulk copies of consecutive bytes: where they go, what they count, what orders them, and what is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import UnsupportedInstruction
from warpwright.emulate.mutants.edits import mutants

from .ptx_kit import HEADER, Outcome, launch

SIZE = 1024
G2S = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
S2G = "cp.async.bulk.global.shared::cta.bulk_group"
BEGIN = """
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+2048], 1;
 fence.mbarrier_init.release.cluster;
 bar.sync 0;
 elect.sync %r5|%p2, -1;
"""
ISSUE = """
 @!%p2 bra WAIT;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+2048], {expected};
 {load}
WAIT:
LOOP:
 mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+2048], 0;
 @!%p3 bra LOOP;
"""
#: Each lane adds 1 to 32 bytes in shared memory.
CHANGE = """
 shl.b32 %r6, %r0, 5;
 add.s32 %r6, %r6, %r1;
 ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r6];
 ld.shared.v4.b32 {%r14, %r15, %r16, %r17}, [%r6+16];
""" + "".join(f" add.s32 %r{i}, %r{i}, 1;\n" for i in range(10, 18)) + """
 st.shared.v4.b32 [%r6], {%r10, %r11, %r12, %r13};
 st.shared.v4.b32 [%r6+16], {%r14, %r15, %r16, %r17};
"""  # fmt: skip
FENCE = " fence.proxy.async.shared::cta;\n"
STORE = """
 bar.sync 0;
 @!%p2 bra END;
 {store}
 cp.async.bulk.commit_group;
 {wait}
END:
"""
DRAIN = "cp.async.bulk.wait_group 0;"


def text(load: str = "", store: str = "", expected: int = SIZE, fence: str = FENCE, wait: str = DRAIN) -> str:
    load = load or f"{G2S} [%r1], [%rd0], {SIZE}, [%r1+2048];"
    store = store or f"{S2G} [%rd1], [%r1], {SIZE};"
    return BEGIN + ISSUE.format(load=load, expected=expected) + CHANGE + fence + STORE.format(store=store, wait=wait)


def run(body: str, **options: Any) -> tuple[Outcome, Any]:
    out = np.zeros(SIZE // 4, np.uint32)
    data = np.arange(SIZE // 4, dtype=np.uint32)
    outcome = launch(body, {"s": data, "o": out}, out=["o"], shared=4096, **options)
    return outcome, out


def kinds(body: str, seeds: int = 3, **options: Any) -> set[str]:
    return {kind for seed in range(seeds) for kind in run(body, seed=seed, **options)[0].kinds}


@pytest.mark.parametrize("seed", range(3))
def test_there_and_back(seed: int) -> None:
    outcome, out = run(text(), seed=seed)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.arange(SIZE // 4) + 1)
    seen = {"copies": 1, "bytes": SIZE, "multicast": {1}, "lanes": {1}}
    assert outcome.result.observations["bulk"] == {"load": seen, "store": seen}
    (barrier,) = outcome.result.observations["mbarriers"].values()
    assert barrier["bytes"] == {SIZE}


def test_every_spelling_of_a_load() -> None:
    """The size in a register, a cache policy, and the form that names the CTA's own shared memory."""
    loads = [
        f"mov.b32 %r7, {SIZE};\n mov.b64 %rd40, 0;\n {G2S}.L2::cache_hint [%r1], [%rd0], %r7, [%r1+2048], %rd40;",
        f"{G2S.replace('cluster', 'cta')} [%r1], [%rd0], {SIZE}, [%r1+2048];",
    ]
    for load in loads:
        outcome, out = run(text(load, f"mov.b64 %rd41, 0;\n {S2G}.L2::cache_hint [%rd1], [%r1], {SIZE}, %rd41;"))
        assert outcome.kinds == []
        np.testing.assert_array_equal(out, np.arange(SIZE // 4) + 1)


def test_halves_are_counted_together() -> None:
    load = f"{G2S} [%r1], [%rd0], 512, [%r1+2048];\n {G2S} [%r1+512], [%rd0+512], 512, [%r1+2048];"
    store = f"{S2G} [%rd1], [%r1], 256;\n {S2G} [%rd1+256], [%r1+256], 768;"
    outcome, out = run(text(load, store))
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, np.arange(SIZE // 4) + 1)
    seen = outcome.result.observations["bulk"]
    assert [(seen[way]["copies"], seen[way]["bytes"]) for way in ("load", "store")] == [(2, SIZE), (2, SIZE)]


def test_bytes_expected_and_landed() -> None:
    assert kinds(text(expected=SIZE + 16)) == {"deadlock"}
    assert kinds(text(expected=SIZE - 16)) == {"mbarrier", "deadlock"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (text(f"{G2S} [%r1], [%rd0], 1000, [%r1+2048];"), "tma"),
        (text(f"{G2S} [%r1], [%rd0+8], 512, [%r1+2048];"), "misaligned"),
        (text(f"{G2S} [%r1+8], [%rd0], 512, [%r1+2048];"), "misaligned"),
        (text(f"{G2S} [%r1], [%rd0+16], {SIZE}, [%r1+2048];"), "global-bounds"),
        (text(f"{G2S} [%r1+3584], [%rd0], {SIZE}, [%r1+2048];"), "shared-bounds"),
        (text(store=f"{S2G} [%rd1], [%r1], 1000;"), "tma"),
        (text(store=f"{S2G} [%rd1+8], [%r1], 512;"), "misaligned"),
        (text(store=f"{S2G} [%rd1], [%r1+8], 512;"), "misaligned"),
        (text(store=f"{S2G} [%rd1+16], [%r1], {SIZE};"), "global-bounds"),
        (text(store=f"{S2G} [%rd1], [%r1+3584], {SIZE};"), "shared-bounds"),
        (text(store=f"{S2G} [%rd1], [%r1], 32;\n {S2G} [%rd1+16], [%r1], 32;"), "written-twice"),
        (text(store=f"{S2G} [%rd1], [%r1], {SIZE};", wait=""), "exit"),
    ],
)
def test_mistakes(body: str, kind: str) -> None:
    assert kinds(body) == {kind}


def test_an_output_is_not_read() -> None:
    memory = {"s": np.arange(SIZE // 4, dtype=np.uint32), "o": np.zeros(SIZE // 4, np.uint32)}
    body = text(f"{G2S} [%r1], [%rd1], {SIZE}, [%r1+2048];")
    assert "global-bounds" in launch(body, memory, out=["o"]).kinds


def test_order_between_the_proxies() -> None:
    """The copy back is asynchronous: the threads' writes want a fence before it, and its reads a wait after it."""
    outcome, _ = run(text(fence=""))
    assert set(outcome.kinds) == {"race"}
    assert "fence.proxy.async by the writer" in outcome.message("race")
    again = " st.shared.b32 [%r1], 7;"
    early = text(wait=again + DRAIN)
    assert kinds(early) == {"race"}
    assert "cp.async.bulk.wait_group" in run(early)[0].message("race")
    assert kinds(text(wait="cp.async.bulk.wait_group.read 0;" + again)) == set()
    unfilled = text().replace(
        "LOOP:\n mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1+2048], 0;\n @!%p3",
        "setp.ne.b32 %p19, 1, 1;\n @%p19",
    )
    outcome, _ = run(unfilled.replace("bra LOOP;", "bra END;"))
    assert "race" in outcome.kinds
    assert "a wait by warp 0" in outcome.message("race")


def test_a_wait_for_fewer_groups_than_there_are_waits_for_none() -> None:
    """With two groups on their way, wait_group 2 or more has nothing to wait for."""
    store = f"{S2G} [%rd1], [%r1], 512;\n cp.async.bulk.commit_group;\n {S2G} [%rd1+512], [%r1+512], 512;"
    for pending, expected in ((1, set()), (2, {"race"}), (3, {"race"}), (8, {"race"})):
        wait = f"cp.async.bulk.wait_group.read {pending};\n st.shared.b32 [%r1], 7;\n"
        assert kinds(text(store=store, wait=wait + DRAIN), seeds=8) == expected, pending


def multicast(mask: int, drain: bool = True) -> str:
    """Each of two CTAs brings half of the bytes for both."""
    load = f"""
 mov.u32 %r20, %cluster_ctarank;
 shl.b32 %r7, %r20, 9;
 cvt.u64.u32 %rd30, %r7;
 add.s64 %rd31, %rd0, %rd30;
 add.s32 %r7, %r7, %r1;
 mov.b16 %rs1, {mask};
 {G2S}.multicast::cluster [%r7], [%rd31], 512, [%r1+2048], %rs1;
"""
    begin = BEGIN.replace("bar.sync 0;", "barrier.cluster.arrive.relaxed;\n barrier.cluster.wait;")
    issue = ISSUE.format(load=load, expected=SIZE)
    if not drain:
        issue = issue[: issue.index("LOOP")]
    store = f"""
 mov.u32 %r20, %cluster_ctarank;
 mul.wide.u32 %rd32, %r20, {SIZE};
 add.s64 %rd1, %rd1, %rd32;
"""
    return begin + issue + (store + CHANGE + FENCE + STORE.format(store=f"{S2G} [%rd1], [%r1], {SIZE};", wait=DRAIN)
                            if drain else "")  # fmt: skip


def test_multicast() -> None:
    data = np.arange(SIZE // 4, dtype=np.uint32)
    for seed in range(3):
        out = np.zeros((2, SIZE // 4), np.uint32)
        outcome = launch(multicast(3), {"s": data, "o": out}, cluster=2, seed=seed, out=["o"])
        assert outcome.kinds == []
        np.testing.assert_array_equal(out, [data + 1, data + 1])
        loads = outcome.result.observations["bulk"]["load"]
        assert (loads["copies"], loads["bytes"], loads["multicast"]) == (2, SIZE, {2})


def test_multicast_mistakes() -> None:
    def found(body: str) -> set[str]:
        data, out = np.arange(SIZE // 4, dtype=np.uint32), np.zeros((2, SIZE // 4), np.uint32)
        return {k for s in range(3) for k in launch(body, {"s": data, "o": out}, cluster=2, seed=s).kinds}

    assert found(multicast(1)) == {"deadlock"}
    assert found(multicast(4)) == {"tma"}
    assert found(multicast(3, drain=False)) == {"exit"}


def test_the_barrier_of_another_cta() -> None:
    load = f"mapa.shared::cluster.u32 %r7, %r1, 1;\n {G2S} [%r1], [%rd0], {SIZE}, [%r7+2048];"
    assert "tma" in run(text(load), cluster=2)[0].kinds


def test_the_timeline() -> None:
    outcome, _ = run(text(), trace=True)
    copies = [e for e in outcome.result.timeline if e["kind"] in ("load", "store")]
    assert [(e["kind"], e["bytes"]) for e in copies] == [("load", SIZE), ("store", SIZE)]
    assert all(e["end"] - e["start"] > 700 for e in copies)  # the latency of a copy, and its bytes
    (wait,) = [e for e in outcome.result.timeline if e["kind"] == "wait"]
    assert wait["end"] == copies[0]["end"]


def test_other_forms_are_refused() -> None:
    for opcode in (f"{S2G}.cp_mask", f"{G2S}.ignore_oob", "cp.reduce.async.bulk.global.shared::cta"):
        with pytest.raises(UnsupportedInstruction, match=opcode.split(".cp_mask")[0].split(".ignore")[0]):
            run(text(store=f"{opcode} [%rd1], [%r1], {SIZE};"))


def test_each_deleted_wait_is_noticed() -> None:
    """The mutants of the kernel above, each with a verdict but those that one warp alone does not need."""
    body = text()
    source = HEADER.format(params="", threads=32, loads="", body=body)
    shift = source.split("\n").index(body.split("\n")[1])
    survivors = set()
    for mutant in mutants(source, ()):
        lines = body.split("\n")
        for line, changed in mutant.edits:
            lines[line - shift] = changed
        if not kinds("\n".join(lines), budget=20000):
            survivors.add(mutant.name)
    # Without the guard every lane stores the same bytes to the same place.
    assert survivors == {"delete bar.sync #1", "no guard of cp.async.bulk.global.shared::cta.bulk_group #1"}


@pytest.mark.parametrize("store", ["", f"@%p2 {S2G} [%rd1], [%r1], 16;\n cp.async.bulk.commit_group;\n {DRAIN}"])
@pytest.mark.parametrize(("fence", "found"), [(FENCE, set()), ("", {"race"})])
def test_a_load_over_what_threads_have_read_needs_a_fence(store: str, fence: str, found: set[str]) -> None:
    """That a store has read the same bytes since, which needs none, and was waited for, says nothing of the threads."""
    body = BEGIN + " @%p1 st.shared.v4.b32 [%r1], {1, 2, 3, 4};\n" + FENCE + " bar.sync 0;\n"
    body += " ld.shared.b32 %r9, [%r1];\n bar.sync 0;\n" + store + fence
    body += ISSUE.format(load=f"{G2S} [%r1], [%rd0], 16, [%r1+2048];", expected=16)
    assert kinds(body) == found
