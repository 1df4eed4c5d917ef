"""`run`, its steps and their exit codes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.record.figures import stored
from warpwright.device.judged_by import checking_digest
from warpwright.record import folders_in, read_json, write_json

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def rows(stdout: str) -> dict[str, list[str]]:
    """The plain table as {first column: all columns}."""
    lines = [line.split() for line in stdout.splitlines()[1:]]
    return {line[0]: line for line in lines}


def test_table_and_json_say_the_same(cli: Cli, config: Path, out: Path) -> None:
    table = cli("run", config, "-o", out)
    data = json.loads(cli("run", config, "-o", out, "--json").stdout)
    assert table.exit_code == 0
    assert len(data["variants"]) == 3
    shown = rows(table.stdout)
    for variant in data["variants"]:
        line = shown[variant["label"]]
        assert line[-1] == variant["status"]
        if variant["legal"]:
            assert f"{variant['shared_bytes']:,}" in line
            assert (variant["status"], variant["evidence"]) == ("correct", "emulated")
            assert line[1] == "yes"
        else:
            assert variant["status"] == "illegal"
            assert variant["violations"][0]["rule"] in line


def test_shared_memory_of_the_table_is_what_was_built(cli: Cli, config: Path, out: Path) -> None:
    variants = json.loads(cli("run", config, "-o", out, "--json").stdout)["variants"]
    legal = [variant for variant in variants if variant["legal"]]
    assert len(legal) == 2
    for variant in legal:
        build = read_json(Path(variant["folder"]) / "build.json")
        assert build is not None
        assert build["dynamic_shared_bytes"] + build["static_shared_bytes"] == variant["shared_bytes"]


def test_second_run_does_no_work_and_imports_nothing_for_it(config: Path, out: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    program = (
        "import sys; from warpwright.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "print(sorted({'cutlass', 'torch', 'numpy', 'cuda', 'tvm_ffi'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program, "run", str(config), "-o", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def test_a_hundred_recorded_variants_take_no_time(cli: Cli, tmp_path: Path) -> None:
    """Loading, planning, rendering and judging; recorded builds add a digest of their files each."""
    config = tmp_path / "many.yaml"
    config.write_text(
        "version: 1\nname: many\npurpose: A hundred variants.\n"
        "kernel: {family: gemm, arch: sm_90a, a: {dtype: f16, major: k}, b: {dtype: f16, major: k},"
        " d: {dtype: f16, major: n}}\n"
        "design: {tile: {m: 128, n: 64, k: 64}}\n"
        "sweep:\n  design.tile.n: [32, 64, 96, 128, 160]\n  design.stages: [2, 3, 4, 5, auto]\n"
        "  design.cluster: [{m: 1, n: 1}, {m: 2, n: 1}, {m: 1, n: 2}, {m: 2, n: 2}]\n"
    )
    assert cli("generate", config, "-o", tmp_path / "out").exit_code == 0
    started = time.process_time()  # not the clock: the machine may be busy with something else
    result = cli("generate", config, "-o", tmp_path / "out")
    assert time.process_time() - started < 3
    assert len(result.stdout.splitlines()) == 100


def test_a_variant_that_hangs_is_exit_1_and_named(cli: Cli, config: Path, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    build = folder.read("build.json")
    assert build is not None
    subject = {key: build[key] for key in ("source_sha", "cubin_sha", "arch", "toolchain")}
    diagnosis = "no sign of life for 30 s: tiny, repeat 2"
    result = stored("gpu-validated", "hang", **subject, diagnosis=diagnosis, judged_by=checking_digest("gemm"))
    write_json(folder.path / "gpu.json", result)
    result = cli("run", config, "-o", out)
    assert result.exit_code == 1
    assert rows(result.stdout)[folder.label][-2:] == ["emulated", "hang"]
    assert f"hang: {folder.path.name}: {diagnosis}" in result.stderr.replace("\n", " ")


def test_render_failure_is_the_variants_own(
    cli: Cli, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import warpwright.render

    original = warpwright.render.render

    def faulty(plan: Any) -> str:
        if "128x128" in plan.label:
            raise KeyError("no such block")
        return original(plan)

    monkeypatch.setattr(warpwright.render, "render", faulty)
    result = cli("run", config, "-o", tmp_path / "out", "--json")
    assert result.exit_code == 1
    status = {variant["label"]: variant["status"] for variant in json.loads(result.stdout)["variants"]}
    assert sorted(status.values()) == ["correct", "illegal", "render_failed"]
    assert next(value for label, value in status.items() if "128x128" in label) == "render_failed"


def test_no_legal_point_is_exit_1(cli: Cli, config: Path, tmp_path: Path) -> None:
    config.write_text(config.read_text().replace("  - design.tile.n: [64, 128]\n", ""))
    result = cli("run", config, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("name: small", "name: no"), "small.yaml:2"),
        (("stages: 2", "stages: 2\n  stagse: 3"), "stagse"),
        (("purpose:", "porpose:"), "small.yaml"),
        (("[64, 128]", "[]"), "design.tile.n"),
    ],
)
def test_bad_yaml_is_exit_2_with_its_line(cli: Cli, config: Path, tmp_path: Path, change: Any, says: str) -> None:
    config.write_text(config.read_text().replace(*change))
    for command in ("run", "plan", "generate", "build"):
        result = cli(command, config, "-o", tmp_path / "out")
        assert (result.exit_code, result.stdout) == (2, "")
        assert says in result.stderr
        assert "Traceback" not in result.stderr


def test_every_mistake_of_a_file_is_told_at_once(cli: Cli, config: Path) -> None:
    config.write_text(
        config.read_text().replace("stages: 2", "stages: two").replace("dtype: f16, major: n", "dtype: f17")
    )
    stderr = cli("plan", config).stderr
    assert "two" in stderr
    assert "f17" in stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "absent.yaml"], "absent.yaml"),
        (["run"], "CONFIG"),
        (["run", "CONFIG", "--jobs", "0"], "--jobs"),
        (["run", "CONFIG", "--frobnicate"], "--frobnicate"),
        (["frobnicate"], "frobnicate"),
        (["run", "CONFIG", "--only", "nothing-like-it"], "nothing-like-it"),
        (["build", "CONFIG", "-o", "empty"], "generate"),
        (["run", "."], "."),
    ],
)
def test_usage_errors_are_exit_2(
    cli: Cli, config: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(config.parent)
    result = cli(*[str(config) if argument == "CONFIG" else argument for argument in arguments])
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("command", "target"),
    [
        *((command, "quikstart.yaml") for command in ("run", "plan", "emulate", "explain", "advise", "show")),
        *((command, "quikstart:0") for command in ("emulate", "explain", "advise")),
    ],
)
def test_a_file_that_is_not_there_is_said_so(cli: Cli, tmp_path: Path, command: str, target: str) -> None:
    result = cli(command, target, "-o", tmp_path)
    assert result.exit_code == 2
    assert f"{target.removesuffix(':0')}: no such file; did you mean quickstart?" in result.stderr


def test_a_traceback_that_is_asked_for_keeps_the_exit_code(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPWRIGHT_TRACEBACK", "1")
    result = cli("run", "absent.yaml")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "error: absent.yaml: no such file" in result.stderr


def test_output_folder_that_is_a_file_is_exit_2(cli: Cli, config: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    result = cli("run", config, "-o", tmp_path / "taken")
    assert result.exit_code == 2
    assert str(tmp_path / "taken") in result.stderr.replace("\n", "")


def test_only_restricts_to_names_that_contain_it(cli: Cli, config: Path, out: Path) -> None:
    data = json.loads(cli("run", config, "-o", out, "--only", "128x128", "--json").stdout)
    assert [variant["label"] for variant in data["variants"]] == ["f16-kkn-128x128x64-c1x1-s2-coop2"]


def test_build_takes_the_source_that_lies_there(cli: Cli, config: Path, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    source = folder.source()
    assert source is not None
    mine = source + "\n# by hand\n"
    folder.source_path.write_text(mine)
    assert cli("build", config, "-o", out, "-j", 1).exit_code == 0
    assert folder.source() == mine
    kept = folder.path / "kernel.edited.py"
    result = cli("run", config, "-o", out)
    assert str(kept) in result.stderr.replace("\n", "")
    assert kept.read_text() == mine
    assert folder.source() == source
    assert "edited" not in cli("generate", config, "-o", out).stderr


def test_two_files_with_one_name_are_told_of_each_other(cli: Cli, config: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(config.read_text())
    assert "one name" not in cli("generate", config, "-o", tmp_path / "out").stderr
    stderr = cli("generate", other, "-o", tmp_path / "out").stderr.replace("\n", " ")
    assert f"{other} and {config} have one name, small" in stderr


def test_the_line_in_a_kernels_head_renders_that_kernel(
    cli: Cli, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    cli("generate", config.name)
    folder = folders_in(Path("out/small"))[0]
    source = folder.source() or ""
    line = next(line for line in source.splitlines() if line.startswith("regenerate"))
    program, *arguments = shlex.split(line.removeprefix("regenerate").replace("CONFIG", config.name))
    assert program == "warpwright"
    folder.source_path.unlink()
    result = cli(*arguments)
    assert result.exit_code == 0
    assert result.stdout.split() == [str(folder.source_path)]
    assert folder.source() == source


def test_hints_name_the_configuration_as_it_was_typed(cli: Cli, config: Path, tmp_path: Path) -> None:
    assert f"warpwright plan {config}" in cli("run", config, "-o", tmp_path / "out").stderr.replace("\n", "")
    (tmp_path / "empty").mkdir()
    assert "`warpwright generate quickstart` first" in cli("build", "quickstart", "-o", tmp_path / "empty").stderr


def test_the_installed_program_reports_a_closed_pipe_quietly(config: Path, out: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        command = [sys.executable, "-m", "warpwright", "run", str(config), "-o", str(out)]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
