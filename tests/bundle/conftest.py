"""Variants to be packed, and a stand-in for what takes long to pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle.kit import BAD, FUSED, GOOD
from tests.bundle.lines import counted_plan
from tests.device.plans import make_folder, make_plan
from warpwright.bundle import pack


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "out" / "demo"
    make_folder(folder, counted_plan(), GOOD)
    make_folder(folder, counted_plan(), BAD, fault="drop")
    make_folder(folder, make_plan(epilogue=("alpha", "relu")), name=FUSED)
    return folder


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packs a stand-in for the DSL's runtime, which takes seconds to compress."""
    import lzma

    monkeypatch.setattr(pack, "compressed_runtime", lambda: lzma.compress(b"runtime"))
