"""The process that runs a program with the emulator in the place of a GPU: what `warpwright check` starts.

    python -m warpwright.checking.script REPORT OPTIONS PROGRAM [ARGUMENT ...]

OPTIONS are JSON (see `emulated_gpu`). REPORT is written whatever happens to the program: what was found up to then, and
how the program ended. The program sees its own folder first on its import path, its arguments, and __main__ as its
name.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from warpwright.child import die_with_parent

__all__ = ["run_program"]


def run_program(program: Path, arguments: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Run a program and return what is to be reported, as data.

    ended: "returned", "exited" (with a code), "raised", "stopped" (by a finding that nothing sensible follows) or
    "interrupted" or "unsupported" (the emulator cannot go on); words: what was said then.
    """
    from warpwright.checking import places
    from warpwright.checking.declared import run_declared
    from warpwright.checking.errors import CheckError, FindingsError
    from warpwright.checking.session import emulated
    from warpwright.emulate import EmulatorError, PtxError

    places.program = program
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    ended, words, code = "returned", "", 0
    with emulated(**options) as gpu:
        try:
            names = runpy.run_path(str(program), run_name="__main__")
            run_declared(gpu, names)
        except SystemExit as error:
            ended, code = "exited", error.code if isinstance(error.code, int) else int(error.code is not None)
            words = error.code if isinstance(error.code, str) else ""
        except FindingsError as error:
            ended = "stopped"
            if not gpu.findings:  # of an emulated GPU of the program's own
                ended, words, code = "raised", f"{type(error).__name__}: {error}", 1
        except (CheckError, EmulatorError, PtxError) as error:
            ended, words = "unsupported", str(error)
            if os.environ.get("WARPWRIGHT_TRACEBACK"):
                traceback.print_exc()
        except KeyboardInterrupt as error:
            ended, words, code = "interrupted", _where(error, program), 130
        except BaseException as error:
            code = 1
            ended, words = "raised", f"{type(error).__name__}: {error}"
            traceback.print_exception(error.with_traceback(_in_program(error, program)))
        return {**gpu.summary.data(), "ended": ended, "words": words, "code": code, "timelines": gpu.timelines}


def _in_program(error: BaseException, program: Path) -> TracebackType | None:
    """The traceback from the program's first line on, without what started it; all of it where it never began."""
    found = error.__traceback__
    while found is not None and found.tb_frame.f_code.co_filename != str(program):
        found = found.tb_next
    return found or error.__traceback__


def _where(error: BaseException, program: Path) -> str:
    """File and line of the program that an error has come through last."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(program)]
    return f"{program.name}:{lines[-1]}" if lines else program.name


def _main() -> None:
    die_with_parent()
    # Started in the background a process ignores it; that is for the command to know.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    report, options, program, *arguments = sys.argv[1:]
    found = run_program(Path(program), arguments, json.loads(options))
    sys.stdout.flush()
    Path(report).write_text(json.dumps(found, default=str), encoding="utf-8")
    # What compiled code has registered to happen at the end would find no runtime any more.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    _main()
