"""Small rungs of one role, built once for all tests of a worker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from warpwright import pipeline

SMALL = """\
version: 1
name: small
purpose: Kernels for tests of the ladder.
kernel: {family: ladder, arch: sm_90a}
design:
  tile: {m: 64, n: 32, k: 32}
sweep:
  - design.rung: [1, 2, 3]
  - design.rung: [4]
    design.stages: [3]
"""


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("rungs")
    (top / "small.yaml").write_text(SMALL)
    exploration = pipeline.plan(str(top / "small.yaml"), top / "out")
    pipeline.advance(exploration, ("render", "build"))
    assert [variant.status for variant in exploration.variants] == ["correct"] * 4
    return [variant.folder.path for variant in exploration.legal]


@pytest.fixture(params=[1, 2, 3, 4])
def built(request: pytest.FixtureRequest, _built: list[Path], tmp_path: Path) -> Path:
    """The folder of a built rung, to be spoilt."""
    source = _built[request.param - 1]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))
