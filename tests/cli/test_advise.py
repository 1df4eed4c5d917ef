"""advise: the table of a configuration, the reasons for one variant, and which measured times it goes by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from warpwright import families
from warpwright.record import Folder, read_ledger
from warpwright.resources import ledger

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

SMALLER, LARGER = (f"f16-kkn-128x{n}x64-c1x1-s2-coop2" for n in (64, 128))


def test_of_a_sweep_the_point_to_take_and_what_the_others_lose(cli: Cli, config: Path, tmp_path: Path) -> None:
    result = cli("advise", config, "-p", "4096,4096,4096", "-o", tmp_path / "out")
    assert result.exit_code == 0
    head, *rows = [line.split() for line in result.stdout.splitlines()]
    assert head[:4] == ["take", "variant", "predicted", "measured"]
    assert [row[:2] for row in rows[:2]] == [["*", LARGER], ["-", SMALLER]]
    times = [float(row[2]) for row in rows[:2]]
    assert rows[1][5] == f"{times[1] / times[0] - 1:+.1%}"
    assert f"take {LARGER}: {times[0]} us predicted, bound by load latency; the next takes " in result.stdout
    assert "1 point illegal" in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_table_says_as_data_what_it_says(cli: Cli, config: Path) -> None:
    data = json.loads(cli("advise", config, "-p", "4096,4096,4096", "--json").stdout)
    assert data["problem"] == {"M": 4096, "N": 4096, "K": 4096, "L": 1}
    assert [each["label"] for each in data["variants"]] == [SMALLER, LARGER]
    assert {each["worth"] for each in data["variants"]} <= {True, False}
    assert [choice["label"] for choice in data["choices"]] == [LARGER]
    assert data["choices"][0]["behind"][SMALLER] > 0.1
    assert data["variants"][0]["phases"]["stage_bytes"] == (128 + 64) * 64 * 2
    assert data["variants"][0]["measured_at"] is None


def test_one_variant_with_its_reasons_and_alternatives(cli: Cli, config: Path, out: Path) -> None:
    by_index = cli("advise", f"{config}:1", "-o", out)
    recorded = cli("advise", f"small/{LARGER}", "-o", out, "-p", "512,512,512")
    assert by_index.exit_code == recorded.exit_code == 0
    assert by_index.stdout == recorded.stdout
    lines = by_index.stdout.splitlines()
    assert lines[0] == f"{LARGER}, 512x512x512, NVIDIA H200"
    for title in ("Reasons", "Alternatives, as predicted"):
        assert title in lines
    assert any("launching is" in line for line in lines)


def test_a_problem_so_small_that_launching_takes_longest(cli: Cli, config: Path) -> None:
    result = cli("advise", f"{config}:0", "-p", "64,64,64")
    assert "Not worth it: the kernel takes " in result.stdout
    assert result.exit_code == 0


def test_an_illegal_point_has_no_advice(cli: Cli, config: Path) -> None:
    result = cli("advise", f"{config}:2")
    assert result.exit_code == 1
    assert "Illegal:" in result.stdout
    assert json.loads(cli("advise", f"{config}:2", "--json").stdout)["variants"] == []


@pytest.mark.parametrize("problem", ["4096", "a,b,c", "-1,2,3"])
def test_what_is_no_problem_is_refused(cli: Cli, config: Path, problem: str) -> None:
    result = cli("advise", config, "-p", problem)
    assert result.exit_code == 2
    assert "M,N,K" in result.stderr


def test_what_is_no_variant_is_refused(cli: Cli, tmp_path: Path) -> None:
    result = cli("advise", "quickstrat", "-o", tmp_path)
    assert result.exit_code == 2
    assert "quickstrat: no variant is recorded" in result.stderr


def test_nothing_to_compute_is_said(cli: Cli, config: Path) -> None:
    result = cli("advise", config, "-p", "0,512,512")
    assert result.exit_code == 0
    assert result.stdout.count("nothing to compute: the kernel is not launched") == 2


def _times() -> dict[str, float]:
    """Microseconds of quickstart's variants at 4096^3, as the ledger has them."""
    lines = [line for line in read_ledger(ledger() / "quickstart.jsonl") if line.evidence.method == "benchmarked"]
    return {line.label: line.evidence.figures["problems"][0]["cold_us"]["median"] for line in lines}


@pytest.mark.usefixtures("shipped_ledger")
def test_what_the_ledger_measured_decides(cli: Cli, tmp_path: Path) -> None:
    data = json.loads(cli("advise", "quickstart", "-o", tmp_path, "--json").stdout)
    measured = {each["label"]: each["measured"] for each in data["variants"]}
    times = _times()
    assert measured == pytest.approx({label: 1e-6 * us for label, us in times.items()})
    assert data["choices"][0]["label"] == min(times, key=times.__getitem__)
    assert data["variants"][0]["measured_at"] == "the ledger of quickstart: NVIDIA H200"
    other = json.loads(cli("advise", "quickstart", "-o", tmp_path, "-p", "4096,4096,64", "--json").stdout)
    assert {each["measured"] for each in other["variants"]} == {None}


@pytest.mark.usefixtures("shipped_ledger")
def test_no_time_counts_that_was_taken_beside_others(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from warpwright import pipeline

    lines = pipeline.ledger_lines(tmp_path)
    timed = [line for each in lines.values() for line in each if line.evidence.method == "benchmarked"]
    for line in timed:
        for figures in line.evidence.figures["problems"] if line.label.startswith("bf16-kkn-64x256") else ():
            figures["shared"] = "two other processes"
    monkeypatch.setattr(pipeline, "ledger_lines", lambda out: lines)
    data = json.loads(cli("advise", "quickstart", "-o", tmp_path, "--json").stdout)
    unknown = [each["label"] for each in data["variants"] if each["measured"] is None]
    assert len(unknown) == 2
    assert all(label.startswith("bf16-kkn-64x256") for label in unknown)


@pytest.mark.usefixtures("shipped_ledger")
def test_no_time_counts_of_a_kernel_that_is_wrong(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from warpwright import pipeline
    from warpwright.record import Judgement

    def judge(folder: Folder, lines: object) -> Judgement:
        return Judgement("built", "incorrect" if "-s3-" in folder.path.name else "")

    monkeypatch.setattr(pipeline, "judge_folder", judge)
    data = json.loads(cli("advise", "quickstart", "-o", tmp_path, "--json").stdout)
    unknown = [each["label"] for each in data["variants"] if each["measured"] is None]
    assert unknown == ["bf16-kkn-128x256x64-c2x1-s3-coop2"]


def test_a_family_without_phases_still_has_times(cli: Cli, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    family = families.family("gemm")
    bare = replace(family.targets["sm_90a"], phases=None)
    monkeypatch.setitem(family.targets, "sm_90a", bare)  # type: ignore[arg-type]
    result = cli("advise", config, "-p", "4096,4096,4096")
    assert result.exit_code == 0
    assert f"take {LARGER}: " in result.stdout
    assert result.stdout.count("not known: the family does not tell") == 2
    assert cli("advise", f"{config}:0").exit_code == 0
