"""doctor: what is there, what is missing, and what that prevents."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from warpwright import resources

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


def test_this_machine_can_build(cli: Cli, tmp_path: Path) -> None:
    result = cli("doctor", "-o", tmp_path, "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == 0
    assert data["can"][:4] == ["plan", "generate", "build", "emulate"]
    versions = {finding["name"]: finding["found"] for finding in data["findings"]}
    assert versions["pydantic"] == importlib.metadata.version("pydantic")
    assert versions["Python"].startswith(".".join(map(str, sys.version_info[:3])))


def test_a_missing_package_stops_its_step_and_those_after(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = importlib.metadata.version

    def without(name: str) -> str:
        if name == "Jinja2":
            raise importlib.metadata.PackageNotFoundError(name)
        return original(name)

    monkeypatch.setattr(importlib.metadata, "version", without)
    result = cli("doctor", "-o", tmp_path)
    assert result.exit_code == 1
    assert "Jinja2: pip install Jinja2" in result.stderr
    assert (
        result.stdout.splitlines()[-1] == "this machine can: plan; it cannot: generate, build, emulate, validate, bench"
    )


def test_torch_is_advised_as_this_installation_can_have_it(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: _absent(name))
    assert "torch: pip install -e '.[gpu]'" in cli("doctor", "-o", tmp_path).stderr
    monkeypatch.setattr(resources, "checkout", lambda: None)
    findings = json.loads(cli("doctor", "-o", tmp_path, "--json").stdout)["findings"]
    assert {f["name"]: f["remedy"] for f in findings}["torch"] == "pip install 'warpwright[gpu]'"


def _absent(name: str) -> str:
    raise importlib.metadata.PackageNotFoundError(name)


def test_an_output_folder_that_cannot_be_made_is_found(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    data = json.loads(cli("doctor", "-o", tmp_path / "file" / "out", "--json").stdout)
    finding: dict[str, Any] = next(f for f in data["findings"] if f["name"] == "output folder")
    assert not finding["good"]
    assert "--out" in finding["remedy"]


@pytest.mark.parametrize(
    ("cache", "words"),
    [
        ("/dev/null/warpwright", "/dev/null/warpwright (cannot be written: every kernel is compiled again)"),
        ("", "warpwright-cache-{uid} (there is no home folder; WARPWRIGHT_CACHE chooses another)"),
    ],
)
def test_a_cache_that_is_of_no_use_or_not_at_home(
    cache: str, words: str, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It costs time alone, and nothing that the machine can do."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("WARPWRIGHT_CACHE", cache)
    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    findings = json.loads(cli("doctor", "--json", "-o", tmp_path).stdout)["findings"]
    (found,) = [each for each in findings if each["name"] == "build cache"]
    assert found["found"].endswith(words.format(uid=os.getuid()))
    assert found["good"]


@pytest.mark.parametrize(
    ("capability", "told"),
    [
        ((9, 0), "G (sm_90): runs kernels for sm_90a alone"),
        ((10, 3), "G (sm_103): runs kernels for sm_103a alone"),
        ((8, 0), "G (sm_80): runs kernels for none of sm_90a, sm_100a, "),
    ],
)
def test_which_kernels_a_gpu_runs(monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], told: str) -> None:
    from types import SimpleNamespace

    from warpwright.cli.doctor import _torch_device

    cuda = SimpleNamespace(
        is_available=lambda: True, get_device_capability=lambda _: capability, get_device_name=lambda _: "G"
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    found, usable = _torch_device()
    assert usable
    assert found.startswith(told)
