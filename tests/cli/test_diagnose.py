"""`warpwright diagnose`: right kernels, an edited one that hangs, files, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.device.doubles import ROOT
from tests.diagnosis.written import Written, one_never_releases
from tests.records import rewrite
from warpwright.canonical import digest
from warpwright.device.supervise import Supervisor
from warpwright.pipeline import on_gpu
from warpwright.pipeline.judging import toolchain_here
from warpwright.pipeline.standards import standards_of
from warpwright.plan.stored import plan_from_json
from warpwright.record import Folder, folders_in

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

BACKEND = "tests.device.doubles:MarkingBackend"


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "at_hand", lambda: False)


def edited(folder: Folder, old: str, new: str) -> None:
    kernel = folder.path / "kernel.py"
    text = kernel.read_text()
    assert old in text
    kernel.write_text(text.replace(old, new))


def test_a_right_kernel_its_timeline_and_nothing_recorded(cli: Cli, config: Path, out: Path, tmp_path: Path) -> None:
    folder, trace = folders_in(out / "small")[0], tmp_path / "trace.json"
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    result = cli("diagnose", folder.path.name, "-o", out, "-p", "128x64x1024", "--trace", trace)
    assert result.exit_code == 0, result.stderr
    assert "the instrumented twin ends with right numbers (modelled by the emulator" in result.stdout
    assert "load-bound: the consumers wait" in result.stdout
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["cat"] for event in events if event["ph"] == "X"} == {"wait", "load", "compute", "store"}
    assert "ab stage 1" in {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    told = json.loads(trace.read_text())["otherData"]["obtained"]
    assert told["source_sha"] == digest(folder.source())
    assert (told["cubin_sha"], told["arch"], told["toolchain"]) == ("", "sm_90a", toolchain_here())
    assert told["judged_by"] == standards_of(folder.read("plan.json") or {})["emulated"].code
    assert told["twin_sha"] not in ("", told["source_sha"])


def test_an_edited_kernel_that_hangs_is_1_and_says_why(cli: Cli, config: Path, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    edited(folder, "EMPTY_ARRIVALS = CONSUMERS ", "EMPTY_ARRIVALS = CONSUMERS + 1 ")
    result = cli("diagnose", folder.path.name, "-o", out, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["status"], found["source"]) == ("hang", "modelled")
    first = found["hang"]["causes"][0]["text"]
    assert first.startswith("producer (warp 8) waits for ab_empty[0], phase 0 (round 2, parity 0)")
    assert "initialised for more arrivals than come" in first
    producer = next(one for one in found["hang"]["standings"] if one["role"] == "producer")
    assert (producer["barrier"], producer["stage"], producer["phase"], producer["warps"]) == ("ab_empty", 0, 0, [8])


def test_a_line_that_is_edited_where_a_mark_is(cli: Cli, config: Path, out: Path) -> None:
    folder = folders_in(out / "small")[0]
    edited(folder, "    d_mnl: cute.Tensor,\n    tiles_mnl", "    d_mnl: cute.Tensor, tiles_mnl")
    result = cli("diagnose", folder.path.name, "-o", out)
    assert result.exit_code in (1, 2)
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-p", "12xq"), "--problem 12xq: must be extents, MxNxKxL, or a case of the emulator: tiny, "),
        (("-p", "4194305"), "--problem 4194305: too large to be emulated"),
        (("--picture", "x.txt"), "--picture x.txt: the name must end with .png, .svg, .pdf"),
        (("--picture", "x.png"), "--picture needs matplotlib, which is not here: pip install 'warpwright[plot]'"),
        (("--trace", "."), ".: a folder; give the name of a file"),
    ],
)
def test_what_it_refuses_is_2(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], says: str
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = cli("diagnose", f"{config}:0", "-o", out, *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_an_illegal_point_is_2(cli: Cli, config: Path, out: Path) -> None:
    result = cli("diagnose", f"{config}:2", "-o", out)
    assert result.exit_code == 2
    assert "is illegal: " in result.stderr


@pytest.fixture
def marking(monkeypatch: pytest.MonkeyPatch, config: Path, out: Path, tmp_path: Path) -> tuple[Folder, Written]:
    """A double of a GPU, on which the twin of the first variant hangs: one consumer never releases a stage."""
    folder = folders_in(out / "small")[0]
    written = one_never_releases(plan_from_json(folder.read("plan.json") or {}), 2)
    monkeypatch.setenv("DOUBLE_MARKS", str(written.save(tmp_path / "marks.npz", hangs=True)))
    monkeypatch.setattr(on_gpu, "at_hand", lambda: True)
    monkeypatch.setattr(on_gpu, "supervisor", lambda: Supervisor(BACKEND, silence=1.5, paths=[ROOT]))
    monkeypatch.setattr("warpwright.diagnosis.measured.LIMIT", 0.3)
    return folder, written


def test_on_a_gpu_the_twin_is_emulated_first(cli: Cli, marking: tuple[Folder, Written], out: Path) -> None:
    result = cli("diagnose", marking[0].path.name, "-o", out, "-p", "64x64x64")
    assert result.exit_code == 1
    assert "does not end (measured on double, driver none)" in result.stdout
    assert "because producer (warp 8) waits for ab_empty[0], phase 0 (round 2, parity 0): consumer 1" in result.stdout
    assert "the emulator, on its case k_long, calls the twin right" in result.stdout


def test_the_verdict_of_a_validation_that_hangs_says_where(
    cli: Cli, marking: tuple[Folder, Written], config: Path, out: Path
) -> None:
    for folder in folders_in(out / "small"):
        rewrite(folder.path, "kernel.so", '{"fault": "hang"}' if folder.path == marking[0].path else "{}")
    config.write_text(config.read_text() + "validate: {problems: [{m: 130, n: 70, k: 40}], repeats: 1}\n")
    assert cli("validate", config, "-o", out, "--only", marking[0].path.name).exit_code == 1
    recorded = marking[0].read("gpu.json") or {}
    assert recorded["status"] == "hang"
    text = recorded["runs"][-1]["diagnosis"] if "runs" in recorded else recorded["diagnosis"]
    assert "no sign of life for 1.5 s: problem 130x70x40x1, launch 0; in its instrumented twin, producer" in text
    assert "waits for ab_empty[0], phase 0" in text
