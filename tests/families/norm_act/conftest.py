"""The small kernels of each design."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.families.norm_act.points import SMALL


@pytest.fixture
def all_built(small_kernels: Callable[[str], Mapping[str, Path]]) -> Mapping[str, Path]:
    return small_kernels("norm_act")


@pytest.fixture(params=SMALL)
def built(request: pytest.FixtureRequest, all_built: Mapping[str, Path], tmp_path: Path) -> Path:
    """The folder of a built kernel, to be spoilt."""
    return Path(shutil.copytree(all_built[request.param], tmp_path / request.param))
