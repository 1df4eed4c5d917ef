"""What a configuration's file still asks for, and which folders nobody does."""

from __future__ import annotations

import shutil
from pathlib import Path

from warpwright.record import note_current, obsolete_in


def test_nothing_is_obsolete_on_a_guess(tmp_path: Path) -> None:
    (tmp_path / "a-0123456789ab").mkdir()
    assert obsolete_in(tmp_path) == set()
    (tmp_path / "current.json").write_text('{"configs": [')
    assert obsolete_in(tmp_path) == set()
    assert obsolete_in(tmp_path / "absent") == set()


def test_two_files_with_one_name_keep_each_others_variants(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("a-0123456789ab", "b-0123456789ab", "c-0123456789ab"):
        (out / name).mkdir(parents=True)
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.touch()
    two.touch()
    assert note_current(out, one, ["a-0123456789ab"]) == []
    assert obsolete_in(out) == {"b-0123456789ab", "c-0123456789ab"}
    assert note_current(out, two, ["b-0123456789ab"]) == [str(one)]
    assert obsolete_in(out) == {"c-0123456789ab"}
    shutil.copytree(tmp_path, tmp_path.with_name("copy"))  # one whose files have other paths
    copied = tmp_path.with_name("copy")
    assert note_current(copied / "out", copied / "one.yaml", ["a-0123456789ab"]) == [str(copied / "two.yaml")]
    one.unlink()
    assert note_current(out, two, ["b-0123456789ab"]) == []
    assert obsolete_in(out) == {"a-0123456789ab", "c-0123456789ab"}
