"""The small copies."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.families.copy.small import FORMS


@pytest.fixture(params=FORMS)
def built(request: pytest.FixtureRequest, small_kernels: Callable[[str], Mapping[str, Path]], tmp_path: Path) -> Path:
    """The folder of a built copy, to be spoilt."""
    source = small_kernels("copy")[request.param]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))


@pytest.fixture
def through_shared(small_kernels: Callable[[str], Mapping[str, Path]], tmp_path: Path) -> Path:
    """That which stores by TMA."""
    source = small_kernels("copy")["tma"]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))
