"""CTAs of one tile that read C: each stage of its ring is used, however few subtiles there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulate.plans import gemm_plan
from warpwright import pipeline
from warpwright.emulate.variant import harness

WITH_C = {
    "kernel.epilogue": ["beta_c"],
    "kernel.c": {"dtype": "f16", "major": "n"},
    "design.tile": {"m": 64, "n": 32, "k": 64},
    "design.consumer_warps": 4,
}
ONE = {"design.scheduler": {"kind": "one_tile"}}
SMALL = """\
version: 1
name: one
purpose: One tile of one subtile.
kernel:
  {family: gemm, arch: sm_90a, a: {dtype: f16, major: k}, b: {dtype: f16, major: k}, c: {dtype: f16, major: n},
   d: {dtype: f16, major: n}, epilogue: [beta_c]}
design: {tile: {m: 64, n: 32, k: 64}, consumer_warps: 4, stages: 3, scheduler: {kind: one_tile}}
"""


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        (WITH_C, 2),  # the next tile's subtile comes while this one is read
        ({**WITH_C, **ONE}, 1),
        ({**WITH_C, **ONE, "design.tile": {"m": 64, "n": 64, "k": 64}}, 2),
        ({**WITH_C, **ONE, "design.tile": {"m": 64, "n": 128, "k": 64}, "design.epilogue_stages": 4}, 4),
    ],
)
def test_the_ring_of_c_has_no_stage_that_nothing_comes_through(changes: dict[str, object], stages: int) -> None:
    plan = gemm_plan(changes)
    (full,) = (barrier for barrier in plan.main.barriers if barrier.name == "c_full")
    assert (plan.design.c_stages, full.stages) == (stages, stages)


def test_a_tile_of_one_subtile_is_correct(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(SMALL)
    exploration = pipeline.plan(str(tmp_path / "one.yaml"), tmp_path / "out")
    pipeline.advance(exploration, ("render", "build"))
    (variant,) = exploration.legal
    verdict = harness.emulate(harness.load(variant.folder.path))
    assert (verdict.status, verdict.diagnosis, verdict.differences) == ("correct", "", ())
