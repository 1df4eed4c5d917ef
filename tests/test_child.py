"""Child processes and `python -m warpwright` in a folder whose modules hide those of the standard library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from warpwright import child

RAISES = "raise ImportError('imported from the current directory')\n"


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder in which nothing may be imported."""
    folder = tmp_path / "trap"
    (folder / "warpwright").mkdir(parents=True)
    for name in ("warpwright/__init__.py", "numpy.py", "json.py", "runpy.py", "argparse.py"):
        (folder / name).write_text(RAISES)
    return folder


@pytest.mark.parametrize("entry", [None, "", ".", "absolute"])
def test_a_child_imports_nothing_from_the_current_directory(trap: Path, entry: str | None) -> None:
    """Not by an entry of PYTHONPATH either: an empty one means the current directory."""
    command = child.child_command("json.tool", "--compact")
    place = [] if entry is None else [str(trap) if entry == "absolute" else entry]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*place, *(p for p in sys.path[:1] if p)])}
    done = subprocess.run(command, cwd=trap, input='{"a": [1]}', capture_output=True, text=True, env=env)
    assert (done.stdout, done.stderr) == ('{"a":[1]}\n', "")


@pytest.mark.parametrize("entry", ["", ".", "absolute"])
def test_the_current_directory_leaves_the_path(trap: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.chdir(trap)
    monkeypatch.setattr(sys, "path", [str(trap) if entry == "absolute" else entry, *sys.path])
    assert str(trap) not in child.import_path()
    assert all(os.path.isabs(p) for p in child.import_path())


def test_the_package_stays_importable_from_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for `python -m warpwright` in the folder that holds the package."""
    root = str(Path(child.__file__).parents[1])
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", ["", *(p for p in sys.path if os.path.realpath(p) != root)])
    assert child.import_path()[0] == root


def test_the_package_is_importable_wherever_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable installation may leave it to a finder that no child has."""
    root = str(Path(child.__file__).parents[1])
    monkeypatch.setattr(sys, "path", [p for p in sys.path if os.path.realpath(p) != root])
    assert child.import_path()[-1] == root


def test_the_command_as_a_module_imports_nothing_from_the_current_directory(trap: Path) -> None:
    (trap / "warpwright" / "__init__.py").unlink()
    (trap / "warpwright").rmdir()
    for name in ("runpy.py", "argparse.py"):  # `python -m` itself may look for these
        (trap / name).unlink()
    path = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-m", "warpwright", "--version"],
        cwd=trap,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "warpwright" in done.stdout
