"""Built SGEMMs on the emulator: right ones pass every case, and what is taken out of them is missed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.records import rewrite
from warpwright.emulate.variant import harness
from warpwright.record import read_json

pytestmark = pytest.mark.slow


def test_a_right_kernel_is_correct(built: Path) -> None:
    verdict = harness.emulate(harness.load(built))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
    cases = {"tiny", "k_zero", "batch", "ragged", "tiles", "ring", "k_long", "extreme", "walk", "bands", "bands_whole"}
    cases |= {f"edge_{at}" for at in range(16)}
    far = {"far", "most_batches", "most_across", "most_along"}
    found = set(verdict.figures["problems"])
    assert {name for name in found if not name.startswith("depth_")} == cases | far
    assert any(name.startswith("depth_") for name in found) == ("-all" in built.name)
    # A CTA that has no tile is not launched: each role's loop over tiles begins.
    missed = [branch["what"] for branch in verdict.figures["coverage"]["missed"]]
    assert missed == ["this branch is never taken"] * len(missed)
    assert len(missed) <= 2
    assert 0 < verdict.figures["ratio"] <= 1


@pytest.mark.parametrize(
    ("pattern", "into", "said"),
    [
        (r"fma\.rn\.f32 (\t?%\S+, %\S+, %\S+, )%\S+;", r"mov.b32 %r0, %r0; fma.rn.f32 \g<1>0f00000000;", "outside"),
        (r"fma\.rn\.f32(.*;)", r"fma.rz.f32\1", "outside"),
        (r"(mbarrier\.arrive\.expect_tx[^;]*, )(%r\d+);", r"add.s32 \2, \2, 16; \1\2;", "deadlock"),
    ],
)
def test_what_is_a_little_wrong_is_named(specialised: Path, pattern: str, into: str, said: str) -> None:
    ptx = specialised / "kernel.ptx"
    altered, number = re.subn(pattern, into, ptx.read_text(), count=0)
    assert number
    rewrite(specialised, "kernel.ptx", altered)
    verdict = harness.emulate(harness.load(specialised))
    assert verdict.status in ("crash", "hang", "incorrect")
    assert said in verdict.diagnosis


def test_a_plan_that_says_something_else_degrades(specialised: Path) -> None:
    plan = read_json(specialised / "plan.json") or {}
    plan["kernels"][0]["barriers"][1]["arrivals"] = 3
    plan["kernels"][0]["copies"][0]["box"] = [32, 8, 1]
    rewrite(specialised, "plan.json", plan)
    rules = {difference.rule for difference in harness.emulate(harness.load(specialised)).differences}
    assert {"TMA load of a: boxes of (32, 8, 1)", "ab_empty[0]: arrival count"} <= rules
