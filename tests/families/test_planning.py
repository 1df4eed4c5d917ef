"""A point that `where` has asked for is not planned again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from warpwright import families, pipeline
from warpwright.point import Point

CONFIG = """\
version: 1
name: choices
purpose: Points of which a predicate asks what the plan chose.
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 64, k: 64}
  stages: auto
sweep:
  design.tile.n: [64, 128, 256]
where: [stages > 1, tile.n < 200]
"""


def test_each_point_is_planned_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = families.family("gemm")
    target = family.targets["sm_90a"]
    asked: list[Point] = []
    counting = replace(target, plan=lambda point: (asked.append(point), target.plan(point))[1])
    monkeypatch.setitem(family.targets, "sm_90a", counting)  # type: ignore[arg-type]
    path = tmp_path / "choices.yaml"
    path.write_text(CONFIG)
    assert len(pipeline.plan(str(path), tmp_path).variants) == 2
    assert len(asked) == 3
