"""`warpwright emulate`: verdicts in a table, recorded once; a timeline; mutants and the reasons of survivors."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.records import rewrite
from warpwright import pipeline
from warpwright.emulate.mutants import trials
from warpwright.emulate.mutants.edits import Mutant, mutants
from warpwright.emulate.variant import parallel
from warpwright.emulate.variant.harness import Subject
from warpwright.pipeline import emulating
from warpwright.record import Folder, folders_in

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def test_all_of_a_configuration_and_nothing_twice(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = json.loads(cli("emulate", config, "-o", out, "-j", 1, "--again", "--json").stdout)
    assert [row["status"] for row in first] == ["correct", "correct"]
    assert {row["variant"] for row in first} == {folder.path.name for folder in folders_in(out / "small")}

    def never(*arguments: object) -> None:
        raise AssertionError("work was done twice")

    monkeypatch.setattr(parallel, "each", never)
    second = cli("emulate", config, "-o", out)
    assert second.exit_code == 0
    assert [line.split()[-1] for line in second.stdout.splitlines()] == ["status", "correct", "correct"]
    assert "2 emulated" in second.stderr


def test_again_is_of_the_step_that_is_named(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # What is built again replaces what the cache has, which other tests compare their builds with.
    monkeypatch.setenv("WARPWRIGHT_CACHE", str(tmp_path / "cache"))
    emulated: list[int] = []

    def each(work: Any, folders: Any, *more: Any) -> Any:
        emulated.append(len(folders))
        return real(work, folders, *more)

    real = parallel.each
    monkeypatch.setattr(parallel, "each", each)
    exploration = pipeline.plan(str(config), out)
    for again in ((), ("build",), ("emulate",)):
        pipeline.advance(exploration, ("render", "build", "emulate"), jobs=1, again=again)
        assert emulated == ([2] if again == ("emulate",) else []), again
    assert cli("emulate", config, "-o", out, "-j", 1, "--again").exit_code == 0
    assert emulated == [2, 2]


def stuck(folder: Folder) -> None:
    """Make its kernel one that waits for ever."""
    ptx = (folder.path / "kernel.ptx").read_text()
    rewrite(folder.path, "kernel.ptx", re.sub(r"mbarrier\.arrive\.expect_tx[^;]*;", "", ptx))


def test_a_hang_is_exit_1_with_its_diagnosis_and_run_agrees(cli: Cli, config: Path, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    stuck(folder)
    result = cli("emulate", f"{config}:{folder.label}", "-o", out)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].split()[-1] == "hang"
    assert "wait for the phase of parity 0 of mbarrier ab_full[0]" in result.stderr
    shown = json.loads(cli("show", folder.path.name, "-o", out, "--json").stdout)
    assert shown["status"] == "hang"


def test_a_kernel_that_cannot_be_emulated_has_no_verdict(cli: Cli, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    ptx = (folder.path / "kernel.ptx").read_text()
    rewrite(folder.path, "kernel.ptx", ptx.replace("\tret;", "\tfrobnicate.b32 %r1, %r1;\n\tret;"))
    before = (folder.path / "emulated.json").read_bytes()
    result = cli("emulate", folder.path.name, "-o", out)
    assert result.exit_code == 1
    assert "not emulated: frobnicate.b32" in result.stderr
    assert (folder.path / "emulated.json").read_bytes() == before
    assert emulating.recorded(folder.path) is None


def test_nothing_built_says_what_to_run(cli: Cli, config: Path, out: Path) -> None:
    first, second = folders_in(out / "small")
    shutil.rmtree(second.path)
    result = cli("emulate", config, "-o", out)
    assert result.exit_code == 1
    assert f"{second.path.name}: not built" in " ".join(result.stderr.split())
    shutil.rmtree(first.path)
    result = cli("emulate", config, "-o", out)
    assert result.exit_code == 2
    assert f"warpwright run {config}" in result.stderr.replace("\n", " ")


def test_one_that_does_not_compile_is_a_line_and_the_others_are_emulated(cli: Cli, config: Path, out: Path) -> None:
    broken, good = folders_in(out / "small")
    (broken.path / "kernel.ptx").unlink()
    failure = {"reason": "error", "detail": "DSLRuntimeError: no such layout\nin line 7", "final": True}
    broken.write("build.json", {**(broken.read("build.json") or {}), "status": "compile_failed", "failure": failure})
    done = cli("emulate", config, "-o", out)
    assert done.exit_code == 1
    told = " ".join(done.stderr.split())
    assert f"not emulated: {broken.path.name}: it does not compile: error: DSLRuntimeError: no such layout" in told
    assert "in line 7" not in told
    rows = {row["variant"]: row for row in json.loads(cli("emulate", config, "-o", out, "--json").stdout)}
    assert rows[good.path.name]["status"] == "correct"
    assert "does not compile" in rows[broken.path.name]["error"]
    alone = cli("emulate", broken.path.name, "-o", out)
    assert alone.exit_code == 2
    assert "does not compile: error: DSLRuntimeError" in " ".join(alone.stderr.split())


def test_timeline_of_one_variant(cli: Cli, config: Path, out: Path, tmp_path: Path) -> None:
    folder, path = folders_in(out / "small")[0], tmp_path / "trace.json"
    assert cli("emulate", folder.label, "-o", out, "--trace", path).exit_code == 0
    events = json.loads(path.read_text())["traceEvents"]
    assert {"wait ab_full[0]", "load a", "mma", "store d"} <= {event["name"] for event in events}
    assert cli("emulate", folder.label, "-o", out, "--trace", path).exit_code == 0  # over one from before
    kept = config.read_bytes()
    refused = cli("emulate", folder.label, "-o", out, "--trace", config)
    assert (refused.exit_code, config.read_bytes()) == (2, kept)
    assert "holds something else already" in refused.stderr
    several = cli("emulate", config, "-o", out, "--trace", path)
    assert several.exit_code == 2
    assert "2 variants; --trace is for one" in several.stderr


def test_survivors_need_a_reason(cli: Cli, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folders_in(out / "small")[0]

    def few(subject: Subject) -> list[Mutant]:
        return [mutants(subject.ptx, [2])[0], Mutant("no fault", 1, "// comment", ((1, "// another"),))]

    monkeypatch.setattr(trials, "mutants_of", few)
    red = cli("emulate", folder.label, "-o", out, "--mutate")
    assert red.exit_code == 1
    assert "survived: no fault, PTX line 1: // comment" in red.stderr
    assert "1 caught, 1 survived" in red.stderr
    (tmp_path / f"{folder.label}.yaml").write_text("survivors: [{mutant: no fault, reason: a comment}]\n")
    green = cli("emulate", folder.label, "-o", out, "--mutate", "--explained", tmp_path)
    assert green.exit_code == 0
    assert "explained: a comment" in green.stderr


def test_a_timeline_of_a_hang_says_so(cli: Cli, out: Path, tmp_path: Path) -> None:
    folder, path = folders_in(out / "small")[0], tmp_path / "trace.json"
    stuck(folder)
    done = cli("emulate", folder.label, "-o", out, "--trace", path)
    assert done.exit_code == 1
    assert f"hang: {folder.path.name}" in done.stderr
    assert "wait for the phase of parity 0 of mbarrier ab_full[0]" in done.stderr
    assert json.loads(path.read_text())["traceEvents"]


@pytest.mark.parametrize("option", [(), ("--again",), ("--trace", "trace.json"), ("--mutate",)])
def test_nothing_is_said_of_a_source_that_was_not_executed(
    cli: Cli, out: Path, tmp_path: Path, option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = folders_in(out / "small")[0]
    assert cli("emulate", folder.label, "-o", out).exit_code == 0
    folder.source_path.write_text((folder.source() or "") + "# newer than its build\n")
    done = cli("emulate", folder.label, "-o", out, *option)
    assert done.exit_code in (1, 2)
    assert "correct" not in done.stdout
    told = " ".join(done.stderr.split())
    assert "not the source that was built" in told
    assert "`warpwright build small` builds it" in told
    assert not Path("trace.json").exists()
