"""The small SGEMMs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.families.sgemm.small import FORMS


@pytest.fixture(params=FORMS)
def built(request: pytest.FixtureRequest, small_kernels: Callable[[str], Mapping[str, Path]], tmp_path: Path) -> Path:
    """The folder of a built SGEMM, to be spoilt."""
    source = small_kernels("sgemm")[request.param]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))


@pytest.fixture
def specialised(small_kernels: Callable[[str], Mapping[str, Path]], tmp_path: Path) -> Path:
    """That with a producer, of M- and N-major operands."""
    source = small_kernels("sgemm")["specialised"]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))
