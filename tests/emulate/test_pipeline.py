"""A small persistent GEMM in PTX: right on every schedule, and wrong, visibly, without any of its synchronisation."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from warpwright.emulate import TensorMap

from .ptx_kit import Outcome, launch

TILES, K_TILES, N = 3, 5, 16
A_STAGE, B_STAGE, STAGES = 64 * 64 * 2, N * 64 * 2, 2
B_AT, D_AT, FULL, EMPTY = 16384, 20480, 24576, 24592  # offsets in dynamic shared memory
ACC = ", ".join(f"%r{100 + i}" for i in range(N // 2))


def wait(where: str, parity: str, label: str) -> str:
    return f"{label}: mbarrier.try_wait.parity.shared::cta.b64 %p9, [{where}], {parity};\n @!%p9 bra {label};"


def mmas() -> str:
    lines = []
    for block in range(4):
        accumulate = "setp.ne.u32 %p8, %r13, 0;" if block == 0 else "setp.eq.u32 %p8, 0, 0;"
        lines.append(f" {accumulate}\n add.s64 %rd30, %rd10, {2 * block};\n add.s64 %rd31, %rd11, {2 * block};")
        lines.append(f" wgmma.mma_async.sync.aligned.m64n{N}k16.f32.f16.f16 {{{ACC}}}, %rd30, %rd31, %p8, 1, 1, 0, 0;")
    return "\n".join(lines)


def descriptor(at: int) -> int:
    return (at + 1024) >> 4 | 1 << 16 | 1024 >> 4 << 32 | 1 << 62


def store_d() -> str:
    """Row 16 w + l / 4 (+ 8), columns 2 (l % 4) and on, of D as 64 rows of N floats."""
    pairs = [f" st.shared.v2.b32 [%r21+{512 * (i % 2) + 32 * (i // 2)}], {{%r{100 + 2 * i}, %r{101 + 2 * i}}};"
             for i in range(N // 4)]  # fmt: skip
    return "\n".join(pairs)


KERNEL = f"""
 setp.ne.u32 %p1, %r0, 0;
 @%p1 bra READY;
 mbarrier.init.shared::cta.b64 [%r1+{FULL}], 1;
 mbarrier.init.shared::cta.b64 [%r1+{FULL + 8}], 1;
 mbarrier.init.shared::cta.b64 [%r1+{EMPTY}], 1;
 mbarrier.init.shared::cta.b64 [%r1+{EMPTY + 8}], 1;
READY:
 fence.mbarrier_init.release.cluster;
 bar.sync 0;
 shr.u32 %r2, %r0, 5;
 mov.b32 %r10, 0;
 mov.b32 %r11, 0;
 mov.b32 %r12, 0;
 setp.eq.u32 %p2, %r2, 4;
 @%p2 bra PRODUCER;
TILE:
 mov.b32 %r13, 0;
LOOP:
 shl.b32 %r14, %r11, 3;
 add.s32 %r14, %r14, %r1;
 add.s32 %r15, %r14, {FULL};
{wait("%r15", "%r12", "FILLED")}
 mul.wide.u32 %rd12, %r11, {A_STAGE >> 4};
 mul.wide.u32 %rd13, %r11, {B_STAGE >> 4};
 add.s64 %rd10, %rd12, {descriptor(0)};
 add.s64 %rd11, %rd13, {descriptor(B_AT)};
 wgmma.fence.sync.aligned;
{mmas()}
 wgmma.commit_group.sync.aligned;
 wgmma.wait_group.sync.aligned 0;
 setp.eq.u32 %p3, %r0, 0;
 @%p3 mbarrier.arrive.shared::cta.b64 _, [%r14+{EMPTY}];
 add.s32 %r11, %r11, 1;
 setp.eq.u32 %p4, %r11, {STAGES};
 @%p4 xor.b32 %r12, %r12, 1;
 @%p4 mov.b32 %r11, 0;
 add.s32 %r13, %r13, 1;
 setp.lt.u32 %p5, %r13, {K_TILES};
 @%p5 bra LOOP;
 setp.ne.u32 %p6, %r2, 0;
 @%p6 bra HELD;
 cp.async.bulk.wait_group.read 0;
HELD:
 bar.sync 1, 128;
 and.b32 %r20, %r0, 31;
 shr.u32 %r21, %r20, 2;
 shl.b32 %r21, %r21, 6;
 and.b32 %r22, %r20, 3;
 shl.b32 %r22, %r22, 3;
 add.s32 %r21, %r21, %r22;
 shl.b32 %r22, %r2, 10;
 add.s32 %r21, %r21, %r22;
 add.s32 %r21, %r21, %r1;
 add.s32 %r21, %r21, {D_AT};
{store_d()}
 fence.proxy.async.shared::cta;
 bar.sync 1, 128;
 @%p6 bra STORED;
 shl.b32 %r23, %r10, 6;
 mov.b32 %r24, 0;
 add.s32 %r25, %r1, {D_AT};
 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd52, {{%r24, %r23}}], [%r25];
 cp.async.bulk.commit_group;
STORED:
 add.s32 %r10, %r10, 1;
 setp.lt.u32 %p7, %r10, {TILES};
 @%p7 bra TILE;
 @%p6 bra END;
 cp.async.bulk.wait_group 0;
 bra END;
PRODUCER:
 mov.b32 %r12, 1;
NEXT:
 mov.b32 %r13, 0;
FILL:
 shl.b32 %r14, %r11, 3;
 add.s32 %r14, %r14, %r1;
 add.s32 %r15, %r14, {EMPTY};
{wait("%r15", "%r12", "FREE")}
 add.s32 %r16, %r14, {FULL};
 elect.sync %r17|%p3, -1;
 @!%p3 bra ISSUED;
 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r16], {A_STAGE + B_STAGE};
 mad.lo.s32 %r18, %r11, {A_STAGE}, %r1;
 mad.lo.s32 %r19, %r11, {B_STAGE}, %r1;
 shl.b32 %r20, %r13, 6;
 shl.b32 %r21, %r10, 6;
 mov.b32 %r22, 0;
 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r18], [%rd50, {{%r20, %r21}}], [%r16];
 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r19+{B_AT}], [%rd51, {{%r20, %r22}}], [%r16];
ISSUED:
 add.s32 %r11, %r11, 1;
 setp.eq.u32 %p4, %r11, {STAGES};
 @%p4 xor.b32 %r12, %r12, 1;
 @%p4 mov.b32 %r11, 0;
 add.s32 %r13, %r13, 1;
 setp.lt.u32 %p5, %r13, {K_TILES};
 @%p5 bra FILL;
 add.s32 %r10, %r10, 1;
 setp.lt.u32 %p7, %r10, {TILES};
 @%p7 bra NEXT;
END:
"""  # noqa: E501


def run_gemm(text: str, seed: int) -> tuple[Outcome, Any, Any]:
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (64 * TILES, 64 * K_TILES)).astype(np.float16)
    b = rng.integers(-3, 4, (N, 64 * K_TILES)).astype(np.float16)
    d = np.zeros((64 * TILES, N), np.float32)
    width = 2 * 64 * K_TILES
    maps = [
        lambda at: TensorMap(at["a"], (64 * K_TILES, 64 * TILES), (width,), (64, 64), 2, "128B"),
        lambda at: TensorMap(at["b"], (64 * K_TILES, N), (width,), (64, N), 2, "128B"),
        lambda at: TensorMap(at["d"], (N, 64 * TILES), (4 * N,), (N, 64), 4),
    ]
    outcome = launch(text, {"a": a, "b": b, "d": d}, threads=160, shared=24608, maps=maps, seed=seed, out=["d"],
                     budget=60_000)  # fmt: skip
    return outcome, d, a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("seed", range(6))
def test_it_is_right_on_every_schedule(seed: int) -> None:
    outcome, d, expected = run_gemm(KERNEL, seed)
    assert [str(f) for f in outcome.result.findings] == []
    np.testing.assert_array_equal(d, expected)
    seen = outcome.result.observations["mbarriers"]
    assert [facts["bytes"] for _, facts in sorted(seen.items())] == [{A_STAGE + B_STAGE}] * 2 + [{0}] * 2
    assert outcome.result.observations["tma"][5]["copies"] == TILES


SYNCHRONISING = re.compile(
    r" *(@!?%p\d )?(\w+: )?(mbarrier|fence|bar\.sync|wgmma\.(fence|commit|wait)|cp\.async\.bulk\.(commit|wait))"
)
LINES = KERNEL.split("\n")
MUTANTS = {n: "" for n, line in enumerate(LINES) if SYNCHRONISING.match(line)}


@pytest.mark.parametrize("number", MUTANTS)
def test_nothing_that_synchronises_can_be_left_out(number: int) -> None:
    lines = list(LINES)
    lines[number] = ""
    if "try_wait" in LINES[number]:
        lines[number + 1] = ""  # the branch back
    assert any(run_gemm("\n".join(lines), seed)[0].kinds for seed in range(3)), LINES[number]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{A_STAGE + B_STAGE};", f"{A_STAGE + B_STAGE + 16};"),
        (f"{A_STAGE + B_STAGE};", f"{A_STAGE};"),
        (f"[%r1+{EMPTY}], 1;", f"[%r1+{EMPTY}], 2;"),
        (f"[%r1+{FULL}], 1;", f"[%r1+{FULL}], 2;"),
        ("PRODUCER:\n mov.b32 %r12, 1;", "PRODUCER:\n mov.b32 %r12, 0;"),
        ("bar.sync 1, 128;", "bar.sync 1, 96;"),
        ("bar.sync 1, 128;", "bar.sync 1, 160;"),
        (f"add.s32 %r15, %r14, {EMPTY};", f"add.s32 %r15, %r1, {EMPTY};"),
        (f"[%r14+{EMPTY}];", f"[%r1+{EMPTY}];"),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"),
        ("cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group.read 1;"),
    ],
)
def test_wrong_numbers_are_seen(old: str, new: str) -> None:
    assert old in KERNEL
    assert any(run_gemm(KERNEL.replace(old, new), seed)[0].kinds for seed in range(3))
