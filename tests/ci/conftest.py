"""A small checkout of its own: package, templates and one shipped configuration, with a ledger that holds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.once import Once
from warpwright import resources

CONFIG = """\
version: 1
name: shipped
purpose: One variant that ships, and one point that is illegal.
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 64, k: 64}
sweep:
  design.stages: [2, 60]
"""


@dataclass(frozen=True)
class Checkout:
    """A copy of the project that may be changed."""

    top: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the copy's own command in it."""
        return subprocess.run(
            [sys.executable, "-m", "warpwright", *arguments],
            cwd=self.top,
            env={**os.environ, "PYTHONPATH": str(self.top / "generator")},
            capture_output=True,
            text=True,
            timeout=120,
        )

    @property
    def ledger(self) -> Path:
        return self.top / "out" / "ledger" / "shipped.jsonl"

    @property
    def template(self) -> Path:
        return self.top / "templates" / "gemm" / "sm_90a" / "kernel.py.j2"


def _copy(source: Path, target: Path) -> Checkout:
    """Copy with what is compiled of it, which holds as long as a module's time and size do: a copy starts at once."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("_data"))
    return Checkout(target)


@pytest.fixture(scope="session")
def green(once: Once) -> Checkout:
    """A checkout whose evidence has just been renewed. Do not change it: take `checkout`."""
    return Checkout(once("project", _renewed)["top"])


def _renewed(top: Path) -> dict[str, Path]:
    origin = resources.checkout()
    assert origin is not None
    for name in ("generator", "templates"):
        _copy(origin / name, top / name)
    shutil.copy(origin / "pyproject.toml", top)
    (top / "configs").mkdir()
    (top / "configs" / "shipped.yaml").write_text(CONFIG)
    checkout = Checkout(top)
    for command in ("run", "ledger"):
        done = checkout.run(command, "configs/shipped.yaml")
        assert done.returncode == 0, done.stderr
    return {"top": top}


@pytest.fixture
def checkout(green: Checkout, tmp_path: Path) -> Checkout:
    """A copy of the green checkout, to be spoilt."""
    return _copy(green.top, tmp_path / "project")
