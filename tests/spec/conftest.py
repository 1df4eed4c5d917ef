"""A good file, and the way to load it with some of its lines changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpwright.spec import Spec, SpecErrors, load

GOOD = """\
version: 1
name: sample
purpose: a sample
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
  epilogue: [alpha, {op: bias_n, dtype: bf16}, relu]
design:
  tile: {m: 128, n: 256, k: 64}
  cluster: {m: 2, n: 1}
  stages: auto
sweep:
  design.tile.n: [64, 128, 256]
  design.schedule: [cooperative, pingpong]
where:
  - tile.m * tile.n <= 32768
validate: {problems: standard, repeats: 3}
bench: {problems: [{m: 4096, n: 4096, k: 4096}]}
"""


def edited(changes: dict[int, str]) -> str:
    """GOOD with lines replaced by number (from 1); line 22 and up are appended, an empty text drops the line."""
    lines = dict(enumerate(GOOD.splitlines(), start=1)) | changes
    return "\n".join(lines[number] for number in sorted(lines)) + "\n"


@pytest.fixture
def load_text(tmp_path: Path) -> Callable[[str], Spec]:
    def load_it(text: str) -> Spec:
        path = tmp_path / "x.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return load_it


@pytest.fixture
def load_edited(load_text: Callable[[str], Spec]) -> Callable[[dict[int, str]], Spec]:
    return lambda changes: load_text(edited(changes))


@pytest.fixture
def mistakes(load_text: Callable[[str], Spec]) -> Callable[[str | dict[int, str]], SpecErrors]:
    def collect(source: str | dict[int, str]) -> SpecErrors:
        with pytest.raises(SpecErrors) as caught:
            load_text(source if isinstance(source, str) else edited(source))
        return caught.value

    return collect
