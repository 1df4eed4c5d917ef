"""Pieces of PTX that use tensor memory: 128 threads, 128 columns allocated by warp 0, an image in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ptx_kit import Outcome, launch

SLOT, BARRIER = 32768, 32776  # offsets in dynamic shared memory, behind the image of 32 KiB
COLUMNS = 128

ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1+{slot}], {columns};"
DEALLOC = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 {address}, {columns};"
BEFORE, AFTER = " tcgen05.fence::before_thread_sync;\n", " tcgen05.fence::after_thread_sync;\n"
WAIT_LD, WAIT_ST = " tcgen05.wait::ld.sync.aligned;\n", " tcgen05.wait::st.sync.aligned;\n"
SYNC = BEFORE + " bar.sync 0;\n" + AFTER
COMMIT = f" tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+{BARRIER}];\n"

#: %r2: the warp; %r3: the first column; %r4: the same with the warp's first lane.
BEGIN = f"""
 shr.u32 %r2, %r0, 5;
 setp.ne.u32 %p1, %r2, 0;
 @%p1 bra ALLOCATED;
 {ALLOC.format(slot=SLOT, columns=COLUMNS)}
 setp.eq.u32 %p2, %r0, 0;
 @%p2 mbarrier.init.shared::cta.b64 [%r1+{BARRIER}], 1;
 fence.mbarrier_init.release.cluster;
ALLOCATED:
 fence.proxy.async.shared::cta;
 bar.sync 0;
 ld.shared.b32 %r3, [%r1+{SLOT}];
 shl.b32 %r4, %r2, 21;
 add.s32 %r4, %r4, %r3;
"""
END = f"""
{BEFORE} bar.sync 0;
 @%p1 bra FREED;
 {DEALLOC.format(address="%r3", columns=COLUMNS)}
FREED:
"""
FILL = """
 mul.wide.u32 %rd20, %r0, 16;
 add.s64 %rd21, %rd0, %rd20;
 shl.b32 %r5, %r0, 4;
 add.s32 %r5, %r5, %r1;
 mov.b32 %r6, 0;
FILL:
 ld.global.v4.b32 {%r7, %r8, %r9, %r10}, [%rd21];
 st.shared.v4.b32 [%r5], {%r7, %r8, %r9, %r10};
 add.s64 %rd21, %rd21, 2048;
 add.s32 %r5, %r5, 2048;
 add.s32 %r6, %r6, 1;
 setp.lt.u32 %p2, %r6, 16;
 @%p2 bra FILL;
"""
#: Wait for the commit of phase 0.
WAIT = f"""
WAITING: mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r1+{BARRIER}], 0;
 @!%p9 bra WAITING;
"""


def registers(count: int, first: int = 100) -> str:
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def move(verb: str, shape: str, repeat: int, count: int, address: str = "%r4", first: int = 100, mode: str = "") -> str:
    """A tcgen05.ld or .st of `count` registers."""
    opcode = f"tcgen05.{verb}.sync.aligned.{shape}.x{repeat}{mode}.b32"
    values = registers(count, first)
    return f" {opcode} {values}, [{address}];\n" if verb == "ld" else f" {opcode} [{address}], {values};\n"


def from_global(count: int, buffer: str, first: int = 100) -> str:
    """A row of `count` words per thread."""
    return _rows("ld", count, buffer, first)


def to_global(count: int, buffer: str, first: int = 100) -> str:
    return _rows("st", count, buffer, first)


def _rows(verb: str, count: int, buffer: str, first: int) -> str:
    text = f" mul.wide.u32 %rd20, %r0, {4 * count};\n add.s64 %rd21, {buffer}, %rd20;\n"
    for i in range(count):
        register, place = f"%r{first + i}", f"[%rd21+{4 * i}]"
        text += f" {verb}.global.b32 {f'{register}, {place}' if verb == 'ld' else f'{place}, {register}'};\n"
    return text


def single(warp: int, body: str, label: str) -> str:
    """`body` by one lane of `warp`."""
    return (
        f" setp.ne.u32 %p3, %r2, {warp};\n @%p3 bra {label};\n elect.sync %r90|%p4, -1;\n @!%p4 bra {label};\n"
        f"{body}{label}:\n"
    )


def run(body: str, buffers: dict[str, Any], **options: Any) -> Outcome:
    return launch(BEGIN + body + END, buffers, threads=128, shared=32768 + 64, **options)


def mma(d: str = "%r3", a: str = "%rd30", b: str = "%rd31", kind: str = "f16", keep: str = "%p9") -> str:
    return f" tcgen05.mma.cta_group::1.kind::{kind} [{d}], {a}, {b}, %r91, {keep};\n"


def descriptor(at: int, lbo: int, sbo: int, mode: int) -> int:
    """PTX ISA, "Shared memory descriptor" of tcgen05, for an operand at dynamic offset `at` (base 1024)."""
    return (at + 1024) >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | 1 << 46 | mode << 61


def instruction(m: int, n: int, d: int = 1, a: int = 0, b: int = 0, mn: int = 0, negate: int = 0) -> int:
    """PTX ISA, "Instruction descriptor" of tcgen05; the same major for A and B; `negate`: A."""
    return d << 4 | a << 7 | b << 10 | negate << 13 | mn << 15 | mn << 16 | n >> 3 << 17 | m >> 4 << 24


def setup(a: int, b: int, idesc: int) -> str:
    return FILL + (
        f" fence.proxy.async.shared::cta;\n bar.sync 0;\n mov.b64 %rd30, {a};\n mov.b64 %rd31, {b};\n"
        f" mov.b32 %r91, {idesc};\n"
    )


def product(image: Any, a: int, b: int, idesc: int, n: int, issue: str, **options: Any) -> tuple[Outcome, Any]:
    """Fill shared memory, let one thread run `issue`, and return what the first `n` columns of all lanes hold."""
    out = np.zeros((128, n), np.uint32)
    body = setup(a, b, idesc) + single(1, issue + COMMIT, "ISSUED") + WAIT + AFTER
    body += move("ld", "32x32b", n, n) + WAIT_LD + to_global(n, "%rd1")
    outcome = run(body, {"i": image, "o": out}, **options)
    return outcome, out
