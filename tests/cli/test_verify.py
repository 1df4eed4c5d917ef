"""`warpwright verify`: files from elsewhere against a ledger, without running any code of theirs."""

from __future__ import annotations

import ctypes
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests.records import rewrite
from warpwright.device.opening import DESCRIPTION, VARIANTS
from warpwright.pipeline.verifying import cubins_in
from warpwright.record import folders_in, read_json, read_ledger, write_json, write_ledger

if TYPE_CHECKING:
    from tests.cli.conftest import Cli


@pytest.fixture
def ledger(cli: Cli, config: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ledger of what is built, which is trusted; whatever loads a library from here on fails."""
    assert cli("ledger", config, "-o", out).exit_code == 0
    path = (out / "ledger" / "small.jsonl").rename(tmp_path / "trusted.jsonl")

    def never(*arguments: object, **options: object) -> NoReturn:
        raise AssertionError("native code was loaded")

    monkeypatch.setattr(ctypes, "CDLL", never)
    return path


def test_what_was_built_is_the_ledger_s(cli: Cli, out: Path, ledger: Path) -> None:
    done = cli("verify", "small", "--against", ledger, "-o", out)
    assert done.exit_code == 0, done.stdout
    first, second = folders_in(out / "small")
    assert f"{first.path.name}: kernel.py, kernel.cubin, kernel.so, kernel.o" in done.stdout
    assert second.path.name in done.stdout
    assert f"2 of 2 variants are what {ledger} speaks of" in done.stderr
    assert "host code of kernel.so and kernel.o is not covered" in done.stderr
    assert list(cubins_in((first.path / "kernel.so").read_bytes())) == [(first.path / "kernel.cubin").read_bytes()]


@pytest.mark.parametrize("name", ["kernel.py", "kernel.cubin", "kernel.so", "kernel.o"])
def test_a_file_of_another_variant_is_named_though_the_records_fit(
    cli: Cli, out: Path, ledger: Path, name: str
) -> None:
    first, second = folders_in(out / "small")
    rewrite(first.path, name, (second.path / name).read_bytes())
    done = cli("verify", "small", "--against", ledger, "-o", out, "--json")
    assert done.exit_code == 1
    bad, good = json.loads(done.stdout)
    assert (bad["name"], good["wrong"]) == (first.path.name, [])
    assert any(each.startswith(f"{name}: it") for each in bad["wrong"])


def test_a_library_that_holds_more_than_the_ledger_s_cubin(cli: Cli, out: Path, ledger: Path) -> None:
    first, second = folders_in(out / "small")
    more = (first.path / "kernel.so").read_bytes() + (second.path / "kernel.cubin").read_bytes()
    rewrite(first.path, "kernel.so", more)
    done = cli("verify", first.path.name, "--against", ledger, "-o", out)
    assert done.exit_code == 1
    assert "kernel.so: it holds cubin" in done.stdout


def test_a_bundle_has_the_library_alone(cli: Cli, out: Path, ledger: Path, tmp_path: Path) -> None:
    first, second = folders_in(out / "small")
    bundle = tmp_path / "bundle"
    (bundle / VARIANTS).mkdir(parents=True)
    (bundle / DESCRIPTION).write_text("{}")
    build = first.read("build.json") or {}
    for name, source in ((first.path.name, first), (second.path.name, first)):
        target = bundle / VARIANTS / name
        target.mkdir()
        for file in ("kernel.so", "plan.json"):
            (target / file).write_bytes((source.path / file).read_bytes())
        write_json(target / "variant.json", {key: build[key] for key in ("source_sha", "cubin_sha")})
    done = cli("verify", bundle, "--against", ledger)
    assert done.exit_code == 1
    right, wrong = sorted(done.stdout.splitlines(), key=len)
    assert right == f"{first.path.name}: kernel.so"
    assert "kernel.so: it holds cubin" in wrong
    assert "variant.json: its source_sha is" in wrong


def test_what_the_ledger_does_not_know(cli: Cli, out: Path, ledger: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = cli("verify", "small", "--against", tmp_path / "empty.jsonl", "-o", out)
    assert done.exit_code == 1
    assert done.stdout.count("the ledger has no line on its build") == 2
    assert cli("verify", "small", "--against", tmp_path / "absent", "-o", out).exit_code == 2


@pytest.mark.parametrize("way", ["name", "label", "plan of another"])
def test_a_folder_that_passes_for_another_variant(cli: Cli, out: Path, ledger: Path, way: str) -> None:
    """Its files are the ledger's; what it calls them, and how they are to be called and checked, is not."""
    first, second = (folder.path for folder in folders_in(out / "small"))
    plan = read_json(first / "plan.json") or {}
    told = {
        "name": "its name: this variant's folder is ",
        "label": "plan.json: it is of fastest (",
        "plan of another": "plan.json: it is of ",
    }
    if way == "name":
        first = first.rename(first.with_name(f"fastest-{first.name.rpartition('-')[2]}"))
    elif way == "label":
        write_json(first / "plan.json", {**plan, "label": "fastest"})
        first = first.rename(first.with_name(f"fastest-{first.name.rpartition('-')[2]}"))
    else:
        (first / "plan.json").write_bytes((second / "plan.json").read_bytes())
    done = cli("verify", first, "--against", ledger, "-o", out, "--json")
    assert done.exit_code == 1
    (found,) = json.loads(done.stdout)
    assert found["files"] == ["kernel.py", "kernel.cubin", "kernel.so", "kernel.o"]
    assert any(each.startswith(told[way]) for each in found["wrong"])


def test_what_the_ledger_calls_wrong_is_not_waved_through(cli: Cli, out: Path, ledger: Path) -> None:
    lines = read_ledger(ledger)
    at = next(number for number, line in enumerate(lines) if line.evidence.method == "emulated")
    hang = {"kind": "deadlock", "message": "m", "case": "tiny", "seed": 0, "lines": [], "details": {}}
    figures = {**lines[at].evidence.figures, "defects": [hang]}
    lines[at] = replace(lines[at], evidence=replace(lines[at].evidence, status="hang", figures=figures, diagnosis="m"))
    write_ledger(ledger, lines)
    done = cli("verify", "small", "--against", ledger, "-o", out)
    assert done.exit_code == 1
    assert "the ledger calls it hang, emulated (" in done.stdout
    assert done.stdout.count("the ledger calls it") == 1
