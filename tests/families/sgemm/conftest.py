"""Small SGEMMs, built once for all tests of a worker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warpwright import pipeline

#: With and without specialised warps, and K-major; as few warps as there can be, which are quick to emulate.
SMALL = """\
version: 1
name: small
purpose: Kernels for tests of the SGEMM.
kernel:
  family: sgemm
  arch: sm_90a
  a: {major: m}
  b: {major: n}
design:
  thread: {m: 8, n: 8}
  warps: {m: 1, n: 1}
  tile_k: 8
  unroll: 4
  stages: 3
  group: 2
sweep:
  - design.warps: [{m: 1, n: 2}]
    design.specialise: [producer, none]
  - kernel.a.major: [k]
    kernel.b.major: [k]
    design.stages: [2]
    design.producer_warps: [2]
"""


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("sgemms")
    (top / "small.yaml").write_text(SMALL)
    exploration = pipeline.plan(str(top / "small.yaml"), top / "out")
    pipeline.advance(exploration, ("render", "build"))
    assert [variant.status for variant in exploration.variants] == ["correct"] * 3
    return [variant.folder.path for variant in exploration.legal]


@pytest.fixture(params=["specialised", "all", "along_k"])
def built(request: pytest.FixtureRequest, _built: list[Path], tmp_path: Path) -> Path:
    """The folder of a built SGEMM, to be spoilt."""
    source = _built[["specialised", "all", "along_k"].index(request.param)]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))


@pytest.fixture
def specialised(_built: list[Path], tmp_path: Path) -> Path:
    """That with a producer, of M- and N-major operands."""
    return Path(shutil.copytree(_built[0], tmp_path / "out" / "small" / _built[0].name))
