"""Small copies, built once for all tests of a worker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warpwright import pipeline

#: Both ways out; two producers in turns and a cast beside the plainest; small stages, which are quick to emulate.
SMALL = """\
version: 1
name: small
purpose: Kernels for tests of the copy.
kernel:
  family: copy
  arch: sm_90a
  x: {dtype: f32}
  y: {dtype: bf16}
design:
  stage_bytes: 2048
  stages: 3
  consumer_warps: 2
  ctas_per_sm: 2
sweep:
  - design.store: [tma]
    design.slots: [3]
  - design.store: [direct]
    design.producer_warps: [2]
    kernel.x: [{dtype: f16}]
"""


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("copies")
    (top / "small.yaml").write_text(SMALL)
    exploration = pipeline.plan(str(top / "small.yaml"), top / "out")
    pipeline.advance(exploration, ("render", "build"))
    assert [variant.status for variant in exploration.variants] == ["correct", "correct"]
    return [variant.folder.path for variant in exploration.legal]


@pytest.fixture(params=["tma", "direct"])
def built(request: pytest.FixtureRequest, _built: list[Path], tmp_path: Path) -> Path:
    """The folder of a built copy, to be spoilt."""
    source = _built[request.param == "direct"]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))


@pytest.fixture
def through_shared(_built: list[Path], tmp_path: Path) -> Path:
    """That which stores by TMA."""
    return Path(shutil.copytree(_built[0], tmp_path / "out" / "small" / _built[0].name))
