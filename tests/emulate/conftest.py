"""Plans of shipped variants, and two small kernels."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from warpwright import pipeline, resources
from warpwright.plan import plan as plan_point
from warpwright.plan.types import Plan


@pytest.fixture(scope="session")
def shipped() -> list[Plan]:
    """The legal plans of gemm_sm90."""
    spec, _ = pipeline.load(str(resources.configs() / "gemm_sm90.yaml"))
    plans = [plan_point(point) for point in spec.points()]
    return [plan for plan in plans if plan.legal]


@pytest.fixture(scope="session")
def _built(small_kernels: Callable[[str], Mapping[str, Path]]) -> list[Path]:
    return list(small_kernels("gemm").values())


@pytest.fixture
def cooperative(_built: list[Path], tmp_path: Path) -> Path:
    """The folder of a built kernel, to be spoilt."""
    return Path(shutil.copytree(_built[0], tmp_path / "out" / "small" / _built[0].name))


@pytest.fixture
def with_c(_built: list[Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(_built[1], tmp_path / "out" / "small" / _built[1].name))
