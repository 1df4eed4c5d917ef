"""Shared memory: loads, stores, matrix loads and stores, and what is wrong with an address."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_kit import lanes, launch

LANE = np.arange(32, dtype=np.uint32)


def test_vector_and_narrow_accesses() -> None:
    code = """
 shl.b32 %r5, %r2, 4;
 add.s32 %r5, %r1, %r5;
 st.shared.v4.b32 [%r5], {%r2, %r5, 7, %r2};
 bar.warp.sync -1;
 ld.shared.v2.b32 {%r6, %r7}, [%r5+8];
 cvt.u16.u32 %rs1, %r2;
 st.shared.b16 [%r5+2], %rs1;
 ld.shared.u8 %rs2, [%r5+2];
 cvt.u32.u16 %r8, %rs2;
 st.shared.b8 [%r5+15], %r2;
 ld.shared.b32 %r10, [%r5];
 mad.lo.s32 %r9, %r6, 1000, %r7;
 mad.lo.s32 %r9, %r8, 1000000, %r9;
 add.s32 %r9, %r9, %r10;"""
    expected = 7000 + LANE + 1000000 * LANE + (LANE | LANE << 16)
    np.testing.assert_array_equal(lanes(code, LANE), expected)


def test_a_uniform_address_gives_a_uniform_value() -> None:
    code = " setp.eq.u32 %p1, %r2, 9;\n @%p1 st.shared.b32 [%r1+64], %r2;\n ld.shared.b32 %r9, [%r1+64];"
    assert lanes(code, LANE).tolist() == [9] * 32


@pytest.mark.parametrize("base", ["%r1", "%r2"], ids=["one for all lanes", "one a lane"])
def test_the_sum_of_a_32_bit_address_and_its_offset_has_32_bits(base: str) -> None:
    code = f"""
 mul.lo.u32 %r5, %r2, 0;
 add.s32 %r5, %r5, {base.replace("%r2", "%r1")};
 add.s32 %r5, %r5, 4294966296;
 add.s32 %r6, %r1, 4294966296;
 st.shared.b32 [%r1+64], 7;
 ld.shared.b32 %r9, [{"%r6" if base == "%r1" else "%r5"}+1064];"""
    assert lanes(code, LANE).tolist() == [7] * 32


def test_generic_addresses_reach_shared_memory() -> None:
    code = """
 cvt.u64.u32 %rd30, %r1;
 cvta.shared.u64 %rd31, %rd30;
 mul.wide.u32 %rd32, %r2, 4;
 add.s64 %rd33, %rd31, %rd32;
 st.b32 [%rd33], %r2;
 ld.b32 %r9, [%rd33];"""
    np.testing.assert_array_equal(lanes(code, LANE), LANE)


def fragments(matrix: np.ndarray) -> np.ndarray:
    """PTX ISA, "ldmatrix": lane l holds row l / 4, columns 2 (l % 4) and the next, of an 8 x 8 matrix."""
    return np.array([int(matrix[n // 4, 2 * (n % 4)]) | int(matrix[n // 4, 2 * (n % 4) + 1]) << 16 for n in range(32)])


@pytest.mark.parametrize("transposed", [False, True])
def test_stmatrix_writes_rows(transposed: bool) -> None:
    """Matrix j goes to the rows whose addresses lanes 8j .. 8j + 7 give; .trans stores its transpose."""
    matrices = np.arange(128, dtype=np.uint16).reshape(2, 8, 8) * 3
    low, high = (fragments(m).astype(np.uint32) for m in matrices)
    trans = ".trans" if transposed else ""
    code = f"""
 and.b32 %r5, %r0, 15;
 xor.b32 %r5, %r5, 1;
 shl.b32 %r5, %r5, 4;
 add.s32 %r5, %r1, %r5;
 stmatrix.sync.aligned.m8n8.x2{trans}.shared.b16 [%r5], {{%r2, %r3}};
 bar.sync 0;
 shl.b32 %r6, %r0, 2;
 add.s32 %r6, %r1, %r6;
 ld.shared.b32 %r9, [%r6];"""
    got = lanes(code, low, high).view(np.uint16).reshape(8, 8)  # the first eight rows of sixteen bytes
    stored = matrices.transpose(0, 2, 1) if transposed else matrices
    np.testing.assert_array_equal(got, stored[0][[n ^ 1 for n in range(8)]])


@pytest.mark.parametrize("transposed", [False, True])
def test_ldmatrix_undoes_stmatrix(transposed: bool) -> None:
    matrices = np.random.default_rng(0).integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
    values = [fragments(m).astype(np.uint32) for m in matrices]
    trans = ".trans" if transposed else ""
    code = f"""
 shl.b32 %r20, %r0, 4;
 add.s32 %r20, %r1, %r20;
 stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r20], {{%r2, %r3, %r4, %r5}};
 ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r21, %r22, %r23, %r24}}, [%r20];"""
    for register, matrix in zip(("%r21", "%r24"), (matrices[0], matrices[3]), strict=True):
        expected = fragments(matrix.T if transposed else matrix)
        np.testing.assert_array_equal(lanes(code, *values, result=register), expected)


@pytest.mark.parametrize(
    ("code", "kind", "what"),
    [
        ("ld.shared.b32 %r5, [%r1+4096];", "shared-bounds", "outside the 4096 bytes"),
        ("ld.shared.b32 %r5, [%r1+-16];", "shared-bounds", "outside"),
        ("st.shared.b32 [%r1+2], %r0;", "misaligned", "not a multiple of 4"),
        ("ld.shared.v4.b32 {%r5, %r6, %r7, %r8}, [%r1+8];", "misaligned", "not a multiple of 16"),
        ("ld.shared.b32 %r5, [%r1+32];", "uninitialised-read", "never written"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r0};", "race", "the same address"),
        ("st.global.b32 [%rd0+4], %r0;", "global-bounds", "from the start of 'a', which has 4 bytes"),
        ("ld.global.b32 %r5, [%rd0+2];", "misaligned", "global address"),
    ],
)
def test_bad_addresses(code: str, kind: str, what: str) -> None:
    outcome = launch(f" {code}\n", {"a": np.zeros(1, np.uint32)})
    assert outcome.kinds == [kind]
    assert what in outcome.message(kind)
    assert "PTX line" in outcome.message(kind)


def test_output_rules() -> None:
    twice = " st.global.b32 [%rd0], 1;\n"
    outcome = launch(twice, {"o": np.zeros(1, np.uint32)}, out=["o"])  # all lanes write it
    assert outcome.kinds == ["written-twice"]
    assert launch(" ld.global.b32 %r5, [%rd0];\n", {"o": np.zeros(1, np.uint32)}, out=["o"]).kinds == ["global-bounds"]


def test_a_peer_is_reached_through_mapa_only() -> None:
    write = """
 mov.u32 %r5, %cluster_ctarank;
 xor.b32 %r6, %r5, 1;
 mapa.shared::cluster.u32 %r7, %r1, %r6;
 barrier.cluster.arrive;
 barrier.cluster.wait;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 st.shared{space}.b32 [%r7], %r5;
 barrier.cluster.arrive;
 barrier.cluster.wait;
 ld.shared.b32 %r8, [%r1];
 mul.wide.u32 %rd20, %r5, 4;
 add.s64 %rd21, %rd0, %rd20;
 @%p1 st.global.b32 [%rd21], %r8;
"""
    out = np.zeros(2, np.uint32)
    assert launch(write.format(space="::cluster"), {"o": out}, cluster=2).kinds == []
    assert out.tolist() == [1, 0]
    outcome = launch(write.format(space="::cta"), {"o": out}, cluster=2)
    assert outcome.kinds == ["shared-bounds"]
    assert "but the instruction is .shared::cta" in outcome.message("shared-bounds")


def test_a_generic_address_may_be_a_peer_s() -> None:
    body = """
 mov.u32 %r5, %cluster_ctarank;
 xor.b32 %r6, %r5, 1;
 mapa.shared::cluster.u32 %r7, %r1, %r6;
 cvt.u64.u32 %rd8, %r7;
 cvta.shared::cluster.u64 %rd9, %rd8;
 setp.eq.u32 %p1, %r0, 0;
 @%p1 st.shared.b32 [%r1], %r5;
 barrier.cluster.arrive;
 barrier.cluster.wait;
 @%p1 ld.b32 %r8, [%rd9];
 @%p1 st.b32 [%rd9+16], %r8;
 barrier.cluster.arrive;
 barrier.cluster.wait;
 mul.wide.u32 %rd20, %r5, 4;
 add.s64 %rd21, %rd0, %rd20;
 @%p1 ld.shared.b32 %r8, [%r1+16];
 @%p1 st.global.b32 [%rd21], %r8;
"""
    out = np.zeros(2, np.uint32)
    assert launch(body, {"o": out}, cluster=2).kinds == []
    assert out.tolist() == [0, 1]
