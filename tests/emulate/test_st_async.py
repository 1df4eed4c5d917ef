"""st.async and red.async: words sent to peers, the bytes that they count there, and what orders them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwright.emulate import UnsupportedInstruction

from .ptx_kit import Outcome, launch

STORE = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r9], %r8, [%r10];"
ADD = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r9], %r8, [%r10];"
SYNC = " barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;\n"
WAIT = "LOOP: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r1+1024], 0;\n @!%p3 bra LOOP;\n"


def exchange(
    send: str = STORE, expected: int = 16, wait: str = WAIT, before: str = SYNC, target: str = "", last: str = SYNC
) -> str:
    """Lane r of each of four CTAs sends 100 * rank + r to slot `rank` (16 bytes) of CTA r; each stores its slots."""
    return f"""
 mov.u32 %r2, %cluster_ctarank;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 mbarrier.init.shared::cta.b64 [%r1+1024], 1;
 fence.mbarrier_init.release.cluster;
 shl.b32 %r5, %r0, 2;
 shl.b32 %r6, %r0, 4;
 add.s32 %r6, %r6, %r1;
 st.shared.v4.b32 [%r6], {{7, 7, 7, 7}};
{before}
 @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1+1024], {expected};
 setp.lt.u32 %p2, %r0, 4;
 shl.b32 %r7, %r2, 4;
 add.s32 %r7, %r7, %r1;
 mad.lo.s32 %r8, %r2, 100, %r0;
 mapa.shared::cluster.u32 %r9, %r7, %r0;
 add.s32 %r10, %r1, 1024;
 mapa.shared::cluster.u32 %r10, %r10, %r0;
{target}
 @%p2 {send}
{wait}
 mul.wide.u32 %rd20, %r2, 16;
 add.s64 %rd21, %rd0, %rd20;
 cvt.u64.u32 %rd22, %r5;
 add.s64 %rd21, %rd21, %rd22;
 @%p2 ld.shared.b32 %r11, [%r6];
 @%p2 st.global.b32 [%rd21], %r11;
{last}"""


def run(body: str, seed: int = 0) -> tuple[Outcome, Any]:
    out = np.zeros((4, 4), np.uint32)
    return launch(body, {"o": out}, out=["o"], cluster=4, seed=seed), out


def kinds(body: str) -> set[str]:
    return {kind for seed in range(3) for kind in run(body, seed)[0].kinds}


def test_words_arrive_at_every_peer() -> None:
    for seed in range(4):
        outcome, out = run(exchange(), seed)
        assert outcome.kinds == []
        np.testing.assert_array_equal(out, 100 * np.arange(4)[None, :] + np.arange(4)[:, None])


def test_reductions_add_to_what_is_there() -> None:
    outcome, out = run(exchange(ADD))
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, 7 + 100 * np.arange(4)[None, :] + np.arange(4)[:, None])
    together = exchange(ADD, target=" mapa.shared::cluster.u32 %r9, %r1, %r0;\n")  # all to slot 0 of each CTA
    outcome, out = run(together)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out[:, 0], 7 + 600 + 4 * np.arange(4))
    assert "race" in kinds(together.replace(ADD, STORE))


def test_vectors() -> None:
    send = STORE.replace("bytes.b32", "bytes.v2.b32").replace("%r8,", "{%r8, %r2},")
    body = exchange(send, 32).replace("@%p2 ld.shared.b32 %r11, [%r6];", "@%p2 ld.shared.v2.b32 {%r12, %r11}, [%r6];")
    outcome, out = run(body)
    assert outcome.kinds == []
    np.testing.assert_array_equal(out, [[0, 1, 2, 3]] * 4)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (exchange(expected=20), {"deadlock"}),
        (exchange(wait=""), {"race", "exit"}),
        (exchange(wait=WAIT + " @%p2 st.shared.b32 [%r6], 1;\n"), set()),
        (exchange(target=" add.s32 %r10, %r1, 1024;\n mapa.shared::cluster.u32 %r10, %r10, 0;\n"), {"mbarrier"}),
        (exchange(target=" add.s32 %r9, %r9, 2;\n"), {"misaligned"}),
        (exchange(target=" mov.b32 %r9, 0x4000000;\n"), {"shared-bounds"}),
    ],
)
def test_mistakes(body: str, expected: set[str]) -> None:
    assert kinds(body) == expected


def test_without_the_first_barrier_it_is_a_race() -> None:
    """A peer may not have initialised its barrier, or may write its slot afterwards."""
    assert kinds(exchange(before="")) & {"race", "mbarrier"}


def test_the_store_is_not_one_of_the_async_proxy() -> None:
    """A bulk copy out of the slots wants a proxy fence behind the wait."""
    copy = " @%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16;\n @%p1 cp.async.bulk.commit_group;\n"
    copy += " @%p1 cp.async.bulk.wait_group 0;\n"
    body = exchange().split(" mul.wide.u32 %rd20, %r2, 16;")[0] + "{fence} @%p1 mul.wide.u32 %rd20, %r2, 16;\n"
    body += " add.s64 %rd0, %rd0, %rd20;\n" + copy + SYNC
    assert kinds(body.replace("{fence}", " fence.proxy.async;\n")) == set()
    assert kinds(body.replace("{fence}", "")) == {"race"}


def test_forms_that_are_refused() -> None:
    for send in (STORE.replace("b32", "b16"), ADD.replace("add.u32", "add.f32"), STORE.replace(".weak", ".mmio")):
        with pytest.raises(UnsupportedInstruction, match=send.split()[0]):
            run(exchange(send))
