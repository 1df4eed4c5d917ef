"""Registers that nothing has written: what they hold, so that a start value left out shows; and sums that begin so."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from .ptx_kit import lanes, launch
from .test_wgmma import run_mma


def test_they_are_nan_in_every_format_of_16_bits_and_more() -> None:
    for uniform in (True, False):  # a register of the warp, and one of each lane
        code = (
            "mov.b32 %r9, %r300;"
            if uniform
            else "setp.eq.u32 %p1, %r0, 99;\n@%p1 mov.b32 %r300, %r0;\nmov.b32 %r9, %r300;"
        )
        bits = lanes(code)
        assert np.isnan(bits.view(np.float32)).all()
        assert np.isnan(bits.view(np.float16)).all()
        assert np.isnan(bits.view(ml_dtypes.bfloat16).astype(np.float32)).all()
        assert (bits & 1 == 1).all()
        assert (bits.view(np.int32) > 1 << 30).all()
    wide = lanes("mov.b64 {%r8, %r9}, %rd45;")
    assert (lanes("mov.b64 {%r8, %r9}, %rd45;", result="%r8") == wide).all()
    assert np.isnan(lanes("cvt.f32.f16 %r9, %rs30;").view(np.float32)).all()


def test_predicates_are_the_same_nowhere() -> None:
    """Of one register in two runs, of neighbouring lanes: an answer that holds for one value shows with the other."""
    out = np.zeros(2, np.uint32)
    found = set()
    for seed in range(2):
        body = " selp.b32 %r5, 1, 0, %p11;\n selp.b32 %r6, 1, 0, %p12;\n st.global.v2.b32 [%rd0], {%r5, %r6};\n"
        assert launch(body, {"o": out}, seed=seed).kinds == []
        found.add(tuple(out.tolist()))
    assert {a for a, _ in found} == {0, 1} == {b for _, b in found}
    varying = "setp.eq.u32 %p1, %r0, 99;\n@%p1 setp.eq.u32 %p11, %r0, 3;\nselp.b32 %r9, 1, 0, %p11;"
    assert set(lanes(varying).tolist()) == {0, 1}


def test_a_loop_without_its_first_value_does_not_run_as_if_from_zero() -> None:
    body = """
 {start}
LOOP:
 mul.wide.u32 %rd20, %r5, 4;
 add.s64 %rd21, %rd0, %rd20;
 st.global.b32 [%rd21], %r5;
 add.s32 %r5, %r5, 1;
 setp.lt.s32 %p1, %r5, 4;
 @%p1 bra LOOP;
"""
    out = np.zeros(4, np.uint32)
    assert launch(body.format(start="mov.b32 %r5, 0;"), {"o": out}).kinds == []
    assert launch(body.format(start=""), {"o": out}).kinds == ["global-bounds"]


def products(first: str, fill: str = "", n: int = 64, registers: int = 200) -> str:
    """One wgmma into registers from `registers` on; `first`: what sets its scale-d, %p9."""
    d = "{" + ", ".join(f"%r{registers + i}" for i in range(n // 2)) + "}"
    mma = f" wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {d}, %rd30, %rd31, %p9, 1, 1;\n"
    wait = " wgmma.commit_group.sync.aligned;\n wgmma.wait_group.sync.aligned 0;\n"
    return f"{fill} setp.{first}.b32 %p9, 0, 0;\n wgmma.fence.sync.aligned;\n{mma}{wait}"


@pytest.mark.parametrize(
    ("first", "fill", "found"),
    [("ne", "", []), ("eq", "", ["wgmma-registers"]),
     ("eq", "".join(f" mov.b32 %r{200 + i}, 0;\n" for i in range(32)), [])],
)  # fmt: skip
def test_sums_begin_with_something(first: str, fill: str, found: list[str]) -> None:
    """wgmma with scale-d adds to D: a kernel that leaves out the fill, or the first scale-d of 0, is wrong."""
    outcome, _ = run_mma(
        np.zeros(16384, np.float16), 0x4000004000010040, 0x4000004000010440, 64, issue=products(first, fill)
    )
    assert outcome.kinds == found
    if found:
        assert "adds to accumulator registers that nothing has written" in outcome.message("wgmma-registers")


def test_a_sum_may_begin_with_a_product_in_flight() -> None:
    """Registers copied from ones that nobody wrote; the first product has scale-d 0, the second adds to it."""
    copies = "".join(f" mov.b32 %r{200 + i}, %r{300 + i};\n" for i in range(32))
    one, two = products("ne", copies), products("eq")
    both = one.split(" wgmma.commit")[0] + two.split(" wgmma.fence")[0] + two.split("aligned;\n", 1)[1]
    shared = np.zeros(16384, np.float16)
    outcome, _ = run_mma(shared, 0x4000004000010040, 0x4000004000010440, 64, issue=both)
    assert outcome.kinds == []
    outcome, _ = run_mma(shared, 0x4000004000010040, 0x4000004000010440, 64, issue=products("eq", copies))
    assert outcome.kinds == ["wgmma-registers"]


@pytest.mark.parametrize(("given", "found"), [(24, ["setmaxnreg"]), (40, [])])
def test_sums_need_registers_that_the_warp_holds(given: int, found: list[str]) -> None:
    """32 registers of a thread for 64 columns, and a warp that has given up all but 24."""
    issue = f" setmaxnreg.dec.sync.aligned.u32 {given};\n" + products("ne")
    outcome, _ = run_mma(np.zeros(16384, np.float16), 0x4000004000010040, 0x4000004000010440, 64, issue=issue)
    assert outcome.kinds == found
