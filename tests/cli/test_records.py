"""list and show: finding a variant by what a person remembers of its name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from warpwright.build.cache import Cache
from warpwright.record import folders_in

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
    for what in (folder.label, name[:-4], folder.identity[:5], f"small/{name}", f"{out}/small/{name}", "128x64x64"):
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


def test_show_says_where_no_gpu_has_run_it(cli: Cli, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "no GPU has run this variant for sm_90a; one of compute capability 9.0 can"
    name = folders_in(out / "small")[0].path.name
    assert cli("show", name, "-o", out).stdout.splitlines()[-1] == told
    monkeypatch.setattr("warpwright.record.reading.ON_DEVICE", ("built",))
    assert "no GPU" not in cli("show", name, "-o", out).stdout


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


def test_list_and_show_mark_an_edited_kernel(cli: Cli, out: Path) -> None:
    assert "note" not in cli("list", "-o", out).stdout
    folder = folders_in(out / "small")[0]
    folder.source_path.write_text((folder.source() or "") + "# by hand\n")
    listed = {row["variant"]: row["note"] for row in json.loads(cli("list", "-o", out, "--json").stdout)}
    assert listed.pop(folder.path.name) == "edited, stale"
    assert set(listed.values()) == {""}
    assert "edited, stale" in cli("list", "-o", out).stdout
    assert "edited: kernel.py is not what was rendered" in cli("show", folder.path.name, "-o", out).stdout


def test_show_lists_arguments_and_a_line_of_figures(cli: Cli, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    lines = cli("show", folder.path.name, "-o", out).stdout.splitlines()
    start = lines.index("Arguments, in the order of a call")
    plan = folder.read("plan.json")
    assert plan is not None
    names = [line.split()[0] for line in lines[start + 2 : start + 2 + len(plan["arguments"])]]
    assert names == [argument["name"] for argument in plan["arguments"]]
    figures = (folder.read("emulated.json") or {})["figures"]
    told = lines[lines.index("emulated: correct (recorded here)") + 1]
    assert f"{len(figures['problems'])} problems, {figures['runs']} runs over {figures['seeds']} schedule seeds" in told
    assert f"error at most {figures['ratio']} of its bound" in told


@pytest.fixture
def obsolete(cli: Cli, config: Path, out: Path) -> Path:
    """A folder with the label of a variant that there is, and another identity: its configuration has changed."""
    folder = folders_in(out / "small")[0]
    past = folder.path.with_name(f"{folder.label}-00000000")
    shutil.copytree(folder.path, past)
    assert cli("generate", config, "-o", out).exit_code == 0
    return past


def test_an_obsolete_folder_does_not_make_a_label_ambiguous(cli: Cli, out: Path, obsolete: Path) -> None:
    label, _, _ = obsolete.name.rpartition("-")
    shown = json.loads(cli("show", label, "-o", out, "--json").stdout)
    assert shown["variant"] != obsolete.name
    assert shown["note"] == ""
    assert json.loads(cli("show", obsolete.name, "-o", out, "--json").stdout)["note"] == "obsolete"
    listed = {row["variant"]: row["note"] for row in json.loads(cli("list", "-o", out, "--json").stdout)}
    assert [name for name, note in listed.items() if note] == [obsolete.name]


def test_folders_are_obsolete_too_where_no_point_is_legal_any_more(cli: Cli, config: Path, out: Path) -> None:
    config.write_text(config.read_text().replace("  - design.tile.n: [64, 128]\n", ""))
    assert cli("generate", config, "-o", out).exit_code == 1
    assert {row["note"] for row in json.loads(cli("list", "-o", out, "--json").stdout)} == {"obsolete"}


def test_clean_lists_and_then_deletes_what_is_obsolete(cli: Cli, config: Path, out: Path, obsolete: Path) -> None:
    edited = obsolete.with_name(f"{obsolete.name[:-8]}11111111")
    shutil.copytree(obsolete, edited)
    (edited / "kernel.edited.py").touch()
    current = {folder.path for folder in folders_in(out / "small")} - {obsolete, edited}
    ledger = out / "ledger" / "small.jsonl"
    cli("ledger", config, "-o", out)
    before = ledger.read_text()
    assert cli("clean", config, "-o", out).stdout.split() == [str(obsolete), str(edited)]
    assert obsolete.is_dir()
    result = cli("clean", config, "-o", out, "--yes")
    assert result.exit_code == 0
    assert {folder.path for folder in folders_in(out / "small")} == {*current, edited}
    assert str(edited) in result.stderr.replace("\n", "")
    assert ledger.read_text() == before


def test_clean_empties_the_cache_and_says_what_it_freed(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPWRIGHT_CACHE", str(tmp_path / "cache"))
    Cache().put("ab" * 32, {"kernel.ptx": b"x" * 5000}, {})
    held = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert held > 5000
    assert f"cache: 1 compiled kernel deleted, {held:,} B freed" in cli("clean", "--cache").stderr
    assert Cache().get("ab" * 32) is None
    assert "cache: 0 compiled kernels deleted, 0 B freed" in cli("clean", "--cache").stderr
    without = cli("clean")
    assert without.exit_code == 2
    assert "of which configuration?" in without.stderr
