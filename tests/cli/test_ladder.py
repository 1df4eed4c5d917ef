"""The command `ladder`: the table, the page, and what is no ladder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def test_the_shipped_ladder_is_told_step_by_step(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = cli("ladder", "--page", page, "-o", tmp_path / "out")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.split()[0].isdigit()] == list("123456789")
    text = page.read_text()
    assert text.count("<svg") == 9
    assert text.count("lines differ from step") == 8
    assert cli("ladder", "--page", page, "-o", tmp_path / "out").exit_code == 0  # its own kind is replaced


def test_the_same_as_data(cli: Cli, tmp_path: Path) -> None:
    rows = json.loads(cli("ladder", "ladder_sm90", "--json", "-o", tmp_path).stdout)
    assert [row["number"] for row in rows] == list(range(1, 10))
    assert rows[0]["over_first"] == rows[0]["over_before"] == 1
    assert rows[8]["over_first"] > 100


def test_what_is_no_ladder_is_named(cli: Cli, config: Path, tmp_path: Path) -> None:
    done = cli("ladder", config, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert "no steps of a sequence" in done.stderr


def test_no_other_file_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "notes.txt"
    mine.write_text("mine")
    done = cli("ladder", "--page", mine, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert mine.read_text() == "mine"
