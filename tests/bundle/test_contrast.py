"""Two kernels of two configurations in one bundle: run on a double, brought home, and refused where it cannot be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bundle.kit import HERE, ROOT
from tests.device.plans import make_folder, make_plan
from tests.device.test_two_streams import ASKED
from tests.families.copy.points import legal
from warpwright.bundle import import_results, make_bundle
from warpwright.device.contrast import Asked, of_bundle
from warpwright.device.judged_by import checking_digest
from warpwright.errors import UserError
from warpwright.record import read_json

pytestmark = pytest.mark.usefixtures("light")
MAKER, READER = "maker-000000000000", "reader-111111111111"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    maker = make_folder(tmp_path / "out" / "casts", legal("f32", "f16", stage_bytes=2048), MAKER)
    make_folder(tmp_path / "out" / "demo", make_plan(epilogue=("bias_n", "relu")), READER)
    told = of_bundle(MAKER, READER, Asked(**ASKED))
    found = make_bundle(
        tmp_path / "out" / "demo", [READER], tmp_path / "bundle", python=HERE, beside=[maker], contrast=told
    )
    assert set(found.variants) == {MAKER, READER}
    return found.directory


def run(packed: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(packed / "run.py"), "--backend", "tests.device.doubles:PairBackend"]
    command += ["--rounds", "2", "--problems", "no such", *more]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False, cwd=packed)


@pytest.fixture
def results(packed: Path) -> Path:
    done = run(packed, "--only", "contrast")
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.startswith("two streams ")]) == 3
    return packed / "results.jsonl"


def test_what_was_measured_comes_home(results: Path, tmp_path: Path) -> None:
    found = import_results([results], tmp_path / "out")
    assert (found.merged, found.refused) == ([("demo", READER, "contrast", "correct")], [])
    stored = read_json(tmp_path / "out" / "demo" / READER / "contrast.json")
    assert stored is not None
    assert stored == json.loads(results.read_text().splitlines()[-1])
    assert {way["way"] for way in stored["ways"]} >= {"one stream", "two streams"}
    assert stored["judged_by"] == checking_digest("gemm", ("bias_n", "relu"))


def test_one_kernel_alone_has_no_contrast(packed: Path) -> None:
    done = run(packed, "--variants", READER, "--only", "contrast")
    assert done.returncode == 2
    assert "no contrast to measure: one of the two kernels was not asked for: leave out --variants" in done.stderr
    assert "two streams" not in done.stdout


def test_an_older_one_gives_way_to_what_is_there(results: Path, tmp_path: Path) -> None:
    out, new = tmp_path / "out", results.read_text()
    assert import_results([results], out).refused == []
    edited(results, lambda value: value.update(time="2026-01-01T00:00:00Z"))
    found = import_results([results], out)
    assert found.merged == []
    assert "it is of 2026-01-01T00:00:00Z, and " in found.refused[0]
    assert "contrast.json is newer, of " in found.refused[0]
    stored = read_json(out / "demo" / READER / "contrast.json")
    assert stored == json.loads(new.splitlines()[-1])
    results.write_text(new)
    assert import_results([results], out).refused == []  # the same again


def edited(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    lines = path.read_text().splitlines()
    value = json.loads(lines[-1])
    change(value)
    path.write_text("\n".join([*lines[:-1], json.dumps(value)]) + "\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v: v["ways"].pop(), "each number of chunks that was asked for has each way, once"),
        (lambda v: v.update(ways=[way for way in v["ways"] if way["chunks"] == 1]), "that was asked for has each way"),
        (lambda v: v["ways"][3]["us"].pop(), r"ways.3.us is '\d+ samples': in each round each way goes once"),
        (lambda v: v["ways"][3]["host_us"].pop(), "ways.3.host_us is"),
        (lambda v: v["asked"].update(mode="Q"), "asked.mode is 'Q'"),
        (lambda v: v["checked"].update(elements=0), "checked"),
        (lambda v: v["ways"][0].update(us=[]), "ways.0.us"),
        (lambda v: v["ways"][0].update(way="three streams"), "ways.0.way"),
        (lambda v: v["checked"].update(ratio=1.5), "no error exceeds its bound"),
        (lambda v: v.update(status="hang"), "what is correct has times"),
        (lambda v: v.update(gpu={}), "gpu"),
        (lambda v: v["reader"].update(variant="../elsewhere"), "plain name of a folder"),
        (lambda v: v["maker"].update(config="c" * 256), "maker.config .* plain name of a folder"),
        (lambda v: v.update(time="2026-02-30T12:00:00Z"), "it must be a time"),
        (lambda v: v.update(time="2999-01-01T00:00:00Z"), "it is yet to come"),
        (lambda v: v.update(protocol=3), "protocol"),
        (lambda v: v.update(judged_by=""), "told since version 2"),
        (lambda v: v.update(protocol=1), "told since version 2"),
        (lambda v: v.update(more=1), "more"),
    ],
)
def test_what_no_run_wrote_is_refused_as_a_whole(
    results: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    edited(results, change)
    with pytest.raises(UserError, match=said):
        import_results([results], tmp_path / "out")
    assert not (tmp_path / "out" / "demo" / READER / "contrast.json").exists()


def test_of_another_kernel_it_is_refused(results: Path, tmp_path: Path) -> None:
    edited(results, lambda value: value["reader"].update(source_sha="0" * 64))
    found = import_results([results], tmp_path / "out")
    assert found.merged == []
    assert "it is for source 000000000000" in found.refused[0]
