"""`.ci/run` is green where tests and evidence were checked, and not where something else was run in their place."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from warpwright import resources


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout whose tests make an environment with a command that finds the evidence valid."""
    origin = resources.checkout()
    assert origin is not None
    shutil.copytree(origin / ".ci", tmp_path / ".ci")
    making = "mkdir -p .venv/bin; printf '%s\\n' '#!/bin/sh' 'exit $${FOUND:-0}' > .venv/bin/warpwright"
    (tmp_path / "Makefile").write_text(f"test:\n\t{making}; chmod +x .venv/bin/warpwright\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def run(top: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(top / ".ci" / "run")]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)


def test_green_and_red(top: Path) -> None:
    assert run(top).returncode == 0
    assert run(top, FOUND="1").returncode == 1


@pytest.mark.parametrize("name", ["GNUmakefile", "makefile"])
def test_another_makefile_is_not_taken_for_the_reviewed_one(top: Path, name: str) -> None:
    (top / name).write_text("test:\n\ttouch PASSED\n")
    assert run(top, FOUND="1").returncode == 1
    assert not (top / "PASSED").exists()


def test_red_where_the_evidence_was_not_checked(top: Path) -> None:
    (top / "Makefile").write_text("test:\n\ttrue\n")
    done = run(top)
    assert done.returncode == 1
    assert "no evidence was checked" in done.stderr
    assert run(top, MAKEFLAGS="-n").returncode == 1


def test_make_is_not_told_to_do_nothing(top: Path) -> None:
    (top / "Makefile").write_text((top / "Makefile").read_text() + "\tfalse\n")
    assert run(top, MAKEFLAGS="-n").returncode == 1
    assert run(top, MAKEFLAGS="-i").returncode == 1


@pytest.mark.parametrize(
    "name", ["generator/a/__pycache__/b.cpython-311.pyc", "a/b.so", ".venv/bin/warpwright", "pytest.ini"]
)
def test_what_would_be_run_in_the_place_of_what_is_read_is_named(top: Path, name: str) -> None:
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    (top / name).touch(mode=0o755)
    assert run(top).returncode == 0  # one's own
    subprocess.run(["git", "add", "-f", name], cwd=top, check=True)
    done = run(top)
    assert done.returncode == 1
    assert name in done.stderr
    assert "came with the checkout" in done.stderr
