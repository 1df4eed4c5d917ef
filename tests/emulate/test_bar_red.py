"""bar.red: what all threads of a barrier learn of a predicate, and that it orders like any barrier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .ptx_kit import Outcome, launch

BODY = """
 mul.wide.u32 %rd20, %r0, 4;
 add.s64 %rd21, %rd0, %rd20;
 ld.global.b32 %r2, [%rd21];
 setp.ne.u32 %p1, %r2, 0;
 {red}
 add.s64 %rd22, %rd1, %rd20;
 st.global.b32 [%rd22], %r9;
"""
POPC = "bar.red.popc.u32 %r9, 0, %p1;"
AND = "barrier.cta.red.and.aligned.pred %p2, 1, 96, %p1;\n selp.b32 %r9, 1, 0, %p2;"
OR = "barrier.red.or.pred %p2, 0, %p1;\n selp.b32 %r9, 1, 0, %p2;"


def run(red: str, holds: Any, seed: int = 0) -> tuple[Outcome, Any]:
    out = np.zeros(96, np.uint32)
    data = np.broadcast_to(np.asarray(holds, np.uint32), 96).copy()
    return launch(BODY.format(red=red), {"i": data, "o": out}, threads=96, out=["o"], seed=seed), out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("holds", [0, 1, np.arange(96) % 3 == 0, np.arange(96) == 95, np.arange(96) != 40])
def test_what_the_threads_learn(holds: Any, seed: int) -> None:
    every = np.broadcast_to(np.asarray(holds, bool), 96)
    for red, expected in ((POPC, every.sum()), (AND, every.all()), (OR, every.any())):
        outcome, out = run(red, holds, seed)
        assert outcome.kinds == []
        assert out.tolist() == [expected] * 96


def test_phases_are_counted_apart() -> None:
    body = (
        POPC
        + "\n setp.eq.u32 %p3, %r0, 5;\n bar.red.popc.u32 %r8, 0, %p3;\n shl.b32 %r8, %r8, 16;\n or.b32 %r9, %r9, %r8;"
    )
    for seed in range(4):
        outcome, out = run(body, np.arange(96) < 70, seed)
        assert outcome.kinds == []
        assert out.tolist() == [1 << 16 | 70] * 96


def test_it_orders_what_comes_before() -> None:
    body = (
        " shl.b32 %r5, %r0, 4;\n add.s32 %r6, %r5, %r1;\n st.shared.b32 [%r6], %r0;\n {red}\n xor.b32 %r7, %r5, 512;\n"
    )
    body += " add.s32 %r7, %r7, %r1;\n ld.shared.b32 %r9, [%r7];"
    for red, expected in ((POPC, set()), ("", {"race", "uninitialised-read"})):
        found = {k for seed in range(4) for k in launch(
            " setp.ne.u32 %p1, %r0, 0;\n" + body.format(red=red), threads=64, seed=seed).kinds}  # fmt: skip
        assert found <= expected
        assert bool(found) == bool(expected)


def test_a_thread_count_that_is_wrong() -> None:
    assert run(AND.replace("96", "128"), 1)[0].kinds == ["deadlock"]
    assert "named-barrier" in run(AND.replace("96", "90"), 1)[0].kinds
