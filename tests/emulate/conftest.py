"""Plans of shipped variants, and two small kernels that are built once for all tests of a worker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.emulate.planting import Planter, planter
from warpwright import pipeline, resources
from warpwright.plan import plan as plan_point
from warpwright.plan.types import Plan

#: A kernel in a cluster of two, and one whose epilogue reads C.
SMALL = """\
version: 1
name: small
purpose: Kernels for tests of the emulator.
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 64, n: 32, k: 64}
  consumer_warps: 4
  stages: 3
sweep:
  - design.cluster: [{m: 2, n: 1}]
  - kernel.epilogue: [[alpha, beta_c]]
    kernel.c: [{dtype: f16, major: n}]
    design.cluster: [{m: 1, n: 1}]
"""


@pytest.fixture(scope="session")
def shipped() -> list[Plan]:
    """The legal plans of gemm_sm90."""
    spec, _ = pipeline.load(str(resources.configs() / "gemm_sm90.yaml"))
    plans = [plan_point(point) for point in spec.points()]
    return [plan for plan in plans if plan.legal]


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planter]:
    """Plants bugs in rendered kernels; one compile service for the tests of a file."""
    with planter(tmp_path_factory.mktemp("planted")) as found:
        yield found


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("emulated")
    (top / "small.yaml").write_text(SMALL)
    exploration = pipeline.plan(str(top / "small.yaml"), top / "out")
    pipeline.advance(exploration, ("render", "build"))
    return [variant.folder.path for variant in exploration.legal]


@pytest.fixture
def cooperative(_built: list[Path], tmp_path: Path) -> Path:
    """The folder of a built kernel, to be spoilt."""
    return Path(shutil.copytree(_built[0], tmp_path / "out" / "small" / _built[0].name))


@pytest.fixture
def with_c(_built: list[Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(_built[1], tmp_path / "out" / "small" / _built[1].name))
