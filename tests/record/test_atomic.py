"""Files appear whole or not at all, whoever else writes and whenever the writer dies."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import pytest

from warpwright.errors import naming
from warpwright.record import read_json, write_json, write_text


def test_failed_write_leaves_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "\udcff")
    assert read_json(path) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize("damage", ["", "{", '{"a": 1', "[1]", "\x00", "nul"])
def test_damaged_file_counts_as_absent(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "gpu.json"
    path.write_text(damage)
    assert read_json(path) is None


def test_not_utf8_counts_as_absent(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    path.write_bytes(b"\xff\xfe{}")
    assert read_json(path) is None


def test_files_are_as_readable_as_the_umask_allows(tmp_path: Path) -> None:
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    write_text(tmp_path / "written", "x")
    assert stat.S_IMODE((tmp_path / "written").stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught, naming(tmp_path / "plan.json"):
        Path("/dev/full").write_text("x")
    assert caught.value.filename == str(tmp_path / "plan.json")


def _write_many(path: Path, letter: str) -> None:
    for _ in range(200):
        write_json(path, {"letters": letter * 4000})


def test_concurrent_writers_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    write_json(path, {"letters": "a" * 4000})
    writers = [multiprocessing.get_context("fork").Process(target=_write_many, args=(path, x)) for x in "ab"]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        value = read_json(path)
        assert value is not None
        seen.add(value["letters"])
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen <= {"a" * 4000, "b" * 4000}
    assert [p.name for p in tmp_path.iterdir()] == ["manifest.json"]
