"""0, 1, 2 and 130 mean the same for every command, whoever reads the output, and wherever it goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from warpwright.cli.streams import Lenient
from warpwright.epilogue import registry
from warpwright.pipeline import emulating
from warpwright.record import folders_in, read_json, write_json

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

#: Commands with what they are given: CONFIG a good configuration, NAME one of its variants.
GOOD = {
    **{name: (name, "CONFIG") for name in ("run", "plan", "generate", "build", "emulate", "ledger", "clean")},
    **{name: (name, "NAME") for name in ("show", "explain", "advise")},
    "list": ("list",),
    "rules": ("rules",),
    "schema": ("schema",),
    "new": ("new",),
    "doctor": ("doctor",),
}
NEED_MORE = {"bundle": ("CONFIG", "--to", "bundle"), "import": ("results.jsonl",), "ci": ("CONFIG",),
             "validate": ("CONFIG",), "bench": ("CONFIG",), "check": ("program.py",)}  # fmt: skip
WITH_OUT = [name for name in (*GOOD, *NEED_MORE) if name not in ("rules", "schema", "new", "check", "doctor")]


def words(arguments: tuple[str, ...], config: Path, out: Path) -> list[str]:
    names = {"CONFIG": str(config), "NAME": folders_in(out / "small")[0].path.name}
    return [names.get(argument, argument) for argument in arguments]


@pytest.mark.parametrize("command", GOOD)
def test_what_is_right_is_0(cli: Cli, config: Path, out: Path, command: str) -> None:
    options = ["-o", out] if command in WITH_OUT else []
    assert cli(*words(GOOD[command], config, out), *options).exit_code == 0


@pytest.mark.parametrize("command", [*GOOD, *NEED_MORE])
def test_a_usage_error_is_2(cli: Cli, command: str) -> None:
    for arguments in ((command, "--frobnicate"), (command, "a", "b", "c", "d", "e", "--json", "--no-such")):
        result = cli(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "o such option" in result.stderr or "no such file" in result.stderr


@pytest.mark.parametrize("command", [name for name in (*GOOD, *NEED_MORE) if name not in ("rules", "doctor")])
def test_bad_input_is_2(cli: Cli, tmp_path: Path, command: str) -> None:
    options = {"bundle": ("--to", tmp_path / "b"), "explain": ("-p", "1,1,1"), "schema": (), "new": ("--family", "x")}
    target = tmp_path if command in ("new", "schema") else tmp_path / "absent.yaml"
    result = cli(command, target, *options.get(command, ()))
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", WITH_OUT)
def test_an_out_that_is_a_file_is_2(cli: Cli, config: Path, out: Path, tmp_path: Path, command: str) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    for path in (taken, taken / "below"):
        result = cli(*words(GOOD.get(command) or (command, *NEED_MORE[command]), config, out), "--out", path)
        assert result.exit_code == 2
        assert f"{taken} is a file, not a folder" in result.stderr


@pytest.mark.parametrize("command", ["run", "plan", "generate"])
def test_no_legal_point_is_1(cli: Cli, config: Path, tmp_path: Path, command: str) -> None:
    config.write_text(config.read_text().replace("  - design.tile.n: [64, 128]\n", ""))
    assert cli(command, config, "-o", tmp_path / "out").exit_code == 1


def test_a_wrong_variant_is_1(cli: Cli, config: Path, out: Path) -> None:
    first, second = folders_in(out / "small")
    ptx = first.path / "kernel.ptx"
    ptx.write_text(ptx.read_text().replace("\tret;", "\tfrobnicate.b32 %r1, %r1;\n\tret;"))
    assert cli("emulate", config, "-o", out).exit_code == 1
    assert cli("emulate", second.path, "-o", out).exit_code == 0
    second.source_path.write_text("raise ValueError('no kernel')\n")
    result = cli("build", second.path, "-j", 1)
    assert result.exit_code == 1
    assert "compile_failed" in result.stdout


def test_run_is_1_where_nothing_was_recorded_of_an_emulation(
    cli: Cli, config: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However that came about: the variant is built, nothing speaks against it, and nobody has run it."""
    monkeypatch.setattr(emulating, "to_emulate", lambda *_: [])
    monkeypatch.setattr(emulating, "recorded", lambda _: None)
    result = cli("run", config, "-o", out)
    assert result.exit_code == 1
    assert "emulate: could not be done for 2 variants" in result.stderr


@pytest.mark.parametrize("where", ["import sys; sys.exit(0)", "raise SystemExit", "1 / 0"])
def test_an_operation_that_ends_the_program_is_2_with_its_file(
    cli: Cli, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    folder = tmp_path / "ops"
    folder.mkdir()
    (folder / "twice.py").write_text(where + "\n")
    monkeypatch.setenv(registry.OPS_VARIABLE, str(folder))
    config.write_text(config.read_text().replace("n}\ndesign", "n}\n  epilogue: [twice]\ndesign"))
    for command in ("run", "plan"):
        result = cli(command, config, "-o", tmp_path / "out")
        assert result.exit_code == 2
        assert str(folder / "twice.py") in result.stderr.replace("\n", "")


def test_an_operation_that_ends_the_program_later_is_2_with_its_line(
    cli: Cli, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ops"
    folder.mkdir()
    (folder / "twice.py").write_text(
        "import sys\nfrom warpwright.epilogue.op import EpilogueOp\n"
        "OP = EpilogueOp('twice', 'x', 'x = x + x\\n', lambda xp, x, o: x, lambda xp, x, e, o: e,\n"
        "                registers=lambda values, n=[]: n.append(0) or (sys.exit(0) if n[1:] else 0))\n"
    )
    monkeypatch.setenv(registry.OPS_VARIABLE, str(folder))
    config.write_text(config.read_text().replace("n}\ndesign", "n}\n  epilogue: [twice]\ndesign"))
    result = cli("plan", config)
    assert result.exit_code == 2
    assert f"{folder / 'twice.py'}, line 4: SystemExit" in result.stderr.replace("\n", "")


def shell(line: str, config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which $W is the command; the last line of stdout is what it prints itself."""
    environment = {**os.environ, "W": f"{sys.executable} -m warpwright", "CONFIG": str(config), "OUT": str(out)}
    return subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("cut", "code"),
    [
        ("| true; code=${PIPESTATUS[0]}", 1),
        ("2>&1 | true; code=${PIPESTATUS[0]}", 1),
        (">&-; code=$?", 1),
        (">&- 2>&-; code=$?", 1),
        ("2>/dev/full >/dev/null; code=$?", 1),
        (">/dev/full; code=$?", 2),  # a file was asked for, and is not what it should be
    ],
)
def test_an_exit_code_is_what_was_found_and_not_who_read_it(config: Path, tmp_path: Path, cut: str, code: int) -> None:
    config.write_text(config.read_text().replace("  - design.tile.n: [64, 128]\n", ""))  # no point is legal
    done = shell(f"$W plan $CONFIG -o $OUT {cut}; echo; echo $code", config, tmp_path / "out")
    assert done.stdout.split()[-1] == str(code)
    for word in ("Traceback", "Exception ignored", "Broken pipe"):
        assert word not in done.stderr
    assert ("error: stdout: No space left on device" in done.stderr) == (code == 2)


@pytest.mark.parametrize("command", ["emulate", "bundle"])
def test_where_no_point_is_legal_the_way_out_is_plan(cli: Cli, config: Path, tmp_path: Path, command: str) -> None:
    config.write_text(config.read_text().replace("  - design.tile.n: [64, 128]\n", ""))
    done = cli(command, config, "-o", tmp_path / "out", *(["--to", tmp_path / "to"] if command == "bundle" else []))
    assert done.exit_code == 2
    assert f"no point is legal; `warpwright plan {config}` says why" in done.stderr.replace("\n", " ")


def test_what_is_written_to_a_closed_stdout_goes_nowhere_else(config: Path, out: Path) -> None:
    """Without a descriptor 1, the next file that is opened has that number, and output ends up in it."""
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert shell("$W run $CONFIG -o $OUT >&- 2>&-; exit $?", config, out).returncode == 0
    after = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert {path for path in before if after[path] != before[path]} <= {out / "small" / "current.json"}


def test_a_descriptor_that_fails_takes_everything() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    cut = Lenient(writer)
    assert [cut.write(b"lost"), cut.write(b"as well")] == [4, 7]
    assert cut.failure is None
    full = Lenient(os.open("/dev/full", os.O_WRONLY))
    assert full.write(b"lost") == 4
    assert full.failure is not None


def test_names_that_are_no_text_and_ascii_terminals_are_no_traceback(config: Path, out: Path) -> None:
    done = shell("PYTHONIOENCODING=ascii $W show $'\\xff\\xe9\\u2026' -o $OUT; exit $?", config, out)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "no configuration and no variant of that name" in done.stderr


def test_an_interrupt_is_130_and_what_was_finished_is_kept(config: Path, out: Path) -> None:
    for folder in folders_in(out / "small"):
        (folder.path / "emulated.json").unlink()
    write_json(out / "small" / "current.json", {})
    command = [sys.executable, "-m", "warpwright", "run", str(config), "-o", str(out), "-j", "1"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # ignored in a shell's background
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while read_json(out / "small" / "current.json") == {} and time.monotonic() < deadline:
        time.sleep(0.02)  # it has rendered; building and emulating lie ahead
    running.send_signal(signal.SIGINT)
    _, stderr = running.communicate(timeout=60)
    assert running.returncode == 130, stderr
    assert "interrupted: what was finished is kept" in stderr
    assert "Traceback" not in stderr


def test_a_device_is_never_replaced_by_a_file(cli: Cli, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for command in (("schema", pipe), ("new", pipe, "--force")):
        result = cli(*command)
        assert result.exit_code == 2
        assert "a device or a pipe" in result.stderr
    assert pipe.is_fifo()


READ = {"bundle": ("--to", "b"), "verify": ("--against", "ledger")}


@pytest.mark.parametrize("command", ["plan", "run", "show", "explain", "advise", "import", "check", *READ])
def test_a_device_or_a_pipe_is_refused_at_once_and_named(
    cli: Cli, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ledger").touch()
    os.mkfifo("pipe")
    for target, kind in (("/dev/zero", "a device"), ("pipe", "a pipe")):
        result = cli(command, target, *READ.get(command, ()))
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"it is {kind}, not a regular file; " in result.stderr
        assert target in result.stderr
    result = cli("verify", "quickstart", "--against", "pipe")
    assert (result.exit_code, "it is a pipe" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", ["plan", "run", "show", "explain", "list"])
def test_a_folder_of_configurations_is_named_as_one(
    cli: Cli, tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.yaml").touch()
    result = cli(command, "mine")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "mine: a folder in which no variant is recorded; name a configuration, a file of it" in result.stderr


def test_a_configuration_is_no_program(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("version: 1\n")
    result = cli("check", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{path}: a configuration, not a Python program; `warpwright run {path}`" in " ".join(result.stderr.split())
