"""Mutants: what is altered, how it is named, and that nothing else of the text changes."""

from __future__ import annotations

import pytest

from warpwright.emulate.mutants.edits import Mutant, apply, mutants

PTX = """\
.version 8.8
.target sm_90a
.extern .shared .align 1024 .b8 smem[];
.visible .entry k()
{
	mov.b32 	%r1, smem;
	mov.b32 	%r2, 4;
	mbarrier.init.shared.b64 	[%r1+64], %r2;
	fence.mbarrier_init.release.cluster;
	barrier.cluster.arrive.relaxed;
	barrier.cluster.wait;
$L__BB0_2:
	shl.b32 	%r5, %r4, 3;
	add.s32 	%r6, %r1, %r5;
	{
	.reg .pred       P1;
	LAB_WAIT:
	mbarrier.try_wait.parity.shared.b64 P1, [%r6], %r7, 10000000;
	@P1 bra.uni DONE;
	bra.uni     LAB_WAIT;
	DONE:
	}
	mov.b32 	%r8, 512;
	mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r6], %r8;
	mapa.shared::cluster.u32 	%r9, %r6, %r10;
	mov.b32 	%r11, 1;
	mbarrier.arrive.shared::cluster.b64 _, [%r9], %r11;
	add.s32 	%r12, %r4, 1;
	setp.eq.b32 	%p1, %r12, 6;
	selp.b32 	%r4, 0, %r12, %p1;
	wgmma.wait_group.sync.aligned 	1;
	bar.sync 	%r13, 128;
	bar.sync 	0;
	ret;
}
"""
LINES = PTX.split("\n")


@pytest.fixture(scope="module")
def found() -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in mutants(PTX, [6])}


def text(mutant: Mutant) -> list[str]:
    """The lines that a mutant alters."""
    return [
        " ".join(line.split()) for line, old in zip(apply(PTX, mutant).split("\n"), LINES, strict=True) if line != old
    ]


def test_every_kind_is_listed_once(found: dict[str, Mutant]) -> None:
    assert set(found) == {
        "delete mbarrier.init.shared.b64 #1",
        "+1 arrival in mbarrier.init.shared.b64 #1",
        "-1 arrival in mbarrier.init.shared.b64 #1",
        "delete fence.mbarrier_init.release.cluster #1",
        "delete barrier.cluster.arrive.relaxed #1",
        "delete barrier.cluster.wait #1",
        "delete pair barrier.cluster.arrive.relaxed #1",
        "swap stages 0 and 1 in shl.b32 #1",
        "delete mbarrier.try_wait.parity.shared.b64 #1",
        "flip phase of mbarrier.try_wait.parity.shared.b64 #1",
        "delete mbarrier.arrive.expect_tx.shared.b64 #1",
        "no bytes in mbarrier.arrive.expect_tx.shared.b64 #1",
        "+1 byte in mbarrier.arrive.expect_tx.shared.b64 #1",
        "-1 byte in mbarrier.arrive.expect_tx.shared.b64 #1",
        "own CTA in mapa.shared::cluster.u32 #1",
        "delete mbarrier.arrive.shared::cluster.b64 #1",
        "+1 arrival in mbarrier.arrive.shared::cluster.b64 #1",
        "delete wgmma.wait_group.sync.aligned #1",
        "+1 group in wgmma.wait_group.sync.aligned #1",
        "delete bar.sync #1",
        "+32 threads in bar.sync #1",
        "-32 threads in bar.sync #1",
        "delete bar.sync #2",
    }
    assert [mutant.line for mutant in found.values()] == sorted(mutant.line for mutant in found.values())


@pytest.mark.parametrize(
    ("name", "altered"),
    [
        ("delete bar.sync #2", [""]),
        ("delete pair barrier.cluster.arrive.relaxed #1", ["", ""]),
        ("-1 arrival in mbarrier.init.shared.b64 #1", ["mbarrier.init.shared.b64 [%r1+64], 3;"]),
        ("+1 byte in mbarrier.arrive.expect_tx.shared.b64 #1",
         ["mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r6], 513;"]),
        ("no bytes in mbarrier.arrive.expect_tx.shared.b64 #1", ["mbarrier.arrive.shared.b64 %rd1, [%r6], 1;"]),
        ("-32 threads in bar.sync #1", ["bar.sync %r13, 96;"]),
        ("+1 group in wgmma.wait_group.sync.aligned #1", ["wgmma.wait_group.sync.aligned 2;"]),
        ("own CTA in mapa.shared::cluster.u32 #1", ["mov.b32 %r9, %r6;"]),
        ("delete mbarrier.try_wait.parity.shared.b64 #1", ["setp.eq.b32 P1, 0, 0;"]),
        ("flip phase of mbarrier.try_wait.parity.shared.b64 #1",
         [".reg .b32 flipped; xor.b32 flipped, %r7, 1; LAB_WAIT:",
          "mbarrier.try_wait.parity.shared.b64 P1, [%r6], flipped, 10000000;"]),
    ],
)  # fmt: skip
def test_the_alteration_is_what_the_name_says(found: dict[str, Mutant], name: str, altered: list[str]) -> None:
    assert text(found[name]) == altered


def test_a_swapped_stage_goes_through_a_register_of_its_own(found: dict[str, Mutant]) -> None:
    (line,) = text(found["swap stages 0 and 1 in shl.b32 #1"])
    assert line.startswith("{ .reg .pred few;")
    assert line.endswith("shl.b32 %r5, other, 3; }")
    assert "%r4, 2" in line  # stages below 2


def test_indices_of_other_depths_are_left_alone() -> None:
    assert not [mutant for mutant in mutants(PTX, [5]) if mutant.name.startswith("swap")]


def test_names_outlive_changes_elsewhere(found: dict[str, Mutant]) -> None:
    longer = PTX.replace("\tret;", "\tadd.s32 %r1, %r1, 1;\n\tret;").replace(
        "\tmov.b32 \t%r2, 4;", "\n\tmov.b32 \t%r2, 4;"
    )
    assert [mutant.name for mutant in mutants(longer, [6])] == list(found)
