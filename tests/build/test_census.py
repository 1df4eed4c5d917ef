"""What the census reads off PTX and SASS, on small texts and on the compiled kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from warpwright.build import Artifact
from warpwright.build.ptx_census import kernel_parameters, ptx_census
from warpwright.build.ptx_values import Value, Values, statements
from warpwright.build.resources import ToolError, disassemble, machine_code, resource_usage
from warpwright.build.sass_census import sass_census

ENTRY = (
    ".extern .shared .align 1024 .b8 smem[];\n.visible .entry k(\n.param .align 64 .b8 p0[128],\n.param .u32 p1\n)\n"
)


def values_of(body: str) -> Values:
    text = ENTRY + body
    return Values(text, statements(text))


def test_follows_addresses_from_the_shared_base() -> None:
    values = values_of(
        """
        mov.b32 %r21, smem;
        shfl.sync.idx.b32 %r1, %r21, 0, 31, -1;
        mov.u32 %r2, %tid.x;
        shl.b32 %r3, %r2, 3;
        add.s32 %r4, %r1, %r3;
        add.s32 %r5, %r4, 4096;
        cvt.u64.u32 %rd1, %r5;
        mad.lo.s32 %r6, %r2, 8, %r1;
        """
    )
    assert values.of("[%r1+64]").shared_offset == 64
    assert not values.of("[%r1+64]").dynamic
    assert values.of("[%r4+8]").shared_offset == 8
    assert values.of("%rd1").shared_offset == 4096
    assert values.of("%rd1").dynamic
    assert values.of("[%r6+16]").shared_offset == 16
    assert values.of("%r2").shared_offset is None


def test_a_register_with_two_definitions_is_known_only_if_they_agree() -> None:
    values = values_of(
        "mov.b32 %r1, 5;\nmov.b32 %r1, 5;\nmov.b32 %r2, 1;\nmov.b32 %r2, 2;\nadd.s32 %r3, %r3, 1;\nmov.b32 %r3, 0;\n"
    )
    assert values.of("%r1").known == 5
    assert values.of("%r2").known is None
    assert values.of("%r3").known is None


def test_what_a_loop_counts_up_starts_at_a_constant_part() -> None:
    values = values_of("mov.b32 %r1, 131072;\n$L__BB0_1:\nadd.s32 %r1, %r1, 1024;\nadd.s32 %r2, %r1, 8;\n")
    assert values.of("%r2") == Value(0, 131080, dynamic=True)


def test_parameters_in_bytes() -> None:
    second = ".entry other(.param .u64 p0)\n"
    assert kernel_parameters(ENTRY + second) == {"k": [128, 4], "other": [8]}
    with pytest.raises(ValueError, match="holds no kernel"):
        kernel_parameters("")


def test_census_of_hand_written_ptx() -> None:
    (census,) = ptx_census(
        ENTRY
        + """.reqntid 384, 1, 1
        .minnctapersm 1
        {
        mov.b32 %r1, smem;
        mov.b32 %r2, 7;
        mbarrier.init.shared::cta.b64 [%r1+8], %r2;
        mbarrier.init.shared::cta.b64 [%r1], 1;
        @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 512;
        mbarrier.arrive.shared.b64 %rd1, [%r1+8];
        cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd2, {%r4, %r5, %r6}], [%r1+1024];
        bar.sync 0;
        bar.arrive 3, 256; // a comment with bar.sync 9, 32;
        setmaxnreg.dec.sync.aligned.u32 24;
        }
        """
    ).values()
    assert census["threads"] == [384, 1, 1]
    assert census["min_blocks"] == 1
    assert [(b["offset"], b["arrivals"]) for b in census["mbarriers"]] == [(0, 1), (8, 7)]
    assert census["expect_tx"] == [{"offset": 0, "exact": True, "bytes": 512}]
    assert census["arrives"] == [{"offset": 8, "exact": True, "count": 1, "remote": False}]
    assert census["copies"] == [
        {
            "kind": "tensor",
            "direction": "store",
            "dimensions": 3,
            "bytes": None,
            "multicast": False,
            "reduce": False,
            "offset": 1024,
            "mbarrier": None,
            "group": 0,
        }
    ]
    assert census["named_barriers"] == [{"id": 0, "threads": 0}, {"id": 3, "threads": 256}]
    assert census["setmaxnreg"] == {"inc": [], "dec": [24]}


def test_census_of_the_compiled_kernel(built: tuple[Artifact, Path]) -> None:
    (kernel,) = built[0].census.values()
    ptx, sass = kernel["ptx"], kernel["sass"]
    assert [(b["offset"], b["arrivals"]) for b in ptx["mbarriers"]] == [(40960, 1), (40968, 1), (40976, 2), (40984, 2)]
    assert [(t["direction"], t["multicast"], t["offset"]) for t in ptx["copies"]] == [
        ("load", False, 0),
        ("load", True, 16384),
        ("store", False, 32768),
    ]
    assert ptx["mmas"] == {"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16": 4}
    assert sass["mmas"] == {"HGMMA.64x64x16": 4}
    assert {o: n for o, n in sass["opcodes"].items() if o.startswith(("UTMALDG", "UTMASTG"))} == {
        "UTMALDG.2D": 1,
        "UTMALDG.2D.MULTICAST": 1,
        "UTMASTG.2D": 1,
    }
    assert sass["setmaxnreg"] == ptx["setmaxnreg"] == {"inc": [232], "dec": [40]}
    assert ptx["opcodes"]["wgmma.fence.sync.aligned"] == sass["opcodes"]["WARPGROUP.ARRIVE"] == 1


def test_sass_of_spills_and_predicated_instructions() -> None:
    census = sass_census(
        """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 STL.64 [R1+0x8], R2 ;
        /*0020*/              @UP1 USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0 ;
        /*10030*/                  LDL R3, [R1] ;
        /*0040*/                   HGMMA.64x256x16.F32.BF16 R24, gdesc[UR12].tnspB, R24, gsb0 ;
        """
    )
    assert (census["local_bytes"], census["instructions"]) == (12, 5)
    assert census["setmaxnreg"] == {"inc": [240], "dec": []}
    assert census["mmas"] == {"HGMMA.64x256x16": 1}
    with pytest.raises(ValueError, match="no instruction"):
        sass_census("nothing")


def test_tools_refuse_what_is_no_cubin(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cubin"
    path.write_bytes(b"not a cubin")
    with pytest.raises(ToolError):
        resource_usage(path)
    with pytest.raises(ToolError, match="no 64-bit ELF"):
        disassemble([b"not a cubin"], "sm_90a")


def test_kernels_disassembled_together_are_told_apart(built: tuple[Artifact, Path]) -> None:
    cubin = (built[1] / "kernel.cubin").read_bytes()
    with pytest.raises(ToolError, match="cut short"):
        machine_code(cubin[: len(cubin) // 2])
    three = disassemble([cubin] * 3, "sm_90a")
    (name,) = built[0].kernels
    assert [sass_census(listing[name]) for listing in three] == [built[0].census[name]["sass"]] * 3
