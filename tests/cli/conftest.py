"""The command run in this process, and one small configuration that is built once for all tests of a worker."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.once import Once
from warpwright import resources
from warpwright.cli import app

Cli = Callable[..., Any]

#: Two legal variants and one that no rule of shared memory lets pass.
SMALL = """\
version: 1
name: small
purpose: Two small tiles, and a ring that does not fit.
kernel:
  family: gemm
  arch: sm_90a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 64, k: 64}
  stages: 2
sweep:
  - design.tile.n: [64, 128]
  - design.stages: [60]
bench:
  problems: [{m: 512, n: 512, k: 512}]
"""


def invoke(*arguments: object) -> Any:
    """Run the command; the result has exit_code, stdout and stderr. Anything but a clean exit is raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def shipped_ledger() -> None:
    """Of tests about what is committed: commands read it."""


@pytest.fixture(autouse=True)
def no_other_ledgers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory,
                     monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """What ships has megabytes of evidence, which every command would read in every test."""
    if "shipped_ledger" not in request.fixturenames:
        monkeypatch.setattr(resources, "ledger", lambda: tmp_path_factory.getbasetemp() / "no-ledger")


@pytest.fixture
def cli() -> Cli:
    return invoke


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="session")
def built(once: Once) -> Path:
    """A folder with small.yaml and its variants in out/, built."""

    def make(top: Path) -> dict[str, Path]:
        (top / "small.yaml").write_text(SMALL)
        result = invoke("run", top / "small.yaml", "--out", top / "out", "--jobs", 1)
        assert result.exit_code == 0, result.stderr
        return {"top": top}

    return once("commands", make)["top"]


@pytest.fixture
def out(built: Path, config: Path) -> Path:
    """A copy of the built variants, to be spoilt, beside the configuration."""
    return Path(shutil.copytree(built / "out", config.parent / "out"))
