"""Random command lines: whatever is typed, an exit code of 0, 1 or 2, a sentence and no traceback, in bounded time; and
what is recorded stays as it is.

Compilers and the emulator are away, so that thousands of lines take a minute: what needs them in earnest must end with
a sentence too. Half of the lines are what the commands' own descriptions allow, the others are words.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import random
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
import typer
from typer.testing import CliRunner

from tests.cli.conftest import SMALL
from warpwright.build import builder
from warpwright.bundle import pack
from warpwright.cli import app
from warpwright.emulate import EmulatorError
from warpwright.emulate.variant import harness, parallel
from warpwright.record import folders_in

COMMAND: Any = typer.main.get_command(app)
#: `check` starts a program, `doctor` and `ci` look at the whole machine and the whole project.
COMMANDS = sorted(set(COMMAND.commands) - {"check", "ci", "doctor"})
#: What only tells changes nothing; what writes a file writes that one.
READERS, WRITERS = {"plan", "explain", "advise", "rules", "list", "show", "verify"}, {"new", "schema"}
JUNK = ("", " ", "-", "--", ":", "::", "small:", ":0", "small:0:0", "*", "[", "a" * 5000, "9" * 5000, "-1", "0", "1e9",
        "٣", "\udcff", "\n", "\x1b[31m", ".", "~", "small.yaml/x", "ledger", "out/ledger", "/dev/null", "/dev/full",
        "%s", "{0}", "nothing.yaml", "x.yaml", "1,1,1", "99999999999,1,1", "0x10", "registers>168", "measured<1us",
        "status=", "evidence>=built", "correct", "-predicted", "gemm", "tiles", "7", "bundle", "3.12", "\0", "a\0b",
        "-" * 300, "/", "..", "../here", "small.yaml:1.yaml", "out/small/manifest.json", "'", "$(id)")  # fmt: skip
#: Values that are right somewhere.
FITTING = {
    "--only": ("128x64", "*128x128*", "*", "x"), "--out": ("out", "elsewhere", "out/small"), "--jobs": ("1", "2"),
    "--where": ("registers>168", "measured<1us", "evidence>=built"), "--status": ("correct", "illegal", "stale"),
    "--sort": ("predicted", "-measured", "variant"), "--problem": ("512,512,512", "1x1x1", "64"), "--seed": ("0", "7"),
    "--case": ("tiles", "aligned"), "--trace": ("t.json", "small.yaml"), "--to": ("bundle", "out", "."),
    "--python": ("3.12", "3.9"), "--family": ("copy", "gemm"), "--explained": (".", "out"),
    "--against": ("small.yaml", "out/ledger/small.jsonl"),
}  # fmt: skip
LINES = 3000
#: Of this process's CPU, whatever else the machine does; and characters that a line may print.
SECONDS, CHARACTERS = 10.0, 200_000


@dataclass(frozen=True)
class Done:
    code: Any
    out: str
    err: str
    error: str = ""


def call(words: Sequence[str]) -> Done:
    """Run a command line in this process, as the console script does."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2)]
    code, error = 0, ""
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        try:
            COMMAND.main(list(words), prog_name="warpwright")
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            error = traceback.format_exc()
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return Done(code, *texts, error)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("commands")
    (top / "small.yaml").write_text(SMALL)
    result = CliRunner().invoke(app, ["run", str(top / "small.yaml"), "--out", str(top / "out"), "--jobs", "1"])
    assert result.exit_code == 0, result.stderr
    return top


@pytest.fixture
def nothing_in_earnest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a compile nor an emulation: the machine cannot. Nor are 44 MB compressed."""

    def refuse(*_: Any) -> NoReturn:
        raise OSError(12, "Cannot allocate memory")

    def refused(work: Any, folders: Sequence[Path], jobs: Any, on_step: Any, *_: Any) -> list[parallel.Answer]:
        for _folder in folders:
            on_step()
        return [parallel.Answer(error="no process could be started for it")] * len(folders)

    def not_here(*_: Any) -> NoReturn:
        raise EmulatorError("not emulated: not here")

    monkeypatch.setattr(pack, "compressed_runtime", lambda: b"")  # 4 s
    monkeypatch.setattr(pack, "tvm_ffi_files", functools.cache(pack.tvm_ffi_files))
    monkeypatch.setattr(builder, "Pool", refuse)
    monkeypatch.setattr(parallel, "each", refused)
    monkeypatch.setattr(harness, "load", not_here)


def line(rng: random.Random, names: list[str]) -> list[str]:
    name = rng.choice(COMMANDS) if rng.random() < 0.98 else rng.choice(JUNK)
    if name in COMMAND.commands and rng.random() < 0.6:
        return [name, *_described(rng, COMMAND.commands[name].params, names)]
    words, options = [name], [option for each in COMMAND.commands.values() for p in each.params for option in p.opts]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 4, 6))):
        words.append(rng.choice(rng.choices((names, JUNK, options, ("-h", "--", "-z")), (5, 3, 4, 1))[0]))
    return words


def _described(rng: random.Random, params: Sequence[Any], names: list[str]) -> list[str]:
    """Words that a command's own description allows, with values that fit but for a few."""
    words: list[str] = []
    for each in params:
        if each.param_type_name == "argument":
            if each.required or rng.random() < 0.7:
                words.append(rng.choice(names) if rng.random() < 0.85 else rng.choice(JUNK))
        elif rng.random() < (0.9 if "[required]" in (each.help or "") else 0.2) and "--help" not in each.opts:
            option = rng.choice([*each.opts, *each.secondary_opts])
            fitting = next((FITTING[name] for name in each.opts if name in FITTING), ("x",))
            value = rng.choice(fitting) if rng.random() < 0.8 else rng.choice(JUNK)
            words += [option] if each.is_flag else rng.choice([[option, value], [f"{option}={value}"]])
    return words if rng.random() < 0.7 else rng.sample(words, len(words))


def state(home: Path) -> dict[str, tuple[int, int, int]]:
    """Every file below a folder, with what changes when it is written."""
    found, waiting = {}, [str(home)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    status = entry.stat(follow_symlinks=False)
                    found[entry.path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def judge(words: list[str], done: Done, told: str) -> None:
    """What holds of every command line, wherever it was typed."""
    assert not done.error, (told, done.error)
    assert type(done.code) is int, (told, done.code)
    assert done.code in (0, 1, 2), (told, done.code)
    assert "Traceback" not in done.out + done.err, told
    assert len(done.out) + len(done.err) < CHARACTERS, told
    if done.code == 2:
        assert done.err.strip(), told
    elif "--json" in words and not {"-h", "--help", "--version"} & {*words}:
        json.loads(done.out)


def test_random_command_lines(
    built: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    nothing_in_earnest: None,
    rng: random.Random,
    seed: int,
) -> None:
    home, ended = tmp_path / "here", Counter[tuple[str, int]]()
    folder = folders_in(built / "out" / "small")[0]
    path = folder.path.relative_to(built)
    names = ["small.yaml", "./small.yaml", "small", "small:0", "small.yaml:1", "small:128x128", folder.label,
             folder.path.name, folder.identity, str(path), str(path / "kernel.py"), "out", "out/small", "quickstart:0",
             "quickstart", "128x64", "*128x128*", "mine.yaml"]  # fmt: skip
    # All that a variant's folder holds, and the configuration: no line here has leave to change any of it.
    kept = {each.relative_to(built): each.read_bytes() for each in built.glob("out/small/*/*")}
    kept[Path("small.yaml")] = SMALL.encode()
    for number in range(LINES):
        words = line(rng, names)
        told = f"ATTACK_SEED={seed}, line {number}: {[word[:60] for word in words]}"
        if number % 40 == 0:  # what lines before have left is not what this is about
            monkeypatch.chdir(tmp_path)
            shutil.rmtree(home, ignore_errors=True)
            shutil.copytree(built, home)
            monkeypatch.chdir(home)
            before = state(home)
        started = time.process_time()
        done = call(words)
        assert time.process_time() - started < SECONDS, told
        judge(words, done, told)
        after = state(home)
        changed = {Path(name).relative_to(home) for name in before.keys() | after.keys()
                   if before.get(name) != after.get(name)}  # fmt: skip
        assert not [name for name in after if ".ww-" in name], told
        command = next((word for word in words if not word.startswith("-")), "")
        if command in READERS or (done.code == 2 and "Usage: " in done.err):
            assert not changed, (told, changed)
        if command in WRITERS:
            assert len(changed) == (done.code == 0 and not done.out and "-h" not in words), (told, changed)
        if command == "new" and "--force" in words and Path("small.yaml") in changed:
            shutil.copy(built / "small.yaml", "small.yaml")
            after = state(home)
        for name in changed & kept.keys():
            assert Path(name).read_bytes() == kept[name], (told, name)
        before = after
        ended[command, done.code] += 1
    for command in set(COMMANDS) - {"validate", "bench", "import"}:  # each was told something that it could do
        assert ended[command, 0] + ended[command, 1], (command, ended)
