"""What a kill leaves is found again by its name, and nothing else is."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from warpwright import resources, scratch
from warpwright.record import write_text

PACKAGE = Path(resources.__file__).parent

#: Makes a folder and a file as the package does, says so, and waits to be killed.
MAKES = """
import sys, time
from pathlib import Path
from warpwright import scratch
folder = scratch.folder("trial")
(Path(folder.name) / "deep").mkdir()
(Path(folder.name) / "deep" / "file").write_text("x")
half = scratch.beside(Path(sys.argv[1]) / "kernel.py")
half.write_text("half")
print(folder.name, half, sep="\\n", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    scratch._sweep_once.cache_clear()
    return tmp_path


def running(place: Path) -> tuple[subprocess.Popen[str], list[Path]]:
    process = subprocess.Popen(
        [sys.executable, "-c", MAKES, str(place)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(place), "PYTHONPATH": str(PACKAGE.parent)},
    )
    assert process.stdout
    return process, [Path(process.stdout.readline().rstrip()) for _ in range(2)]


def test_what_a_killed_process_left_goes_and_what_a_living_one_uses_stays(place: Path) -> None:
    (killed, gone), (living, used) = running(place), running(place)
    try:
        assert all(path.exists() for path in (*gone, *used))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        with scratch.folder("next") as mine:
            assert not any(path.exists() for path in gone)
            assert all(path.exists() for path in used)
            assert Path(mine).is_dir()
    finally:
        living.kill()
        living.communicate()
    write_text(place / "other.json", "{}")  # in a folder that this process has seen: once is enough
    assert all(path.exists() for path in used)
    scratch.sweep(place)
    assert [path.name for path in place.iterdir()] == ["other.json"]


def test_a_number_that_another_process_has_now_does_not_protect(place: Path) -> None:
    mine = scratch.beside(place / "x").name
    start = scratch._start(os.getpid())
    other = mine.replace(f"-{os.getpid()}-{start}-", f"-{os.getpid()}-{int(start) - 1}-")
    for name in (mine, other):
        (place / name).write_text("")
    scratch.sweep(place)
    assert [path.name for path in place.iterdir()] == [mine]


@pytest.mark.parametrize(("age", "stays"), [(0, True), (86_000, True), (90_000, False)])
def test_what_another_machine_left_goes_after_a_day(place: Path, age: int, stays: bool) -> None:
    path = place / re.sub(r"\.ww-[0-9a-f]{8}-", ".ww-00000000-", scratch.beside(place / "x").name)
    path.mkdir()
    (path / "file").write_text("")
    now = path.stat().st_mtime
    os.utime(path, (now - age, now - age))
    scratch.sweep(place)
    assert path.exists() == stays


@pytest.mark.parametrize(
    "name",
    [
        "kernel.py",
        ".kernel.py.1234",
        "x.ww-1-2-3-4",
        ".ww-0123abcd-1-1-0000000",
        "a.ww-0123abcd-1-1-00000000.py",
        "ww-0123abcd",
    ],
)
def test_what_only_looks_like_it_stays(place: Path, name: str) -> None:
    (place / name).write_text("mine")
    os.utime(place / name, (1, 1))
    scratch.sweep(place)
    assert (place / name).read_text() == "mine"


def test_a_place_that_cannot_be_read_is_passed_over(place: Path) -> None:
    scratch.sweep(place / "none")
    (place / "file").write_text("")
    scratch.sweep(place / "file")


def test_a_link_to_a_folder_goes_and_the_folder_stays(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    kept = tmp_path_factory.mktemp("kept")
    (kept / "file").write_text("")
    mine = scratch.beside(place / "x").name
    link = place / mine.replace(f"-{scratch._start(os.getpid())}-", "-1-")
    link.symlink_to(kept)
    scratch.sweep(place)
    assert not link.is_symlink()
    assert (kept / "file").exists()


def test_everything_temporary_is_made_here() -> None:
    """A folder or a file with a name of another kind would stay for ever after a kill; one without a name does not."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).as_posix()
        if where == "scratch.py" or where.startswith("_data/"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            name = getattr(called, "attr", getattr(called, "id", ""))
            if name in ("mkdtemp", "mkstemp", "mktemp", "TemporaryDirectory", "NamedTemporaryFile", "token_hex"):
                found.append((where, name))
    assert found == [("bundle/pack.py", "token_hex")]  # an old bundle, which no kill may lose
