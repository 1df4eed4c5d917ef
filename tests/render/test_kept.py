"""Compiled templates are kept by content: damage and a full disk cost time, and change no byte of a kernel."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from warpwright.render.kept import KeptTemplates

TEXT = "{% for n in range(3) %}{{ n + offset }},{% endfor %} a constant of the template"
RENDERED = "7,8,9, a constant of the template"


def rendered(folder: Path, text: str = TEXT) -> str:
    environment = Environment(loader=DictLoader({"t": text}), bytecode_cache=KeptTemplates(folder))
    return environment.get_template("t").render(offset=7)


def test_it_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered(tmp_path / "kept") == RENDERED
    (kept,) = (tmp_path / "kept").iterdir()
    monkeypatch.setattr(Environment, "compile", None)
    assert rendered(tmp_path / "kept") == RENDERED
    monkeypatch.undo()
    assert rendered(tmp_path / "kept", "other") == "other"
    assert list((tmp_path / "kept").iterdir()) == [kept]


def test_no_damage_changes_what_is_rendered(tmp_path: Path) -> None:
    rendered(tmp_path)
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    constant = whole.index(b"constant")
    for damaged in (b"", whole[:20], whole[:-1], whole[:constant] + b"C" + whole[constant + 1 :], b"x" + whole[1:]):
        kept.write_bytes(damaged)
        assert rendered(tmp_path) == RENDERED
        assert kept.read_bytes() == whole  # compiled again, and kept again


def test_a_full_disk_costs_time_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert rendered(tmp_path) == RENDERED
    assert list(tmp_path.iterdir()) == []
    assert rendered(Path("/dev/null/kept")) == RENDERED
