"""Garbled PTX: what is made of it must be words about the text, or findings, and never an error of our own.

    python -m tests.emulate.garble [SECONDS] [SEED]      # as long as you like; ends with 1 where something came out

Texts are small kernels of every part of the language that the emulator knows, and built variants where there are any.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tests.emulate.ptx_kit import HEADER
from warpwright.emulate import EmulatorError, GlobalMemory, Launch, Options, PtxError, parse, run

#: What may come out of a text; UnsupportedInstruction is an EmulatorError.
ALLOWED = (PtxError, EmulatorError)

BODIES = {
    "flow": """
 setp.lt.u32 %p1, %r0, 9;
 @!%p1 bra $L_1;
 { .reg .b32 t<3>; .reg .pred p;
 add.s32 t1, %r0, 7; mov.b32 %r9, t1;
 IN: setp.gt.u32 p, t1, 3;
 @p bra OUT;
 OUT: }
$L_1:
 add.s32 %r2, %r2, 1;
 setp.lt.s32 %p2, %r2, 5;
 @%p2 bra $L_1;
 selp.b32 %r3, 1, 0, %p1;
 shfl.sync.bfly.b32 %r4|%p3, %r3, 1, 31, -1;
 vote.sync.ballot.b32 %r5, %p1, 0xffffffff;
 elect.sync %r6|%p4, -1;
 bar.warp.sync -1;
 redux.sync.add.s32 %r7, %r3, 0xffffffff;
 activemask.b32 %r8;
""",
    "numbers": """
 mov.b32 %r2, 0f3F800000;
 fma.rn.f32 %r3, %r2, 0f40000000, %r2;
 ex2.approx.ftz.f32 %r4, %r3;
 cvt.rn.f16x2.f32 %r5, %r3, %r4;
 mov.b32 {%rs1, %rs2}, %r5;
 mov.b64 %rd5, {%r2, %r3};
 mul.wide.u32 %rd6, %r0, 4;
 mad.lo.s32 %r6, %r0, 3, 4;
 prmt.b32 %r7, %r2, %r3, 0x5410;
 lop3.b32 %r8, %r2, %r3, %r4, 0xca;
 shl.b64 %rd7, %rd6, 3;
 bfe.u32 %r9, %r2, 3, 5;
 min.s32 %r10, %r2, -5;
 setp.ge.f32 %p1, %r2, %r3;
 and.pred %p2, %p1, %p3;
""",
    "memory": """
 cvta.to.global.u64 %rd2, %rd0;
 mul.wide.u32 %rd3, %r0, 4;
 add.s64 %rd4, %rd2, %rd3;
 ld.global.b32 %r2, [%rd4];
 ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd2+16];
 shl.b32 %r7, %r0, 2;
 add.s32 %r7, %r7, %r1;
 st.shared.b32 [%r7], %r2;
 st.shared.v2.b32 [%r7+1024], {%r2, %r3};
 bar.sync 0;
 ld.shared.b32 %r8, [%r7];
 stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%r2, %r3, %r4, %r5};
 atom.shared.add.u32 %r9, [%r1], 1;
 st.global.b32 [%rd4], %r8;
""",
    "barriers": """
 setp.ne.s32 %p1, %r0, 0;
 @%p1 bra WAIT;
 mbarrier.init.shared.b64 [%r1], 1;
 fence.mbarrier_init.release.cluster;
 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 64;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1+1024], [%rd0], 64, [%r1];
WAIT:
 bar.warp.sync -1;
AGAIN:
 mbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0, 1000;
 @!%p2 bra AGAIN;
 fence.proxy.async;
 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1+1024], 64;
 cp.async.bulk.commit_group;
 cp.async.bulk.wait_group.read 0;
 barrier.cluster.arrive.aligned;
 barrier.cluster.wait.aligned;
 mapa.shared::cluster.u32 %r3, %r1, 0;
 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
 setmaxnreg.dec.sync.aligned.u32 24;
 wgmma.fence.sync.aligned;
 wgmma.commit_group.sync.aligned;
 wgmma.wait_group.sync.aligned 0;
""",
    "tensor maps": """
 st.shared.b64 [%r1+64], 0;
 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1+64], %rd0;
 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1+64], 1, %r0;
 tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1+64], 0, 64;
 tensormap.replace.tile.swizzle_mode.b1024.b32 [%rd0], 3;
 add.s32 %r2, %r1, 64;
 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0], [%r2], 128;
 fence.proxy.tensormap::generic.release.gpu;
 fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;
 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2+16];
""",
    "tensor memory": """
 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1+32], 64;
 ld.shared.b32 %r2, [%r1+32];
 setp.ne.s32 %p1, %r0, 0;
 @%p1 bra ISSUED;
 mbarrier.init.shared.b64 [%r1+40], 1;
 mov.b64 %rd2, 70368744177728;
 add.s64 %rd3, %rd2, 66;
 mov.b32 %r3, 142737408;
 mov.b32 %r4, 134348816;
 setp.eq.b32 %p2, %r0, %r1;
 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r2+32], %rd3;
 tcgen05.cp.cta_group::1.128x256b.b8x16.b4x16_p64 [%r2], %rd3;
 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%r2], %rd3, %rd3, %r3, [%r2+32], [%r2+32], %p2;
 tcgen05.mma.cta_group::1.kind::f16.collector::a::discard [%r2], %rd3, %rd3, %r4, {%r0, %r0, %r0, %r0}, %p2, 3;
 tcgen05.shift.cta_group::1.down [%r2];
 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+40];
ISSUED:
 bar.warp.sync -1;
 tcgen05.fence::after_thread_sync;
 tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%r2], 8, {%r3, %r4};
 tcgen05.wait::st.sync.aligned;
 tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r5, %r6}, [%r2];
 tcgen05.wait::ld.sync.aligned;
 tcgen05.fence::before_thread_sync;
 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64;
""",
}
#: What takes the place of an operand, or of a number.
WRONG = (
    "%r3", "%rd3", "%p1", "%rs1", "%f9", "%tid.x", "%tid.w", "%nosuch", "%laneid", "_", "0", "-1",
    "99999999999999999999", "0x", "0xffffffffffffffffff", "1.5", "1e999", "0f3F80", "[%r1]", "[%rd0+", "[]",
    "{%r1, %r2}", "{}", "%r1|%p1", "|", "a|b|c", "smem", "p0", "nosuch", "[p0+3]", "[smem]", "[nosuch]",
    "[%r1+99999999999]", "()", "", "\u00e9", "\u0660",
)  # fmt: skip
LINES = (
    ".reg .b32 %big<1000000000>;", ".reg .b32 %r<99999999999999999999>;", ".reg .b99 %q;", ".reg", ".reg .b32;",
    ".shared .align 16 .b8 huge[1099511627776];", ".shared .align 0 .b8 z[4];", ".shared .b8 smem2[];", ".shared;",
    ".shared .align 3 .pred q[9];", ".local .b8 l[4];", ".nosuch 1, 2;", ".version 8.8", ".target", "{", "}", "}}}",
    "{{{{", ".entry again() {", ".visible .entry kernel() {}", ".loc 1 2",
    ".loc 9 9 9, function_name $x, inlined_at 1 2 3", '.file 1 "x', "/*", "*/", "//", ";", ";;;", "L:", "WAIT:",
    "bra L;", "bra;", "@ bra L;", "@%p1 ret;", "ret;", "exit;", "trap;", "call f;", "brx.idx %r1, t;", "mov.b32;",
    "mov %r1, %r2;", "mov.b32 %r1;", "mov.bX %r1, %r2;", "add.s32 %r1;", "ld.param.b64 %rd1, [nosuch];",
    "ld.param.v2.b32 {%r1, %r2}, [p0];", "ld.param %rd1;", "bar.sync 16;", "bar.sync 99, 5;",
    "mov.b32 {%r1, %r2, %r3}, %r4;", "shr.u32 %r1, %r0, 99;", "div.u32 %r1, %r0, 0;", "ret.uni;", ".pragma \"x\";",
)  # fmt: skip

SIGNS = '\0\t\n"#%(),.:;[]{}\u00e9\u270f'
PARTS = ("b8", "pred", "f64", "u128", "", "x", "v4", "shared", "s32 ")


def texts() -> dict[str, str]:
    """The texts that are garbled."""
    found = {
        name: HEADER.format(params=".param .u64 p0", threads=32, loads=" ld.param.b64 %rd0, [p0];", body=body)
        for name, body in BODIES.items()
    }
    built = sorted(Path(__file__).parents[2].glob("out/*/*/kernel.ptx"), key=lambda path: path.stat().st_size)
    for at in (0, len(built) // 3, 2 * len(built) // 3):
        if built:
            found[f"{built[at].parent.parent.name}/{built[at].parent.name}"] = built[at].read_text(encoding="utf-8")
    return found


def garbled(text: str, dice: random.Random) -> str:
    """`text` with one to three faults."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        lines = text.split("\n")
        at = dice.randrange(len(lines))
        where = dice.randrange(len(text) + 1)
        kind = dice.randrange(14)
        if kind == 0:
            text = text[:where] + text[where + dice.choice((1, 1, 2, 9)) :]
        elif kind == 1:
            text = text[:where] + dice.choice(SIGNS) + text[where + 1 :]
        elif kind == 2:
            text = text[:where] + text[max(0, where - dice.choice((1, 5, 50))) :]
        elif kind == 3:
            other = dice.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
            text = "\n".join(lines)
        elif kind == 4:
            text = "\n".join(lines[:at] + lines[at + 1 :])
        elif kind == 5:
            text = "\n".join(lines[: at + 1] + lines[at:])
        elif kind == 6:
            text = text[:where]
        elif kind in (7, 8):
            text = "\n".join([*lines[:at], dice.choice(LINES), *lines[at:]])
        elif kind in (9, 10, 11):
            head, space, tail = lines[at].strip().rstrip(";").partition(" ")
            operands = tail.split(",")
            which = dice.randrange(len(operands))
            old = operands[which : which + 1]
            operands[which : which + 1] = dice.choice(([], [dice.choice(WRONG)], [dice.choice(WRONG)], old * 2))
            lines[at] = f"{head}{space}{','.join(operands)};"
            text = "\n".join(lines)
        elif kind == 12:
            parts = lines[at].split(".")
            which = dice.randrange(len(parts))
            parts[which : which + 1] = dice.choice(([], [dice.choice(PARTS)], parts[which : which + 1] * 2))
            lines[at] = ".".join(parts)
            text = "\n".join(lines)
        else:
            digits = [i for i, c in enumerate(text) if c.isdigit()]
            if digits:
                n = dice.choice(digits)
                text = text[:n] + dice.choice(("0", "7", "99999999999", "-1", "4294967296")) + text[n + 1 :]
    return text


def attempt(text: str, seed: int) -> None:
    """Parse, translate and run. Raises what comes out."""
    module = parse(text)
    for name, kernel in module.kernels.items():
        memory = GlobalMemory()
        address = memory.add("o", np.zeros(4096, np.uint8), "inout")
        params = tuple(address.to_bytes(8, "little") if p.bytes == 8 else bytes(p.bytes) for p in kernel.params)
        launch = Launch((1, 1, 1), kernel.reqntid or (32, 1, 1), (1, 1, 1), 8192, params)
        result = run(module, launch, {}, memory, seed, Options(budget=3000), name)
        assert all(str(finding) for finding in result.findings)


def faults(seeds: Iterator[int], names: list[str] | None = None) -> Iterator[tuple[int, str, str, str]]:
    """(seed, name, the text, the traceback) of each text that something else came out of."""
    sources = texts()
    chosen = names or list(sources)
    for seed in seeds:
        dice = random.Random(seed)
        name = dice.choice(chosen)
        text = garbled(sources[name], dice)
        try:
            attempt(text, seed)
        except ALLOWED:
            pass
        except Exception:
            yield seed, name, text, traceback.format_exc()


def main(seconds: float, first: int) -> int:
    """Try for a while, and tell each place that an error came from once."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # what asks for more is a fault as well
    until, tried, places = time.monotonic() + seconds, 0, dict[str, int]()

    def seeds() -> Iterator[int]:
        nonlocal tried
        while time.monotonic() < until:
            yield first + tried
            tried += 1

    for seed, name, _, trace in faults(seeds()):
        *_, place, _, words = ["", "", *trace.strip().split("\n")[-4:]][-4:] if "\n" in trace else ["", "", "", trace]
        frames = [line.strip() for line in trace.split("\n") if line.strip().startswith("File ")]
        place = f"{frames[-1] if frames else place}: {words[:150]}"
        if places.setdefault(place, seed) == seed:
            print(f"seed {seed} ({name}): {place}")
    print(f"{tried} texts, {len(places)} faults")
    return 1 if places else 0


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(float((sys.argv[1:] or ["60"])[0]), int((sys.argv[2:] or ["0"])[0])))
