"""The command `warpwright`: one small module per group of commands, and nothing heavy imported until it is needed."""

from __future__ import annotations

from warpwright.cli import bundle, check, ci, clean, doctor, emulate, explore, ledger, records, run
from warpwright.cli.app import app

__all__ = ["app", "main"]

# Importing a module registers its commands.
_COMMANDS = (run, emulate, check, explore, records, clean, bundle, ledger, ci, doctor)


def main() -> None:
    """The console script."""
    app()
