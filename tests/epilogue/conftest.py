"""A folder of operations of one's own, for one test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpwright.epilogue.registry import OPS_VARIABLE

GOOD = """\
from warpwright.epilogue.op import EpilogueOp, EpilogueOperand

OP = EpilogueOp(
    name="shift",
    summary="x + shift",
    operands=(EpilogueOperand("shift", "scalar"),),
    code="x = x + shift",
    reference=lambda xp, x, o: x + o["shift"],
    error=lambda xp, x, e, o: e,
)
"""


@pytest.fixture
def write_op(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write an operation's file into a folder that WARPWRIGHT_OPS names."""
    folder = tmp_path / "ops"
    folder.mkdir()
    monkeypatch.setenv(OPS_VARIABLE, str(folder))

    def write(text: str = GOOD, name: str = "shift") -> Path:
        path = folder / f"{name}.py"
        path.write_text(text)
        return path

    return write
