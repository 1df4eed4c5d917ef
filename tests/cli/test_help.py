"""The command starts at once, and its help fits a narrow terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from warpwright import __version__

if TYPE_CHECKING:
    from tests.cli.conftest import Cli

COMMANDS = (
    *("run", "new", "plan", "explain", "advise", "rules", "schema", "generate", "build", "emulate", "check"),
    *("validate", "bench", "diagnose"),
    *("list", "show", "ladder", "clean", "bundle", "import", "verify", "ledger", "doctor", "ci"),
)


#: What takes longer to import than all that help needs together.
HEAVY = (
    *("cutlass", "torch", "numpy", "ml_dtypes", "jinja2", "yaml", "pydantic", "rich", "asyncio", "email", "ctypes"),
    *("importlib.metadata", "multiprocessing", "warpwright.record", "warpwright.pipeline", "warpwright.plan"),
    *("warpwright.spec", "warpwright.device", "warpwright.emulate", "warpwright.build"),
)


def test_nothing_heavy_is_imported_to_show_help() -> None:
    asked = [["--help"], ["--version"], *([command, "--help"] for command in COMMANDS)]
    program = (
        "import sys; before = set(sys.modules)\n"
        "from warpwright.cli import app\n"
        f"for arguments in {asked}:\n"
        "    app(arguments, prog_name='warpwright', standalone_mode=False)\n"
        f"print(*[name for name in {HEAVY} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.count("Usage:") == len(asked) - 1
    assert done.stdout.splitlines()[-1] == ""


def test_version(cli: Cli) -> None:
    assert cli("--version").stdout == f"warpwright {__version__}\n"


def test_help_lists_every_command_with_a_whole_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = cli("--help").stdout
    listed = re.findall(r"^  ([a-z]+) +(\S.*)$", text[text.index("Commands:") :], re.MULTILINE)
    assert [name for name, _ in listed] == list(COMMANDS)
    assert [line for _, line in listed if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(cli: Cli, command: str) -> None:
    result = cli(command, "-h")
    assert result.exit_code == 0
    assert "Usage:" in result.stdout
