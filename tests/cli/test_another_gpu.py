"""Variants for a GPU that nobody has here: what every command says of them, and the one step that closes the gap.

The GPU that a bundle then finds is a double: it computes what the plan says, and tells its compute capability.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import invoke
from tests.once import Once
from warpwright.bundle import pack
from warpwright.device.supervise import Supervisor
from warpwright.pipeline import on_gpu

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

ROOT = Path(__file__).resolve().parents[2]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
CONFIG = """\
version: 1
name: far
purpose: A tile for a GPU that is not here.
kernel:
  family: gemm
  arch: sm_100a
  a: {dtype: f16, major: k}
  b: {dtype: f16, major: k}
  d: {dtype: f16, major: n}
design:
  tile: {m: 128, n: 64, k: 64}
validate: {problems: [{m: 130, n: 72, k: 40}], repeats: 2}
bench: {problems: [{m: 16, n: 24, k: 8}]}
"""
DEMANDING = CONFIG + "evidence: [gpu-validated]\n"
MODEL = "NVIDIA B200 (by a model of others' figures: no such GPU has run a kernel of this project)"
UNRUN = "no GPU has run any of these variants for sm_100a; one of compute capability 10.0 can"


@pytest.fixture
def config(tmp_path: Path, once: Once) -> Path:
    """A copy of the configuration, and beside it of out/, where its variant is built and emulated."""

    def make(top: Path) -> dict[str, Path]:
        (top / "far.yaml").write_text(CONFIG)
        result = invoke("run", top / "far.yaml", "--out", top / "out", "--jobs", 1)
        assert result.exit_code == 0, result.stderr
        return {"top": top}

    top = once("another-gpu", make)["top"]
    shutil.copytree(top / "out", tmp_path / "out")
    return Path(shutil.copy(top / "far.yaml", tmp_path))


@pytest.fixture
def out(config: Path) -> Path:
    return config.parent / "out"


def told(cli: Cli, *arguments: object, code: int = 0) -> str:
    """All that a command says, in one line."""
    result = cli(*arguments)
    assert result.exit_code == code, result.stderr
    return " ".join(f"{result.stdout} {result.stderr}".split())


def test_what_is_said_of_it_without_such_a_gpu(cli: Cli, config: Path, out: Path) -> None:
    run = told(cli, "run", config, "-o", out)
    assert "1 correct; evidence: 1 emulated" in run
    assert f"predicted ones are for {MODEL}" in run
    assert f"{UNRUN}: `warpwright bundle {config} --to DIR`" in run
    listed = told(cli, "list", "-o", out)
    assert f"times are predicted for {MODEL}" in listed
    assert UNRUN in listed
    assert f"times are predicted for {MODEL}" in told(cli, "plan", config, "-o", out)
    for command in (("list",), ("plan", config)):
        assert f'"for": "{MODEL}"' in cli(*command, "-o", out, "--json").stdout
    assert f"on {MODEL}" in told(cli, "explain", config, "-o", out)
    assert MODEL in told(cli, "advise", config, "-o", out)
    (folder,) = (path for path in (out / "far").iterdir() if path.is_dir())
    assert "tensor memory 128 columns registers at launch" in told(cli, "show", folder.name, "-o", out)
    for step in ("validate", "bench"):
        assert f"warpwright bundle {config} --to DIR" in told(cli, step, config, "-o", out, code=2)


def test_ci_asks_for_no_more_than_the_configuration(cli: Cli, config: Path, out: Path) -> None:
    assert f"{UNRUN}: warpwright bundle {config} --to DIR" in told(cli, "ledger", config, "-o", out)
    passed = told(cli, "ci", config, "-o", out)
    assert f"{config}: no GPU has run any of its variants, and its `evidence` does not ask for that" in passed
    config.write_text(DEMANDING)
    failed = told(cli, "ci", config, "-o", out, code=1)
    assert "1 variants: gpu-validated" not in failed
    assert "1 variant: gpu-validated evidence is missing" in failed
    assert "does not ask for that" not in failed
    assert "on a GPU host: python3 BUNDLE/run.py" in failed


def test_a_gpu_of_another_kind_leaves_it_as_it_is(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = "tests.device.doubles:RightBackend"
    monkeypatch.setattr(on_gpu, "at_hand", lambda: True)
    monkeypatch.setattr(on_gpu, "supervisor", lambda: Supervisor(backend, paths=[ROOT]))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    why = "built for sm_100a, which runs on compute capability 10.0 alone, and the GPU here, double, is sm_90"
    run = told(cli, "run", config, "-o", out)
    assert f"the GPU cannot be used: {config} is {why}" in run
    assert "evidence: 1 emulated" in run
    assert f"error: {config} is {why}" in told(cli, "validate", config, "-o", out, code=2)
    assert "no GPU has found it correct" in told(cli, "bench", config, "-o", out, code=1)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def run_bundle(bundle: Path, capability: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(bundle / "run.py"), "--backend", "tests.device.doubles:RightBackend"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "DOUBLE_CAPABILITY": capability}
    return subprocess.run([*command, "--rounds", "3"], capture_output=True, text=True, env=env, cwd=bundle, check=False)


def test_one_step_closes_the_gap(cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bundle, run.py where there is such a GPU, import: then ledger and ci hold it as they hold everything else."""
    monkeypatch.setattr(pack, "compressed_runtime", lambda: lzma.compress(b"runtime"))
    config.write_text(DEMANDING)
    bundle, results = config.parent / "bundle", config.parent / "bundle" / "results.jsonl"
    packed = told(cli, "bundle", config, "-o", out, "--to", bundle, "--python", HERE)
    assert f"for Python {HERE} and a GPU of compute capability 10.0 (sm_100a)" in packed
    told(cli, "ledger", config, "-o", out)
    told(cli, "ci", config, "-o", out, code=1)

    for capability in ("9.0", "10.3"):  # a binary for sm_100a runs on no later GPU either
        done = run_bundle(bundle, capability)
        target = f"sm_{capability.replace('.', '')}"
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert (
            f"built for sm_100a, which runs on compute capability 10.0 alone, and the GPU here, double, is {target}"
            in done.stderr
        )
        assert results.read_bytes() == b""

    done = run_bundle(bundle, "10.0")
    assert done.returncode == 0, done.stderr
    told(cli, "import", results, "-o", out)
    told(cli, "ledger", config, "-o", out)
    passed = told(cli, "ci", config, "-o", out, "--require", "benchmarked")
    assert "passed" in passed
    listed = cli("list", "far", "-o", out)
    assert "no GPU has run" not in listed.stderr
    (row,) = json.loads(cli("list", "far", "-o", out, "--json").stdout)
    assert (row["evidence"], row["status"]) == ("benchmarked", "correct")


def test_results_of_a_gpu_that_cannot_have_run_it_are_refused(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "compressed_runtime", lambda: lzma.compress(b"runtime"))
    bundle, results = config.parent / "bundle", config.parent / "bundle" / "results.jsonl"
    told(cli, "bundle", config, "-o", out, "--to", bundle, "--python", HERE)
    assert run_bundle(bundle, "10.0").returncode == 0
    results.write_text(results.read_text().replace('"compute_capability": "10.0"', '"compute_capability": "9.0"'))
    assert "a kernel for sm_100a runs on 10.0 alone" in told(cli, "import", results, "-o", out, code=2)
    assert not list(out.rglob("gpu.json"))
