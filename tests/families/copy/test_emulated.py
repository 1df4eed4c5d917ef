"""Built copies on the emulator: right ones pass every case, and what is taken out of them is missed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.records import rewrite
from warpwright.build.launch_capture import TensorValue
from warpwright.emulate.variant import harness
from warpwright.record import read_json

pytestmark = pytest.mark.slow


def test_a_right_kernel_is_correct(built: Path) -> None:
    verdict = harness.emulate(harness.load(built))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
    cases = {"empty", "one", "below_grain", "chunk", "slice_more", "nonfinite", "alpha_zero", "ragged", "ring"}
    assert set(verdict.figures["problems"]) == cases | {
        *("alpha_special", "alpha_nan", "alpha_one", "whole_ring", "long", "walk", "far", "most")
    }
    assert verdict.figures["coverage"]["missed"] == []
    assert 0 < verdict.figures["ratio"] <= 1


@pytest.mark.parametrize(
    ("pattern", "into", "said"),
    [
        (
            r"(cp\.async\.bulk\.shared::cluster[^;]*, )(%r\d+)(, \[[^;]*;)",
            r"add.s32 \2, \2, 16; \1\2\3",
            "bulk load of 2064 bytes",
        ),
        (r"(cp\.async\.bulk\.shared::cluster[^;]*, )(%r\d+)(, \[[^;]*;)", r"add.s32 \2, \2, -16; \1\2\3", "deadlock"),
        (r"(cp\.async\.bulk\.global[^;]*, )(%r\d+);", r"add.s32 \2, \2, 16; \1\2;", "bulk store of 528 bytes"),
        (r"(cp\.async\.bulk\.global[^;]*, )(%r\d+);", r"add.s32 \2, \2, -16; \1\2;", "never written"),
        (r"mul\.f32 ", "add.f32 ", "outside their bound"),
    ],
)
def test_what_is_a_little_wrong_is_named(through_shared: Path, pattern: str, into: str, said: str) -> None:
    ptx = through_shared / "kernel.ptx"
    altered, number = re.subn(pattern, into, ptx.read_text())
    assert number
    rewrite(through_shared, "kernel.ptx", altered)
    verdict = harness.emulate(harness.load(through_shared))
    assert verdict.status in ("crash", "hang", "incorrect")
    assert said in verdict.diagnosis


def test_a_plan_that_says_something_else_degrades(through_shared: Path) -> None:
    plan = read_json(through_shared / "plan.json") or {}
    plan["kernels"][0]["copies"][1]["dtype"] = "f32"
    plan["kernels"][0]["barriers"][0]["partial"] = False
    rewrite(through_shared, "plan.json", plan)
    rules = {difference.rule for difference in harness.emulate(harness.load(through_shared)).differences}
    assert {"bulk store of y: bytes", "x_full[0]: bytes per phase"} <= rules


def test_the_launch_of_any_length(built: Path) -> None:
    """The grid is the chunks', up to the limit; nothing is launched for nothing; 64-bit lengths reach the kernel."""
    subject = harness.load(built)
    chunk, (x, y) = subject.plan.design.stage_elements, (a.dtype for a in subject.plan.arguments[:2])

    def grid(n: int, limit: int = 264) -> list[int]:
        tensors = [TensorValue((i + 1) << 44, (n,), (1,), name) for i, name in enumerate((x, y))]
        return [launch.grid[0] for launch in subject.host([*tensors, 2.0, limit])]

    assert [grid(n) for n in (0, 1, chunk, chunk + 8, 3 * chunk)] == [[], [1], [1], [2], [3]]
    assert grid(2**38 + 5) == [264]
    (launch,) = subject.host(
        [TensorValue((i + 1) << 44, (2**38 + 5,), (1,), d) for i, d in enumerate((x, y))] + [2.0, 9]
    )
    numbers = [int.from_bytes(parameter, "little") for parameter in launch.params]
    assert {2**38, 2**38 // chunk} <= set(numbers)
