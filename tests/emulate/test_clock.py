"""%clock64: an instruction of a warp takes one, within a time slice too, and nobody is told before it was said."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulate.ptx_kit import launch

STRAIGHT = """
 mov.u64 %rd10, %clock64;
 add.s32 %r2, %r0, 1;
 add.s32 %r3, %r2, 1;
 mul.lo.s32 %r4, %r3, %r2;
 mov.u64 %rd11, %clock64;
 st.shared.b32 [%r1], %r4;
 mov.u32 %r5, %clock;
 st.global.b64 [%rd0], %rd10;
 st.global.b64 [%rd0+8], %rd11;
 cvt.u64.u32 %rd12, %r5;
 st.global.b64 [%rd0+16], %rd12;
"""
#: Rounds of a loop in which lanes part and meet; each notes its stamps, two a round.
LOOP = """
 mov.b32 %r2, 0;
 mul.wide.u32 %rd2, %r0, 128;
 add.s64 %rd2, %rd2, %rd0;
LOOP:
 mov.u64 %rd10, %clock64;
 st.global.b64 [%rd2], %rd10;
 and.b32 %r3, %r0, 1;
 setp.eq.s32 %p1, %r3, 0;
 @%p1 bra EVEN;
 add.s32 %r4, %r3, 1;
 mul.lo.s32 %r5, %r4, %r4;
EVEN:
 @%p1 mov.u64 %rd11, %clock64;
 @!%p1 mov.u64 %rd11, %clock64;
 st.global.b64 [%rd2+8], %rd11;
 bar.sync 0;
 add.s64 %rd2, %rd2, 16;
 add.s32 %r2, %r2, 1;
 setp.lt.s32 %p2, %r2, 8;
 @%p2 bra LOOP;
"""
#: Warp 0 says when it arrives, and warp 1 when it has waited for that; then the other way round, by a barrier.
HANDED_ON = """
 setp.lt.s32 %p1, %r0, 32;
 setp.eq.s32 %p2, %r0, 0;
 @%p2 mbarrier.init.shared.b64 [%r1], 32;
 bar.sync 0;
 @!%p1 bra WAITS;
WORK mov.u64 %rd10, %clock64;
 mbarrier.arrive.shared.b64 _, [%r1];
 bar.sync 1, 64;
 mov.u64 %rd11, %clock64;
 @%p2 st.global.b64 [%rd0], %rd10;
 @%p2 st.global.b64 [%rd0+24], %rd11;
 bra DONE;
WAITS:
 mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0;
 @!%p3 bra WAITS;
 mov.u64 %rd10, %clock64;
 add.s32 %r2, %r0, 1;
 add.s32 %r3, %r2, 1;
 mov.u64 %rd11, %clock64;
 bar.sync 1, 64;
 setp.eq.s32 %p4, %r0, 32;
 @%p4 st.global.b64 [%rd0+8], %rd10;
 @%p4 st.global.b64 [%rd0+16], %rd11;
DONE:
""".replace("WORK", " add.s32 %r2, %r0, 1;\n" * 20)


def test_stamps_of_one_slice_are_as_far_apart_as_the_instructions_between_them() -> None:
    for seed in range(5):
        stamps = launch(STRAIGHT, {"t": np.zeros(3, np.int64)}, seed=seed).arrays["t"]
        first, second, third = stamps.view(np.int64).tolist()
        assert first > 0
        assert (second - first, third - first) == (4, 6)


@pytest.mark.parametrize("seed", range(6))
def test_no_thread_sees_the_clock_go_back(seed: int) -> None:
    outcome = launch(LOOP, {"t": np.zeros((64, 16), np.int64)}, threads=64, seed=seed)
    stamps = outcome.arrays["t"].view(np.int64).reshape(64, 16)
    assert outcome.kinds == []
    assert (np.diff(stamps, axis=1) > 0).all()
    again = launch(LOOP, {"t": np.zeros((64, 16), np.int64)}, threads=64, seed=seed)
    assert np.array_equal(outcome.arrays["t"], again.arrays["t"])


@pytest.mark.parametrize("seed", range(6))
def test_what_waits_is_not_earlier_than_what_it_waits_for(seed: int) -> None:
    outcome = launch(HANDED_ON, {"t": np.zeros(4, np.int64)}, threads=64, seed=seed)
    arrives, waited, arrived, passed = outcome.arrays["t"].view(np.int64).tolist()
    assert outcome.kinds == []
    assert arrives <= waited < arrived <= passed
