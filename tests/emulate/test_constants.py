"""Constants of a translation: however many there are, none has the name of something else."""

from __future__ import annotations

import numpy as np

from .ptx_kit import launch


def test_a_block_with_more_constants_than_any_view_has_bits() -> None:
    """Comparisons of uniform f32 are functions of their own; rows of signed integers are views called S16, S32, S64."""
    body = " ld.global.b32 %r2, [%rd0];\n mov.b32 %r3, 0;\n"
    for _ in range(70):
        body += " setp.eq.f32 %p1, %r2, 0f3f800000;\n selp.b32 %r4, 1, 0, %p1;\n add.s32 %r3, %r3, %r4;\n"
    body += " min.s32 %r6, %r0, %r3;\n"
    body += " shl.b32 %r7, %r0, 2;\n cvt.u64.u32 %rd3, %r7;\n add.s64 %rd4, %rd1, %rd3;\n st.global.b32 [%rd4], %r6;\n"
    body += " st.global.b32 [%rd2], %r3;\n"
    lanes, total = np.zeros(32, np.int32), np.zeros(1, np.int32)
    outcome = launch(body, {"i": np.ones(1, np.float32), "lanes": lanes, "total": total})
    assert outcome.kinds == []
    assert total.tolist() == [70]
    assert lanes.tolist() == list(range(32))
