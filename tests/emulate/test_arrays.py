"""Local, constant and global arrays of a module, and calls of what the runtime brings."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from warpwright.emulate import GlobalMemory, Launch, PtxError, UnsupportedInstruction, parse, run

from .ptx_kit import HEADER, Outcome

TOP = """
.const .align 4 .b32 squares[4] = {0, 1, 4, 0x9};
.const .f32 half = 0f3F000000;
.visible .global .align 1 .b8 text[5] = {104, 105, 0};
.global .align 4 .u32 counter;
.extern .func (.param .b32 func_retval0) vprintf
(
 .param .b64 vprintf_param_0,
 .param .b64 vprintf_param_1
)
;
.extern .func __assertfail
(
 .param .b64 __assertfail_param_0
)
.noreturn;
"""


def execute(body: str, top: str = TOP, count: int = 32, memory: GlobalMemory | None = None) -> Outcome:
    text = HEADER.format(params=".param .u64 p0", threads=32, loads=" ld.param.b64 %rd0, [p0];", body=body)
    text = text.replace(".extern .shared", top + "\n.extern .shared", 1)
    memory = memory or GlobalMemory()
    out = np.zeros(count, np.uint32)
    address = memory.add(f"o{len(memory.buffers)}", out, "inout")
    launch = Launch((1, 1, 1), (32, 1, 1), (1, 1, 1), 4096, (struct.pack("<Q", address),))
    return Outcome(run(parse(text), launch, {}, memory), {"o": out})


STORE = " mul.wide.u32 %rd20, %r0, 4;\n add.s64 %rd21, %rd0, %rd20;\n st.global.b32 [%rd21], %r9;\n"
LOCAL = """
 .local .align 16 .b8 __local_depot0[64];
 mov.b64 %rd10, __local_depot0;
 cvta.local.u64 %rd11, %rd10;
 mul.lo.s32 %r5, %r0, 3;
 st.local.v2.b32 [%rd10+8], {%r0, %r5};
 st.local.b16 [%rd10+32], %r0;
"""


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ("ld.local.b32 %r9, [%rd10+12];", 3 * np.arange(32)),
        ("ld.b32 %r9, [%rd11+12];", 3 * np.arange(32)),
        ("cvta.to.local.u64 %rd12, %rd11;\n ld.local.b32 %r9, [%rd12+8];", np.arange(32)),
        ("ld.local.u16 %r9, [%rd10+32];", np.arange(32)),
        ("ld.local.b32 %r9, [__local_depot0+12];", 3 * np.arange(32)),
        ("and.b32 %r6, %r0, 1;\n mul.wide.u32 %rd13, %r6, 4;\n add.s64 %rd14, %rd10, %rd13;\n"
         " ld.local.b32 %r9, [%rd14+8];", np.where(np.arange(32) % 2, 3 * np.arange(32), np.arange(32))),
        ("st.b32 [%rd11+4], %r5;\n ld.local.b32 %r9, [%rd10+4];", 3 * np.arange(32)),
        ("ld.local.b32 %r9, [%rd10+24];", np.full(32, 0xFFFFFFFF)),  # nothing wrote it
    ],
)  # fmt: skip
def test_local_memory_is_that_of_a_thread(load: str, expected: np.ndarray) -> None:
    if load.startswith("ld.b32"):
        load = "and.b32 %r6, %r0, 0;\n cvt.u64.u32 %rd15, %r6;\n add.s64 %rd11, %rd11, %rd15;\n" + load
    outcome = execute(f"{LOCAL} {load}\n{STORE}")
    assert outcome.kinds == []
    np.testing.assert_array_equal(outcome.arrays["o"], expected)


def test_the_bounds_of_local_memory() -> None:
    assert execute(LOCAL + " ld.local.b32 %r9, [%rd10+64];\n").kinds == ["local-bounds"]
    assert execute(LOCAL + " st.local.b32 [%rd10+-4], %r0;\n").kinds == ["local-bounds"]
    assert execute(LOCAL + " ld.local.v2.b32 {%r9, %r8}, [%rd10+4];\n").kinds == ["misaligned"]


def test_constants_and_global_arrays() -> None:
    body = (
        " and.b32 %r5, %r0, 3;\n mul.wide.u32 %rd10, %r5, 4;\n mov.b64 %rd11, squares;\n add.s64 %rd12, %rd11, %rd10;\n"
    )
    outcome = execute(body + " ld.const.b32 %r9, [%rd12];\n" + STORE)
    assert outcome.arrays["o"].tolist() == [0, 1, 4, 9] * 8
    outcome = execute(body + " cvta.const.u64 %rd12, %rd12;\n ld.b32 %r9, [%rd12];\n" + STORE)
    assert outcome.arrays["o"].tolist() == [0, 1, 4, 9] * 8
    assert execute(" ld.const.b32 %r9, [half];\n" + STORE).arrays["o"].tolist() == [0x3F000000] * 32
    assert execute(" ld.global.u8 %r9, [text+1];\n" + STORE).arrays["o"].tolist() == [105] * 32
    assert execute(" ld.const.b32 %r9, [squares+16];\n" + STORE).kinds == ["global-bounds"]
    assert execute(" st.global.b32 [squares], %r0;\n").kinds == ["global-bounds"]


def test_a_global_variable_lives_as_long_as_the_memory() -> None:
    memory = GlobalMemory()
    body = " red.global.add.u32 [counter], 1;\n bar.warp.sync -1;\n ld.volatile.global.b32 %r9, [counter];\n" + STORE
    assert execute(body, memory=memory).arrays["o"].tolist() == [32] * 32
    assert execute(body, memory=memory).arrays["o"].tolist() == [64] * 32


CALL = """
 { // callseq 0, 0
 .param .b64 param0;
 .param .b64 param1;
 .param .b32 retval0;
 mov.b64 %rd10, text;
 st.param.b64 [param0], %rd10;
 st.param.b64 [param1], 0;
 call.uni (retval0), vprintf, (param0, param1);
 ld.param.b32 %r9, [retval0];
 } // callseq 0
"""


def test_calls() -> None:
    assert execute(CALL + STORE).kinds == []
    failed = execute(" { .param .b64 param0;\n st.param.b64 [param0], 0;\n call.uni __assertfail, (param0);\n }\n")
    assert failed.kinds == ["trap"]
    assert "assertion" in failed.message("trap")
    with pytest.raises(UnsupportedInstruction, match="something"):
        execute(" call.uni something, (param0);\n")


@pytest.mark.parametrize(
    ("top", "message"),
    [
        (".func add(.param .b32 a)\n{\n ret;\n}\n", "functions of the device"),
        (".const .b64 table[1] = {counter};", "not a number"),
        (".extern .const .b32 table[4];", "another module"),
        (".const .b8 few[1] = {1, 2};", "has 1 bytes"),
    ],
)
def test_declarations_that_are_not_emulated(top: str, message: str) -> None:
    with pytest.raises(PtxError, match=message):
        execute("", top)
