"""`warpwright verify`: files from elsewhere against a ledger, without running any code of theirs."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

from tests.records import rewrite
from warpwright.device.opening import DESCRIPTION, VARIANTS
from warpwright.pipeline.verifying import cubins_in
from warpwright.record import folders_in, write_json

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
        (target / "kernel.so").write_bytes((source.path / "kernel.so").read_bytes())
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
