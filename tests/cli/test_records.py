"""list and show: finding a variant by what a person remembers of its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from generator.record import folders_in

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def test_list_reads_the_folders(cli: Cli, out: Path) -> None:
    listed = json.loads(cli("list", "-o", out, "--json").stdout)
    assert [row["variant"] for row in listed] == [folder.path.name for folder in folders_in(out / "small")]
    assert {(row["evidence"], row["status"]) for row in listed} == {("emulated", "correct")}
    assert cli("list", "small", "-o", out).stdout == cli("list", "-o", out).stdout


def test_list_shows_a_changed_source_as_stale(cli: Cli, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    folder.write_source((folder.source() or "") + "# changed\n")
    row = next(r for r in json.loads(cli("list", "-o", out, "--json").stdout) if r["variant"] == folder.path.name)
    assert (row["evidence"], row["status"]) == ("planned", "")
    assert [stale["method"] for stale in row["stale"]] == ["built", "emulated"]


@pytest.mark.parametrize("arguments", [("list",), ("list", "other"), ("show", "anything")])
def test_nothing_recorded_says_what_makes_some(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = cli(*arguments, "-o", tmp_path)
    assert result.exit_code == 2
    assert "warpwright run" in result.stderr


def test_show_finds_a_variant_by_every_kind_of_name(cli: Cli, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    name = folder.path.name
    expected = cli("show", name, "-o", out, "--json").stdout
    for what in (folder.label, name[:-4], folder.identity[:5], f"small/{name}", f"{out}/small/{name}", "128x128x64"):
        assert cli("show", what, "-o", out, "--json").stdout == expected, what


def test_show_tells_everything(cli: Cli, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    build = folder.read("build.json")
    assert build is not None
    text = cli("show", folder.path.name, "-o", out).stdout
    for part in ("design.tile.n", "correct", "built", build["source_sha"][:12], build["cubin_sha"][:12], "wgmma"):
        assert part in text
    files = json.loads(cli("show", folder.path.name, "-o", out, "--json").stdout)["files"]
    assert files["build"] == build
    assert {"point", "plan"} <= set(files)


def test_show_lists_several_that_fit(cli: Cli, out: Path) -> None:
    result = cli("show", "f16", "-o", out)
    assert result.exit_code == 2
    for folder in folders_in(out / "small"):
        assert f"small/{folder.path.name}" in result.stderr


def test_show_names_the_nearest_when_none_fits(cli: Cli, out: Path) -> None:
    result = cli("show", "f16-kkn-128x63x64-c1x1-s2-coop2", "-o", out)
    assert result.exit_code == 2
    assert "f16-kkn-128x64x64-c1x1-s2-coop2" in result.stderr


def test_a_damaged_record_is_merely_unknown(cli: Cli, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    for name in ("build.json", "plan.json"):
        (folder.path / name).write_text('{"status": "corr')
        result = cli("show", f"small/{folder.path.name}", "-o", out)
        assert result.exit_code == 0
        assert "built: " not in result.stdout
