"""Random command lines: whatever is typed, an exit code of 0, 1 or 2, a sentence and no traceback, in bounded time."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import SMALL
from warpwright.cli import app
from warpwright.record import folders_in

#: Without `run`, `check`, `import` and `ci`, which may work for minutes; `build` and `emulate` find their work done.
COMMANDS = ("plan", "explain", "rules", "new", "schema", "generate", "build", "emulate", "validate", "bench", "list",
            "show", "clean", "bundle", "ledger", "run")  # fmt: skip
OPTIONS = ("--only", "--out", "-o", "--json", "--jobs", "-j", "--where", "--status", "--sort", "--problem", "-p",
           "--case", "--seed", "--trace", "--again", "--force", "--family", "--to", "--prune", "--python",
           "--explained", "--coverage", "-h", "--help", "--version", "--yes", "--nothing", "-z", "--")  # fmt: skip
JUNK = ("", " ", "-", "--", ":", "::", "small:", ":0", "small:0:0", "*", "[", "a" * 5000, "9" * 5000, "-1", "0", "1e9",
        "٣", "\udcff", "\n", "\x1b[31m", ".", "~", "small.yaml/x", "ledger", "out/ledger",
        "%s", "{0}", "nothing.yaml", "x.yaml", "1,1,1", "99999999999,1,1", "0x10", "registers>168", "measured<1us",
        "status=", "evidence>=built", "correct", "-predicted", "gemm", "tiles", "7", "bundle", "3.12")  # fmt: skip
LINES = 400
#: What lines before have undone is built and emulated again, which may take a while on a busy machine.
SECONDS, WORKING, CHARACTERS = 20.0, 120.0, 200_000


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("commands")
    (top / "small.yaml").write_text(SMALL)
    result = CliRunner().invoke(app, ["run", str(top / "small.yaml"), "--out", str(top / "out"), "--jobs", "1"])
    assert result.exit_code == 0, result.stderr
    return top


def line(rng: random.Random, names: list[str]) -> list[str]:
    words = [rng.choice(COMMANDS) if rng.random() < 0.97 else rng.choice(JUNK)]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 4, 6))):
        pool = rng.choices((names, JUNK, OPTIONS), (4, 2, 3))[0]
        words.append(rng.choice(pool))
    return words


def _long(words: list[str]) -> bool:
    """Whether a line may compile or emulate in earnest: of another configuration, elsewhere, or what was done."""
    others = any(word.startswith(("quick", "--again", "--trace", "--case", "--mutate", "--o", "-o")) for word in words)
    return words[0] in ("run", "build", "emulate", "bundle") and others


def test_random_command_lines(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: random.Random, seed: int
) -> None:
    home = Path(shutil.copytree(built, tmp_path / "here"))
    monkeypatch.chdir(home)
    folder = folders_in(Path("out/small"))[0]
    names = ["small.yaml", "./small.yaml", "small", "small:0", "small.yaml:1", "small:128x128", folder.label,
             folder.path.name, folder.identity, str(folder.path), str(folder.source_path), "out", "out/small",
             "quickstart:0", "128x64", "*128x128*"]  # fmt: skip
    for number in range(LINES):
        words = line(rng, names)
        if _long(words):
            continue
        if number % 50 == 0:  # what lines before have left or deleted is not what this is about
            shutil.rmtree("out", ignore_errors=True)
            shutil.copytree(built / "out", "out")
        if Path("small.yaml").read_text() != SMALL:  # by `new small.yaml --force`
            shutil.copy(built / "small.yaml", "small.yaml")
        started = time.perf_counter()
        result = CliRunner().invoke(app, words)
        spent = time.perf_counter() - started
        told = f"ATTACK_SEED={seed}, line {number}: {[word[:60] for word in words]}"
        assert result.exception is None or isinstance(result.exception, SystemExit), (told, result.exc_info)
        assert result.exit_code in (0, 1, 2), told
        assert "Traceback" not in result.output, told
        assert len(result.output) < CHARACTERS, told
        assert spent < (WORKING if words[0] in ("run", "build", "emulate") else SECONDS), (told, spent)
        if result.exit_code == 2:
            assert result.stderr.strip(), told
