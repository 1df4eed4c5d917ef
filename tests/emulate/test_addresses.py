"""Generic addresses: to which state space they belong, and the same place in a peer's shared memory; cache policies."""

from __future__ import annotations

import numpy as np

from .ptx_kit import lanes, launch


def test_to_which_space_an_address_belongs() -> None:
    body = """
 .local .align 16 .b8 depot[16];
 cvta.shared.u64 %rd5, smem;
 mov.b64 %rd6, depot;
 cvta.local.u64 %rd6, %rd6;
 mov.b32 %r9, 0;
 {tests}
"""
    tests, expected, bit = "", 0, 0
    for space, of in (("shared", "%rd5"), ("local", "%rd6"), ("global", "%rd0"), ("shared::cta", "%rd5")):
        for address in ("%rd5", "%rd6", "%rd0"):
            tests += f" isspacep.{space} %p1, {address};\n selp.b32 %r8, {1 << bit}, 0, %p1;\n or.b32 %r9, %r9, %r8;\n"
            expected |= (address == of) << bit
            bit += 1
    assert lanes(body.format(tests=tests), np.zeros(32, np.uint32)).tolist() == [expected] * 32
    varying = body + " cvt.u64.u32 %rd7, %r0;\n add.s64 %rd7, %rd7, %rd5;\n isspacep.shared::cta %p1, %rd7;\n"
    varying += " selp.b32 %r9, 1, 0, %p1;\n"
    assert lanes(varying.format(tests=""), np.zeros(32, np.uint32)).tolist() == [1] * 32


def test_generic_addresses_of_a_peer() -> None:
    """Each CTA of a pair stores its rank in the other one, at an address that mapa gives."""
    body = """
 mov.u32 %r2, %cluster_ctarank;
 xor.b32 %r3, %r2, 1;
 cvta.shared.u64 %rd5, %rd6;
 mapa.u64 %rd7, %rd5, %r3;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 st.b32 [%rd7], %r2;
 getctarank.u64 %r5, %rd7;
 barrier.cluster.arrive.aligned;
 barrier.cluster.wait.aligned;
 ld.shared.b32 %r4, [%r1];
 shl.b32 %r6, %r2, 3;
 cvt.u64.u32 %rd8, %r6;
 add.s64 %rd9, %rd0, %rd8;
 @%p1 st.global.v2.b32 [%rd9], {%r4, %r5};
"""
    out = np.zeros(4, np.uint32)
    outcome = launch(
        " cvt.u64.u32 %rd6, %r1;\n and.b64 %rd6, %rd6, 0xFFFFFF;\n" + body, {"o": out}, out=["o"], cluster=2
    )
    assert outcome.kinds == []
    assert out.tolist() == [1, 1, 0, 0]


def test_a_policy_is_a_number() -> None:
    body = " createpolicy.fractional.L2::evict_first.b64 %rd5, 0f3F800000;\n"
    body += " ld.global.L2::cache_hint.b32 %r9, [%rd0], %rd5;\n"
    assert lanes(body, np.arange(32, dtype=np.uint32)).tolist() == [0] * 32
