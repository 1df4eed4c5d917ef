"""Mutants of decisions: which lines are altered, how, and that what makes no decision is left alone."""

from __future__ import annotations

import pytest

from warpwright.emulate.mutants.edits import apply, mutants

PTX = """\
.version 8.8
.target sm_90a
.visible .entry k()
{
	setp.lt.s32 	%p1, %r3, 4;
	setp.lt.s32 	%p2, %r168, 0;
	setp.eq.s32 	%p3, %r3, 4;
	setp.gt.u64 	%p4, %rd3, %rd4;
	div.s32 	%r166, %r198, %r5;
	mul.wide.s32 	%rd5, %r6, 8;
	add.s32 	%r198, %r198, %r4;
	setp.ge.s32 	%p70, %r198, %r52;
	mov.b32 	%r20, 0f00000000;
	selp.f32 	%r21, 0f00000000, %r21, %p9;
	selp.f32 	%r22, 0f00000000, %r23, %p9;
	mov.b32 	%r24, 0f00000000;
	@%p38 bra 	$L__BB0_42;
	shl.b32 	%r139, %r138, 1;
	st.global.b16 	[%rd34], %rs1;
$L__BB0_42:
	@%p39 bra 	$L__BB0_43;
	add.s32 	%r239, %r239, 1;
$L__BB0_43:
	@%p40 st.global.b32 	[%rd35+4], %r7;
	cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%rd26, {%r36, %r133, %r33}], [%r28];
	ret;
}
"""
LINES = PTX.split("\n")
FOUND = {mutant.name: mutant for mutant in mutants(PTX, [])}


def altered(name: str) -> list[str]:
    return [
        " ".join(new.split()) for new, old in zip(apply(PTX, FOUND[name]).split("\n"), LINES, strict=True) if new != old
    ]


def test_every_decision_and_nothing_else() -> None:
    assert {name for name in FOUND if not name.startswith(("delete", "+", "-"))} == {
        "le for lt in setp.lt.s32 #1",
        "ge for gt in setp.gt.u64 #1",
        "gt for ge in setp.ge.s32 #1",
        "index at most 15 in div.s32 #1",
        "index at most 63 in div.s32 #1",
        "no fill by mov.b32 #1",
        "no last fill by mov.b32 #1",
        "no guard of st.global.b16 #1",
        "no guard of st.global.b32 #1",
    }


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("le for lt in setp.lt.s32 #1", ["setp.le.s32 %p1, %r3, 4;"]),
        ("gt for ge in setp.ge.s32 #1", ["setp.gt.s32 %p70, %r198, %r52;"]),
        ("index at most 63 in div.s32 #1", ["{ .reg .b32 few; min.s32 few, %r198, 63; div.s32 %r166, few, %r5; }"]),
        ("no fill by mov.b32 #1", ["", ""]),
        ("no last fill by mov.b32 #1", [""]),
        ("no guard of st.global.b16 #1", [""]),
        ("no guard of st.global.b32 #1", ["st.global.b32 [%rd35+4], %r7;"]),
    ],
)
def test_the_alteration_is_what_the_name_says(name: str, text: list[str]) -> None:
    assert altered(name) == text
