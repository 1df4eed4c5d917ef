"""validate, bench and the bundle's way, with a double in the place of the device, and what happens without one."""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.bundle.lines import validated
from tests.record.figures import FIGURES
from tests.records import rewrite
from warpwright.bundle import pack
from warpwright.device import bench, validate
from warpwright.device.supervise import Supervisor
from warpwright.pipeline import on_gpu as gpu
from warpwright.record import LEVELS, Folder, folders_in, read_json, read_ledger, write_json

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, config: Path, out: Path) -> list[Folder]:
    """A host double as the GPU, and variants whose library tells the double to behave."""
    monkeypatch.setattr(gpu, "at_hand", lambda: True)
    monkeypatch.setattr(gpu, "supervisor", lambda: Supervisor("tests.device.doubles:HostBackend", paths=[ROOT]))
    small = config.read_text().replace("{m: 512, n: 512, k: 512}", "{m: 16, n: 24, k: 8}")
    config.write_text(small + "validate: {problems: [{m: 130, n: 70, k: 40}], repeats: 2}\n")
    folders = folders_in(out / "small")
    for folder in folders:
        rewrite(folder.path, "kernel.so", "{}")
    return folders


def variants(cli: Cli, *arguments: object) -> tuple[int, dict[str, Any]]:
    result = cli(*arguments, "--json")
    return result.exit_code, {v["variant"]: v for v in json.loads(result.stdout)["variants"] if v["legal"]}


def test_validated_then_timed_then_left_alone(cli: Cli, config: Path, out: Path, device: list[Folder]) -> None:
    code, found = variants(cli, "validate", config, "-o", out)
    assert code == 0
    assert {(v["evidence"], v["status"]) for v in found.values()} == {("gpu-validated", "correct")}
    code, found = variants(cli, "bench", config, "-o", out)
    assert code == 0
    assert {v["evidence"] for v in found.values()} == {"benchmarked"}
    for variant in found.values():
        (timing,) = variant["measured"]
        assert timing["problem"] == {"m": 16, "n": 24, "k": 8, "l": 1}
        assert timing["seconds"] > 0
    table = cli("bench", config, "-o", out).stdout
    assert "measured" in table.splitlines()[0]
    heads, *rows = table.partition("\n16x24x8\n")[2].splitlines()
    assert " ".join(heads.split()) == "variant median us p95 p99 speed vs double vs double copy"
    assert {row.split("  ")[0] for row in rows} == {*(v["label"] for v in found.values()), "double", "double copy"}
    for variant in found.values():
        (timing,) = variant["measured"]
        assert [peer["name"] for peer in timing["peers"]] == ["double", "double copy"]
        assert timing["seconds"] <= timing["p95"] <= timing["p99"]
        assert timing["peers"][0]["ratio"] == timing["vendor_ratio"]
        assert timing["unspecialised_ratio"] is None
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("*.json")}
    assert variants(cli, "validate", config, "-o", out)[0] == 0
    assert variants(cli, "bench", config, "-o", out)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.json")} == stamps


def test_a_gpu_that_runs_none_of_a_configuration_leaves_it_as_it_is(
    cli: Cli, config: Path, out: Path, device: list[Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOUBLE_CAPABILITY", "10.3")
    why = "is built for sm_90a, which runs on compute capability 9.0 alone, and the GPU here, double, is sm_103"
    result = cli("validate", config, "-o", out)
    assert (result.exit_code, " ".join(result.stderr.split())) == (2, f"error: {config} {why}")
    assert not any(folder.result("gpu-validated") for folder in device)
    monkeypatch.setenv("DOUBLE_CAPABILITY", "9.0")
    assert cli("validate", config, "-o", out, "--only", "64x64").exit_code == 0


def test_problems_beyond_a_variant_s_limits_are_left_out_with_a_word(
    cli: Cli, config: Path, out: Path, device: list[Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one file may hold designs for short and for long rows; here nothing counts so many rows."""
    steps, original = list[str](), gpu.bench

    def counted(exploration: Any, variants: Any, on_step: Callable[[], None], known: gpu.Gpu) -> None:
        original(exploration, variants, lambda: (steps.append("timed or left out"), on_step())[1], known)  # type: ignore[func-returns-value]

    monkeypatch.setattr(gpu, "bench", counted)
    beyond = "{m: 2147483647, n: 8, k: 8}"
    text = config.read_text()
    mixed = text.replace("{m: 16, n: 24, k: 8}", f"{beyond}, {{m: 16, n: 24, k: 8}}")
    config.write_text(mixed.replace("{m: 130, n: 70, k: 40}", f"{beyond}, {{m: 130, n: 70, k: 40}}"))
    for step in ("validate", "bench"):
        done = cli(step, config, "-o", out)
        assert done.exit_code == 0, done.stderr
        assert f"2147483647x8x8x1 is beyond the limits of {device[0].path.name}" in " ".join(done.stderr.split())
    assert len(steps) == 2 * len(device), "progress counts each problem of each variant, once"
    assert "or for the first problem within a variant's limits" in " ".join(done.stderr.split())
    assert json.loads((device[0].path / "gpu.json").read_text())["figures"]["problems"] == 2
    _, found = variants(cli, "bench", config, "-o", out)
    for variant in found.values():
        assert [timing["problem"]["m"] for timing in variant["measured"]] == [16]
        assert variant["predicted"]["problem"]["m"] == 16
    assert cli("ledger", config, "-o", out).exit_code == 0
    assert cli("ci", config, "-o", out, "--require", "gpu", "--require", "benchmarked").exit_code == 0
    told = cli("advise", config, "-o", out, "-p", "2147483647,8,8")
    assert told.exit_code == 2
    assert "beyond the limits of" in told.stderr
    explained = cli("explain", device[0].path.name, "-o", out, "-p", "2147483647,8,8").stdout
    assert "none: 2147483647 along M, and the kernel takes at most" in explained
    # Where nothing is left, that is said of the step, and is no pass.
    config.write_text(mixed.replace(", {m: 16, n: 24, k: 8}", "").replace(f"{beyond}, ", ""))
    done = cli("bench", config, "-o", out, "--again")
    assert done.exit_code == 1
    assert "there is no problem for it: 2147483647x8x8x1 is beyond" in " ".join(done.stderr.split())


def test_again_adds_a_run(cli: Cli, config: Path, out: Path, device: list[Folder]) -> None:
    only = ("--only", device[0].path.name)
    for extra in ((), (), ("--again",)):
        cli("validate", config, "-o", out, *only, *extra)
    gpu_json = device[0].read("gpu.json")
    assert gpu_json is not None
    assert len(gpu_json["runs"]) == 2
    assert device[1].read("gpu.json") is None
    for extra in ((), (), ("--again",)):
        cli("bench", config, "-o", out, *only, *extra)
    assert len((device[0].read("bench.json") or {})["runs"]) == 2
    assert len((device[0].read("gpu.json") or {})["runs"]) == 2


def test_a_wrong_variant_is_named_and_never_timed(cli: Cli, config: Path, out: Path, device: list[Folder]) -> None:
    rewrite(device[0].path, "kernel.so", '{"fault": "load"}')
    code, found = variants(cli, "validate", config, "-o", out)
    assert code == 1
    assert found[device[0].path.name]["status"] == "launch_failed"
    assert found[device[1].path.name]["status"] == "correct"
    assert "undefined symbol" in " ".join(found[device[0].path.name]["reasons"])
    code, found = variants(cli, "bench", config, "-o", out)
    assert code == 1
    assert found[device[0].path.name]["measured"] == []
    assert len(found[device[1].path.name]["measured"]) == 1


def test_ledger_tells_what_the_device_said(cli: Cli, config: Path, out: Path, device: list[Folder]) -> None:
    cli("validate", config, "-o", out)
    cli("bench", config, "-o", out)
    assert cli("ledger", config, "-o", out).exit_code == 0
    lines = read_ledger(out / "ledger" / "small.jsonl")
    assert [(line.label[8:15], line.evidence.method) for line in lines] == [
        (size, method) for size in ("128x128", "128x64x") for method in LEVELS
    ]
    for line, protocol in zip(lines[2:4], (validate.PROTOCOL, bench.PROTOCOL), strict=True):
        assert line.evidence.gpu["gpu"] == "double"
        assert line.evidence.protocol == protocol
    # Without the folders' own results, the ledger is what is known.
    for folder in device:
        (folder.path / "gpu.json").unlink()
        (folder.path / "bench.json").unlink()
    listed = json.loads(cli("list", "small", "-o", out, "--json").stdout)
    assert {(row["evidence"], row["status"]) for row in listed} == {("benchmarked", "correct")}


def test_a_line_of_a_gpu_rests_on_the_runs_beside_the_ledger(
    cli: Cli, config: Path, out: Path, device: list[Folder]
) -> None:
    cli("validate", config, "-o", out)
    cli("bench", config, "-o", out)
    assert cli("ledger", config, "-o", out).exit_code == 0
    ci = ("ci", config, "-o", out, "--require", "gpu", "--require", "benchmarked")
    assert cli(*ci).exit_code == 0, cli(*ci).stderr
    raw, path = out / "ledger" / "raw" / "small.jsonl", out / "ledger" / "small.jsonl"
    told, lines = raw.read_text(), path.read_text()
    runs = [json.loads(text) for text in told.splitlines()]
    assert {(run["variant"], run["method"]) for run in runs} == {
        (folder.path.name, method) for folder in device for method in ("gpu-validated", "benchmarked")
    }

    def refused(exit_code: int, *says: str) -> None:
        done = cli(*ci)
        text = " ".join(done.stderr.split())
        assert done.exit_code == exit_code
        assert [part for part in says if part not in text] == []

    validated = next(number for number, run in enumerate(runs) if run["method"] == "gpu-validated")
    timed = next(number for number, run in enumerate(runs) if run["method"] == "benchmarked")
    for number, method in ((validated, "gpu-validated"), (timed, "benchmarked")):
        left = [run for other, run in enumerate(runs) if other != number]
        raw.write_text("".join(json.dumps(run) + "\n" for run in left))
        refused(1, f"{method} evidence is not what its runs say", "no run of it lies in out/ledger/raw/")
    faster = json.loads(json.dumps(runs))
    faster[timed]["samples"]["cold_us"] = [each / 2 for each in faster[timed]["samples"]["cold_us"]]
    raw.write_text("".join(json.dumps(run) + "\n" for run in faster))
    refused(1, "benchmarked evidence is not what its runs say", "cold_us")
    fewer = json.loads(json.dumps(runs))
    fewer[validated]["problems"].pop()
    raw.write_text("".join(json.dumps(run) + "\n" for run in fewer))
    refused(2, f"small.jsonl:{validated + 1}", "the parts of the result come to")
    raw.unlink()
    refused(1, "no run of it lies in out/ledger/raw/")
    raw.write_text(told)
    values = [json.loads(text) for text in lines.splitlines()]
    line = next(value for value in values if value.get("method") == "gpu-validated")
    line["figures"]["relative"] = 0.0
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    refused(1, "not what its runs say", "it says figures.relative 0.0, and its runs come to")
    path.write_text(lines)
    assert cli(*ci).exit_code == 0
    cli("ledger", config, "-o", out)  # from folders that are as before: the same bytes
    assert (raw.read_text(), path.read_text()) == (told, lines)


def test_show_prints_problems_and_timings(cli: Cli, config: Path, out: Path, device: list[Folder]) -> None:
    cli("validate", config, "-o", out)
    cli("bench", config, "-o", out)
    text = cli("show", device[0].path.name, "-o", out).stdout
    for part in (
        "gpu-validated: correct on double",
        "2 problems, 2 repeats each",
        "benchmarked: correct",
        "16x24x8: ",
        "TFLOP/s",
        ", p99 ",
        " of double copy",
    ):
        assert part in text


def test_times_of_a_shared_gpu_are_marked_and_set_against_nothing(
    cli: Cli, config: Path, out: Path, device: list[Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("validate", config, "-o", out)
    monkeypatch.setenv("DOUBLE_OTHERS", "1")
    done = cli("bench", config, "-o", out)
    assert done.exit_code == 0
    header, first = done.stdout.splitlines()[0], done.stdout.splitlines()[1]
    assert first[header.index("vs vendor") :].split()[0] == "shared"
    assert "1 other compute process seen" in " ".join(done.stderr.split())
    assert "not alone on the GPU: 1 other compute process seen" in cli("show", device[0].path.name, "-o", out).stdout
    # Neither fast nor slow: sorted behind what is known, and chosen by no test of times.
    assert json.loads(cli("list", "small", "--where", "measured<1000000us", "-o", out, "--json").stdout) == []
    monkeypatch.delenv("DOUBLE_OTHERS")
    again = cli("bench", config, "-o", out, "--again")
    assert "shared" not in again.stdout.splitlines()[1]
    assert "not alone" not in again.stderr


def test_the_ledger_does_not_say_which_gpu_of_its_kind_it_was(
    cli: Cli, config: Path, out: Path, device: list[Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOUBLE_KEY", "GPU-12345678")
    cli("validate", config, "-o", out)
    assert (device[0].read("gpu.json") or {})["gpu"]["uuid"] == "GPU-12345678"
    cli("ledger", config, "-o", out)
    text = (out / "ledger" / "small.jsonl").read_text()
    assert '"gpu": "double"' in text
    assert "GPU-1234" not in text
    assert "0 new or changed, 0 superseded" in cli("ledger", config, "-o", out).stderr


@pytest.mark.parametrize("command", ["validate", "bench"])
def test_without_a_gpu_the_way_out_is_named(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(gpu, "at_hand", lambda: False)
    result = cli(command, config, "-o", out)
    assert result.exit_code == 2
    assert "warpwright bundle" in result.stderr.replace("\n", " ")


def test_run_goes_on_when_the_gpu_cannot_be_used(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "at_hand", lambda: True)
    monkeypatch.setattr(gpu, "supervisor", lambda: Supervisor("tests.device.no_such:Backend", paths=[ROOT]))
    result = cli("run", config, "-o", out)
    assert result.exit_code == 0
    assert "the GPU cannot be used" in result.stderr
    assert cli("validate", config, "-o", out).exit_code == 2


def told(result: Any) -> str:
    return " ".join(result.stderr.split())


def test_no_verdict_is_1_with_the_reason(cli: Cli, config: Path, out: Path, device: list[Folder]) -> None:
    first, second = (folder.path.name for folder in device)
    rewrite(device[0].path, "kernel.so", '{"fault": "killed"}')
    result = cli("validate", config, "-o", out)
    assert result.exit_code == 1
    assert f"not validated: {first}: no verdict (not_run): " in told(result)
    assert "signal SIGKILL; the same command tries again" in told(result)
    assert "validate: could not be done for 1 variant" in told(result)
    assert device[1].read("gpu.json") is not None
    result = cli("bench", config, "-o", out)  # the other is timed
    assert result.exit_code == 1
    assert f"not timed: {first}: no GPU has found it correct; `warpwright validate {config}` first" in told(result)
    assert device[1].read("bench.json") is not None
    rewrite(device[0].path, "kernel.so", "{}")
    assert cli("validate", config, "-o", out).exit_code == 0
    code, found = variants(cli, "bench", config, "-o", out)
    assert (code, {name: v["undone"] for name, v in found.items()}) == (0, {first: {}, second: {}})


def test_a_time_that_was_not_taken_is_1(
    cli: Cli, config: Path, out: Path, device: list[Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("validate", config, "-o", out)
    backend = "tests.device.doubles:StuckPeerBackend"  # the vendor's is nobody's fault here
    monkeypatch.setattr(gpu, "supervisor", lambda: Supervisor(backend, silence=1, paths=[ROOT]))
    result = cli("bench", config, "-o", out)
    assert result.exit_code == 1
    assert f"not timed: {device[0].path.name} (and 1 more): no verdict (not_run): " in told(result)


def test_a_variant_that_cannot_be_loaded_leaves_the_others(
    cli: Cli, config: Path, out: Path, device: list[Folder]
) -> None:
    (device[0].path / "kernel.so").write_text("changed")
    result = cli("validate", config, "-o", out)
    assert result.exit_code == 1
    assert f"not validated: {device[0].path.name}: {device[0].path / 'kernel.so'}: changed" in told(result)
    assert (device[1].read("gpu.json") or {})["status"] == "correct"


def test_a_gpu_that_is_lost_on_the_way_is_1_for_run(
    cli: Cli, config: Path, out: Path, device: list[Folder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOUBLE_ONCE", str(tmp_path / "once"))
    backend = "tests.device.doubles:OnceBackend"
    monkeypatch.setattr(gpu, "supervisor", lambda: Supervisor(backend, paths=[ROOT]))
    early, late = device  # in the order of the points
    rewrite(late.path, "kernel.so", '{"fault": "sticky"}')
    first, second = early.path.name, late.path.name
    result = cli("run", config, "-o", out)
    assert result.exit_code == 1
    assert f"not validated: {second}: no verdict (not_run): crash: " in told(result)
    assert "then the device was gone: RuntimeError: the GPU is lost" in told(result)
    assert f"not timed: {first}: the GPU is lost" in told(result)
    assert (early.read("gpu.json") or {})["status"] == "correct"  # what was finished is kept
    assert late.read("gpu.json") is None
    code, found = variants(cli, "run", config, "-o", out)  # and now there is none at all: its evidence stands
    assert (code, found[first]["evidence"], found[first]["undone"]) == (0, "gpu-validated", {})


def test_a_gpu_that_is_lost_at_once_is_1_for_those_behind_it(
    cli: Cli, config: Path, out: Path, device: list[Folder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOUBLE_ONCE", str(tmp_path / "once"))
    backend = "tests.device.doubles:OnceBackend"
    monkeypatch.setattr(gpu, "supervisor", lambda: Supervisor(backend, paths=[ROOT]))
    early, late = device  # in the order of the points
    rewrite(early.path, "kernel.so", '{"fault": "killed"}')
    result = cli("validate", config, "-o", out)
    assert result.exit_code == 1
    assert f"not validated: {late.path.name}: the GPU is lost: RuntimeError: the GPU is lost; once" in told(result)
    assert [folder.read("gpu.json") for folder in device] == [None, None]


def test_bundle_and_import_round_trip(cli: Cli, config: Path, out: Path, tmp_path: Path) -> None:
    (folder, other) = folders_in(out / "small")
    results = tmp_path / "results.jsonl"
    whole, foreign = validated(folder.path), validated(other.path, source_sha="0" * 64)
    results.write_text(json.dumps(whole) + "\n" + json.dumps(foreign) + "\n" + '{"cut')
    done = cli("import", results, "--keep", "-o", out)
    assert done.exit_code == 1
    assert len([line for line in done.stderr.splitlines() if line.startswith("refused")]) == 2
    assert done.stdout.splitlines()[1].split() == ["small", "gpu-validated", "correct", "1"]
    _, found = variants(cli, "run", config, "-o", out)
    assert found[folder.path.name]["evidence"] == "gpu-validated"
    assert found[other.path.name]["evidence"] == "emulated"
    (kept,) = (out / "ledger" / "raw").iterdir()
    assert kept.read_bytes() == results.read_bytes()


def test_an_edited_kernel_reaches_the_gpu_and_is_marked_all_the_way(
    cli: Cli, config: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "compressed_runtime", lambda: lzma.compress(b"runtime"))
    folder, other = folders_in(out / "small")
    rendered = folder.source() or ""
    mine = rendered + "\n# by hand\n"
    folder.source_path.write_text(mine)
    # Few and small: the double is slow.
    config.write_text(config.read_text() + "validate: {problems: [{m: 16, n: 8, k: 8}], repeats: 2}\n")
    target = tmp_path / "bundle"
    options = ("-o", out, "--to", target, "--python", f"{sys.version_info.major}.{sys.version_info.minor}")
    unbuilt = cli("bundle", config, *options)
    assert unbuilt.exit_code == 1, unbuilt.stderr
    assert f"left out {folder.path.name}: edited by hand" in " ".join(unbuilt.stderr.split())
    assert not (target / "variants" / folder.path.name).exists()
    assert cli("build", config, "-o", out, "-j", 1).exit_code == 0
    packed = cli("bundle", config, *options)
    assert packed.exit_code == 0, packed.stderr
    assert f"edited by hand: {folder.path.name};" in " ".join(packed.stderr.split())
    assert folder.source() == mine
    assert not (folder.path / "kernel.edited.py").exists()
    assert json.loads((target / "bundle.json").read_text())["edited"] == [folder.path.name]

    results = _run_on_a_double(target)
    assert {r["variant"]: r.get("edited") for r in results} == {folder.path.name: True, other.path.name: None}
    assert {r["status"] for r in results} == {"correct"}
    for found in folders_in(out / "small"):  # the double's library, in the place of what was built
        (found.path / "kernel.so").write_text("{}")
        build = {**(found.read("build.json") or {})}
        found.write("build.json", {**build, "files": {**build["files"], "kernel.so": results[0]["library_sha"]}})
    done = cli("import", target / "results.jsonl", "-o", out)
    assert done.exit_code == 0, done.stderr
    listed = {row["variant"]: row for row in json.loads(cli("list", "small", "-o", out, "--json").stdout)}
    assert {name: (row["evidence"], row["note"]) for name, row in listed.items()} == {
        folder.path.name: ("gpu-validated", "edited, stale"),  # what was emulated is what was rendered
        other.path.name: ("gpu-validated", ""),
    }
    shown = cli("show", folder.path.name, "-o", out).stdout
    line = next(line for line in shown.splitlines() if line.startswith("gpu-validated: correct"))
    assert "of the edited kernel.py" in line
    assert "edited: kernel.py is not what was rendered" in shown
    # What is shipped is what the templates give: the ledger renders it, and has no line for another source.
    cli("ledger", config, "-o", out)
    lines = read_ledger(out / "ledger" / "small.jsonl")
    assert [line.label for line in lines if line.evidence.method == "gpu-validated"] == [other.label]
    assert folder.source() == rendered


def test_bundle_says_which_of_its_variants_the_emulator_found_wrong(
    cli: Cli, config: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "compressed_runtime", lambda: lzma.compress(b"runtime"))
    wrong, right = folders_in(out / "small")
    refuted = {"status": "incorrect", "figures": FIGURES["emulated", "incorrect"]}
    wrong.write("emulated.json", {**(wrong.read("emulated.json") or {}), **refuted})
    packed = cli("bundle", config, "-o", out, "--to", tmp_path / "bundle")
    assert packed.exit_code == 0, packed.stderr
    told_of = " ".join(packed.stderr.split())
    assert f"packed all the same: {wrong.path.name}, which is incorrect so far" in told_of
    assert f"same: {right.path.name}" not in told_of


def _run_on_a_double(target: Path) -> list[dict[str, Any]]:
    """Validate what a bundle holds with a double in the place of the device, and of every library; its results."""
    for path in (target / "variants").iterdir():
        (path / "kernel.so").write_text("{}")
        digest = hashlib.sha256(b"{}").hexdigest()
        write_json(path / "variant.json", {**(read_json(path / "variant.json") or {}), "library_sha": digest})
    command = [sys.executable, str(target / "run.py"), "--backend", "tests.device.doubles:HostBackend"]
    command += ["--only", "validate"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=target)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (target / "results.jsonl").read_text().splitlines()]
    return [result for result in found if "method" in result]


def test_bundle_of_what_is_not_built_says_what_to_run(cli: Cli, config: Path, tmp_path: Path) -> None:
    result = cli("bundle", config, "--to", tmp_path / "bundle", "--out", tmp_path / "nowhere")
    assert result.exit_code == 2
    assert "warpwright run" in result.stderr
    assert not (tmp_path / "bundle").exists()


def test_import_of_what_is_no_file_is_a_usage_error(cli: Cli, tmp_path: Path) -> None:
    result = cli("import", tmp_path / "absent.jsonl", "-o", tmp_path)
    assert result.exit_code == 2
    assert "absent.jsonl" in result.stderr
