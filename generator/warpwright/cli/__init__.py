"""The command `warpwright`: one small module per group of commands, and nothing heavy imported until it is needed."""

from __future__ import annotations

import sys

from warpwright.cli import (
    advise,
    bundle,
    check,
    ci,
    clean,
    diagnose,
    doctor,
    emulate,
    explore,
    ladder,
    ledger,
    listing,
    records,
    run,
    verify,
)
from warpwright.cli.app import app

__all__ = ["app", "main"]

# Importing a module registers its commands.
_COMMANDS = (
    run,
    emulate,
    diagnose,
    check,
    explore,
    advise,
    listing,
    ladder,
    records,
    clean,
    bundle,
    verify,
    ledger,
    ci,
    doctor,
)


def main() -> None:
    """The console script: `app` with streams that never decide its exit code, and the last word on every error."""
    from warpwright.cli.streams import finish, open_streams

    open_streams()
    try:
        app(prog_name="warpwright")
        code: object = 0
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:  # before or after the command proper
        code = 130
    except BaseException as error:
        code = 2
        _own_fault(error)
    failure = finish()
    if failure:
        print(f"error: {failure}", file=sys.stderr)
        code = 2
    sys.exit(code if code is None or isinstance(code, int) else 2)


def _own_fault(error: BaseException) -> None:
    """Show where an error comes from that nobody foresaw, and whose fault it is."""
    import traceback

    traceback.print_exception(error)
    print(
        "error: this is a fault of warpwright, not of what was asked for; please report the lines above",
        file=sys.stderr,
    )
