"""What came with a checkout is no result of this machine, however it is made to look as if it had not come with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from warpwright import resources
from warpwright.errors import UserError
from warpwright.pipeline.checked_in import refuse_committed, refuse_compiled


def git(top: Path, *arguments: str) -> None:
    identity = ("-c", "user.email=a@example.org", "-c", "user.name=a", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *arguments], cwd=top, check=True, capture_output=True)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout in which nothing of out/ is tracked, and one variant is."""
    top = tmp_path / "checkout"
    (top / "out" / "small" / "variant").mkdir(parents=True)
    (top / "out" / "small" / "variant" / "build.json").touch()
    git(tmp_path, "init", "-q", "checkout")
    refuse_committed(top / "out")
    return top


def plainly(top: Path) -> None:
    git(top, "add", "-f", "out")


def like_a_repository(top: Path) -> None:
    """A folder in which git takes itself to be in a repository without files."""
    for name in ("HEAD", "objects/kept", "refs/kept"):
        path = top / "out" / "small" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("ref: refs/heads/main\n")
    (top / "out" / "small" / "config").write_text("[core]\nfsmonitor = touch RAN\n")
    git(top, "add", "-f", "out")


def behind_a_link(top: Path) -> None:
    (top / "out").rename(top / "docs")
    (top / "out").symlink_to("docs")
    git(top, "add", "-f", "docs")


def a_link_to_elsewhere(top: Path) -> None:
    (top / "out" / "small").rename(top.parent / "elsewhere")
    (top / "out" / "small").symlink_to(top.parent / "elsewhere")
    git(top, "add", "-f", "out")


def a_link_above(top: Path) -> None:
    (top / "out").rename(top.parent / "elsewhere")
    (top / "out").symlink_to(top.parent / "elsewhere")
    git(top, "add", "-f", "out")


def in_a_submodule(top: Path) -> None:
    other = top.parent / "other"
    (top / "out" / "small").rename(other)
    git(other, "init", "-q")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "results")
    git(top, "submodule", "add", "-f", str(other), "out/small")


WAYS = [plainly, like_a_repository, behind_a_link, a_link_to_elsewhere, a_link_above, in_a_submodule]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_results_that_were_committed_are_refused(top: Path, way: Callable[[Path], None]) -> None:
    way(top)
    with pytest.raises(UserError, match=r"out/small: .* came with the checkout"):
        refuse_committed(top / "out")
    assert not list(top.parent.rglob("RAN"))


def test_where_git_cannot_say_nothing_is_believed(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        with pytest.raises(UserError, match=r"whether it came with the checkout cannot be told: git does not run"):
            refuse_committed(top / "out")
    (top / ".git" / "HEAD").write_text("nothing\n")
    with pytest.raises(UserError, match="cannot be told: fatal: not a git repository"):
        refuse_committed(top / "out")


def test_another_repository_that_the_environment_names_is_not_asked(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plainly(top)
    git(top.parent, "init", "-q", "empty")
    monkeypatch.setenv("GIT_DIR", str(top.parent / "empty" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(top.parent / "none"))
    with pytest.raises(UserError, match="came with the checkout"):
        refuse_committed(top / "out")


@pytest.mark.parametrize(
    "name", ["generator/x/__pycache__/y.cpython-311.pyc", "generator/x/y.abi3.so", "x.pyc", "lib/evil.PTH"]
)
def test_what_python_runs_in_the_place_of_a_source_is_refused(
    top: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(resources, "checkout", lambda: top)
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    (top / name).touch()
    refuse_compiled()  # one's own
    git(top, "add", "-f", name)
    with pytest.raises(UserError, match="Python runs it in the place of a source, and it came with the checkout"):
        refuse_compiled()


def test_an_environment_or_a_cache_that_was_committed_is_refused(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "checkout", lambda: top)
    for name in ("environment", "cache"):
        (top / name).mkdir()
    monkeypatch.setenv("WARPWRIGHT_CACHE", str(top / "cache"))
    monkeypatch.setattr(sys, "prefix", str(top / "environment"))
    refuse_compiled()
    for name in ("cache", "environment"):
        (top / name / "kept").touch()
        git(top, "add", "-f", name)
        with pytest.raises(UserError, match=rf"{name}: {name}/kept of the .* came with the checkout"):
            refuse_compiled()
