"""plan, explain, rules, new, schema: what needs neither compiler nor GPU."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from warpwright.plan import rules as all_rules
from warpwright.spec import load

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def test_plan_counts_what_each_rule_removed(cli: Cli, config: Path, tmp_path: Path) -> None:
    result = cli("plan", config, "-o", tmp_path / "out")
    data = json.loads(cli("plan", config, "--json").stdout)
    assert result.exit_code == 0
    assert [point["legal"] for point in data["points"]] == [True, True, False]
    ((rule, count),) = data["removed_by_rule"].items()
    assert count == 1
    assert f"1 illegal by {rule}, e.g. " in result.stderr
    assert data["points"][2]["violations"][0]["message"] in result.stderr.replace("\n", " ")
    assert "3 combinations, 3 points, 2 legal" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_starter_is_of_use_on_every_arch(cli: Cli, tmp_path: Path) -> None:
    """Its arch is the one word that has to be changed."""
    path = tmp_path / "my.yaml"
    assert cli("new", path).exit_code == 0
    for arch in ("sm_90a", "sm_100a", "sm_110a"):
        path.write_text(re.sub(r"arch: \w+", f"arch: {arch}", path.read_text()))
        legal = [point["legal"] for point in json.loads(cli("plan", path, "--json").stdout)["points"]]
        assert (sum(legal), len(legal)) == ((10, 10) if arch == "sm_90a" else (6, 10)), arch


def test_plan_counts_what_each_predicate_removed(cli: Cli, config: Path) -> None:
    config.write_text(config.read_text() + "where:\n  - tile.n < 128\n  - stages < 100\n")
    data = json.loads(cli("plan", config, "--json").stdout)
    assert data["removed_by_where"] == {"tile.n < 128": 1, "stages < 100": 0}
    assert len(data["points"]) == 2


def test_plan_says_nothing_of_what_removed_nothing(cli: Cli, config: Path) -> None:
    config.write_text(config.read_text() + "where:\n  - tile.n < 128\n  - stages < 100\n")
    stderr = cli("plan", config).stderr
    assert "1 left out by `where`: tile.n < 128" in stderr
    assert "stages < 100" not in stderr


def test_plan_only_shows_the_names_that_contain_it(cli: Cli, config: Path) -> None:
    data = json.loads(cli("plan", config, "--only", "128x128", "--json").stdout)
    assert [point["label"] for point in data["points"]] == ["f16-kkn-128x128x64-c1x1-s2-coop2"]
    assert "1 point, 1 legal" in cli("plan", config, "--only", "128x128").stderr


def test_where_that_leaves_nothing_is_a_configuration_error(cli: Cli, config: Path) -> None:
    config.write_text(config.read_text() + "where:\n  - tile.n > 1000\n")
    result = cli("plan", config)
    assert result.exit_code == 2
    assert "tile.n > 1000" in result.stderr


def test_explain_by_index_and_by_label(cli: Cli, config: Path) -> None:
    by_index = cli("explain", f"{config}:1")
    by_label = cli("explain", f"{config}:f16-kkn-128x128x64-c1x1-s2-coop2")
    assert by_index.exit_code == 0
    assert by_index.stdout == by_label.stdout
    for word in ("ab_full", "ab_empty", "producer"):
        assert word in by_index.stdout


def test_explain_a_recorded_variant_for_a_problem(cli: Cli, out: Path) -> None:
    small = cli("explain", "small/f16-kkn-128x64", "-o", out, "--problem", "256,256,256")
    large = cli("explain", "small/f16-kkn-128x64", "-o", out, "--problem", "8192x8192x8192")
    assert small.exit_code == large.exit_code == 0
    assert small.stdout != large.stdout


def test_explain_an_illegal_point_tells_why(cli: Cli, config: Path) -> None:
    result = cli("explain", f"{config}:2")
    assert result.exit_code == 1
    message = json.loads(cli("plan", config, "--json").stdout)["points"][2]["violations"][0]["message"]
    assert message.split(":")[0] in result.stdout


@pytest.mark.parametrize("suffix", ["", ":99", ":nothing"])
def test_explain_lists_the_points_to_choose_from(cli: Cli, config: Path, suffix: str) -> None:
    result = cli("explain", f"{config}{suffix}")
    assert result.exit_code == 2
    assert f"{config}:0  f16-kkn-128x64x64-c1x1-s2-coop2" in result.stderr


@pytest.mark.parametrize("problem", ["4096", "a,b,c", "1,2,3,4,5", "-1,2,3", ""])
def test_explain_refuses_what_is_no_problem(cli: Cli, config: Path, problem: str) -> None:
    result = cli("explain", f"{config}:0", "--problem", problem or " ")
    assert result.exit_code == 2
    assert "M,N,K" in result.stderr


def test_rules_are_all_listed(cli: Cli) -> None:
    ids = {rule.id for listed in all_rules().values() for rule in listed}
    assert {rule["id"] for rule in json.loads(cli("rules", "--json").stdout)} == ids
    assert {line.split()[0] for line in cli("rules").stdout.splitlines()[1:]} == ids


def test_new_writes_a_file_that_loads_and_spares_one_that_exists(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    assert cli("new", path).exit_code == 0
    assert load(path).points()
    assert path.read_text() == cli("new").stdout
    path.write_text("mine")
    refused = cli("new", path)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert path.read_text() == "mine"
    assert cli("new", path, "--force").exit_code == 0
    assert path.read_text() != "mine"


def test_new_names_the_families_it_knows(cli: Cli) -> None:
    result = cli("new", "--family", "attention")
    assert result.exit_code == 2
    assert "gemm" in result.stderr


def test_schema_is_json_and_names_the_fields(cli: Cli, tmp_path: Path) -> None:
    schema = json.loads(cli("schema").stdout)
    assert {"kernel", "design", "sweep", "where"} <= set(schema["$defs"]["gemm"]["properties"])
    assert cli("schema", tmp_path / "s.json").exit_code == 0
    assert json.loads((tmp_path / "s.json").read_text()) == schema


@pytest.mark.parametrize("name", ["mine", "mine.txt", "small.yaml:1", "kernel.py"])
def test_new_writes_what_other_commands_take_for_a_configuration(cli: Cli, tmp_path: Path, name: str) -> None:
    """A file called small.yaml:1 would stand before the point 1 of small.yaml: `run small.yaml:1` took minutes."""
    for more in ((), ("--force",)):
        refused = cli("new", tmp_path / name, *more)
        assert refused.exit_code == 2
        assert f"name it {tmp_path / name}.yaml" in refused.stderr.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


def test_schema_overwrites_schemas_alone(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    for before in ("", cli("schema").stdout, '{"$defs":{}}'):
        path.write_text(before)
        assert cli("schema", path).exit_code == 0
        assert "$defs" in json.loads(path.read_text())
    for before in ("version: 1\n", '{"$def', "{}", "\0"):
        path.write_text(before)
        refused = cli("schema", path)
        assert refused.exit_code == 2
        assert f"{path}: holds something else already" in refused.stderr.replace("\n", "")
        assert path.read_text() == before
