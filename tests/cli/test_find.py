"""Names mean the same to every command: configurations, CONFIG:INDEX, labels, identities, folders, kernel.py."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from warpwright import pipeline, resources
from warpwright.cli.find import _point, explore, find_folder, find_folders, find_plan, find_variants
from warpwright.errors import UserError
from warpwright.record import folders_in

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

SECOND = "f16-kkn-128x128x64-c1x1-s2-coop2"


@pytest.fixture
def here(config: Path, out: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: small.yaml and its variants in out/, which know the file that they are of."""
    monkeypatch.chdir(config.parent)
    assert cli("generate", config).exit_code == 0
    return config.parent


def spellings(folder: Path) -> list[str]:
    name = folder.name
    identity = name.rpartition("-")[2]
    names = [SECOND, name, identity, "128x128x64"]
    return [
        *("small.yaml:1", "./small.yaml:01", "small:1"),
        *(f"small.yaml:{each}" for each in names),
        *(f"small:{each}" for each in names),
        *names,
        *(f"small/{each}" for each in names),
        *(f"out/small/{name}", f"out/small/{name}/", f"out/small/{name}/kernel.py", str(folder.absolute())),
    ]


def test_every_spelling_means_the_one_variant_to_every_reader(here: Path) -> None:
    out = Path("out")
    folder = folders_in(out / "small")[1].path
    plan = pipeline.plan("small.yaml", out).variants[1].plan
    for text in spellings(folder):
        assert [variant.name for variant in explore(text, out).variants] == [folder.name], text
        assert [each.path.name for each in find_folders(text, out)] == [folder.name], text
        assert [each.path.name for each in find_variants(text, out)] == [folder.name], text
        assert find_folder(text, out).path.absolute() == folder.absolute(), text
        assert find_plan(text, out)[0] == plan, text


@pytest.mark.parametrize("text", ["small.yaml", "./small.yaml", "small", "out/small"])
def test_a_configuration_by_file_by_name_and_by_folder(here: Path, text: str) -> None:
    out = Path("out")
    assert len(explore(text, out).variants) == 3
    assert len(explore(text, out, whole=True).variants) == 3
    assert len(find_variants(text, out)) == len(find_folders(text, out)) == 2


def test_every_command_takes_an_index(cli: Cli, here: Path) -> None:
    name = folders_in(Path("out/small"))[1].path.name
    for command in ("run", "build", "emulate", "generate", "plan", "explain", "advise", "show", "list"):
        result = cli(command, "small:1")
        assert result.exit_code == 0, (command, result.stderr)
        assert "128x128x64" in result.stdout, command
        assert "128x64x64" not in result.stdout, command
    assert name in cli("list", "small:1").stdout
    for command in ("validate", "bench"):
        assert "needs an NVIDIA GPU" in cli(command, "small:1").stderr


@pytest.mark.parametrize("command", ["ledger", "clean", "ci"])
def test_what_is_for_a_whole_configuration_says_so(cli: Cli, here: Path, command: str) -> None:
    for text in ("small.yaml:1", SECOND):
        result = cli(command, text)
        assert result.exit_code == 2
        assert "give small.yaml" in result.stderr


def test_the_index_is_that_of_plan_whatever_only_leaves_out(cli: Cli, here: Path) -> None:
    (row,) = json.loads(cli("plan", "small", "--only", SECOND, "--json").stdout)["points"]
    assert row["index"] == 1
    assert cli("plan", "small", "--only", SECOND).stdout.splitlines()[1].split()[:2] == [SECOND, "1"]
    assert explore("small:1", Path("out"), only=["*128x128*"]).variants[0].index == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("small:9", "no point '9'"),
        ("small:f16", "3 points that fit 'f16'"),
        ("small:", "after it the index"),
        (":1", "after it the index"),
        ("", "no name"),
        ("nothing-like-it", "no configuration and no variant of that name"),
        ("nothing.yaml", "nothing.yaml: no such file"),
        ("nothing:0", "nothing: no such file"),
        ("f16", "2 variants fit"),
    ],
)
def test_what_means_nothing_or_too_much_is_refused(cli: Cli, here: Path, text: str, says: str) -> None:
    for command in ("run", "plan", "explain", "advise", "emulate", "show"):
        result = cli(command, text)
        assert result.exit_code == 2
        assert says in result.stderr, (command, result.stderr)


def test_a_number_is_an_index_or_from_six_digits_on_the_head_of_an_identity() -> None:
    plan = SimpleNamespace(label="f16")
    variants = [SimpleNamespace(index=i, name=f"f16-{each}", identity=each, plan=plan) for i, each in enumerate(
        ("98765432abcd", "123456789abc")
    )]  # fmt: skip
    exploration: Any = SimpleNamespace(typed="small", variants=variants)
    for which, index in (("0", 0), ("001", 1), ("123456", 1), ("9876543", 0)):
        assert _point(exploration, which) is variants[index], which
    for which in ("2", "12345", "123457"):
        with pytest.raises(UserError, match=f"^small has no point '{which}'; name one by its index or label"):
            _point(exploration, which)


def test_a_shipped_name_wins_unless_a_path_is_typed(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(config.parent)
    shipped = resources.configs() / "quickstart.yaml"
    Path("quickstart").mkdir()
    assert resources.resolve_config("quickstart") == shipped
    assert resources.resolve_config("quickstart.yaml") == shipped
    shutil.copy(config, "quickstart.yaml")
    assert resources.resolve_config("quickstart") == shipped
    for text in ("quickstart.yaml", "./quickstart.yaml"):
        assert resources.resolve_config(text) == Path("quickstart.yaml")
    Path("quickstart").rmdir()
    shutil.copy(config, "quickstart")
    assert resources.resolve_config("quickstart") == shipped
    assert len(explore("./quickstart", Path("out")).variants) == 3


def test_a_variant_whose_configuration_is_gone_can_still_be_read(cli: Cli, here: Path) -> None:
    (here / "small.yaml").unlink()
    assert cli("show", SECOND).exit_code == cli("explain", SECOND).exit_code == cli("emulate", SECOND).exit_code == 0
    assert cli("show", f"small:{SECOND}").exit_code == cli("explain", f"small:{SECOND}").exit_code == 0
    assert len(find_folders("small", Path("out"))) == len(find_variants("small", Path("out"))) == 2
    refused = cli("run", SECOND)
    assert refused.exit_code == 2
    assert "no configuration file has this variant now" in refused.stderr
    assert "no configuration file is known" in cli("run", "small").stderr


def test_a_name_that_two_files_have_is_refused(cli: Cli, here: Path) -> None:
    shutil.copy("small.yaml", "other.yaml")
    cli("generate", "other.yaml")
    with pytest.raises(UserError, match=r"2 configurations have this name; give one: other\.yaml, small\.yaml"):
        explore("small", Path("out"))
    assert len(find_folders("small", Path("out"))) == 2


@pytest.mark.parametrize(
    ("only", "kept"),
    [
        (["128x128"], 1),
        (["128x128x64", "128x64x64-c1x1-s2"], 2),
        (["*128x128*"], 1),
        (["*128x128"], 0),  # a glob fits the whole name
        ([SECOND], 1),
        (["f16-kkn-128x128x64-c1x1-s?-coop2"], 1),
        (["f16-*-s2-*"], 2),
        (["[f]16*"], 3),
        (["128X128"], 0),
        ([""], 0),
    ],
)
def test_only_is_part_of_a_name_or_a_glob_of_all_of_it(here: Path, only: list[str], kept: int) -> None:
    if kept:
        assert len(explore("small", Path("out"), only).variants) == kept
    else:
        with pytest.raises(UserError):
            explore("small", Path("out"), only)


def test_a_bundle_is_told_where_to_go(cli: Cli, here: Path) -> None:
    result = cli("bundle", "small", "-o", "bundle")
    assert result.exit_code == 2
    assert "--to DIR" in result.stderr
    assert not Path("bundle").exists()
