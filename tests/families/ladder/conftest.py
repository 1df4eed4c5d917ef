"""The small rungs of one role."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.families.ladder.small import FORMS


@pytest.fixture(params=FORMS)
def built(request: pytest.FixtureRequest, small_kernels: Callable[[str], Mapping[str, Path]], tmp_path: Path) -> Path:
    """The folder of a built rung, to be spoilt."""
    source = small_kernels("ladder")[request.param]
    return Path(shutil.copytree(source, tmp_path / "out" / "small" / source.name))
