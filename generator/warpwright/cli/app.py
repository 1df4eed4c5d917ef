"""The command group: options that commands share, and errors turned into messages and exit codes.

Exit codes: 0 everything asked for is correct, 1 some variant is not, 2 it could not be done (usage, input, a file that
cannot be written), 130 interrupted. Whether somebody reads the output decides nothing (`cli/streams.py`).
"""

from __future__ import annotations

import contextlib
import os
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from warpwright.cli import completion
from warpwright.cli.terminal import say
from warpwright.errors import UserError

__all__ = [
    "TIMELINE",
    "AnyOutOption",
    "Commands",
    "ConfigArgument",
    "JobsOption",
    "JsonOption",
    "OnlyOption",
    "OutOption",
    "WholeConfigArgument",
    "app",
    "file_to_write",
]

#: The help lists commands in this order: the main job, its steps, what they left, the machine, the project.
_ORDER = (
    *("run", "new", "plan", "explain", "advise", "rules", "schema", "generate", "build", "emulate", "check"),
    *("validate", "bench", "diagnose"),
    *("list", "show", "ladder", "clean", "bundle", "import", "verify", "ledger", "doctor", "ci"),
)


class Commands(TyperGroup):
    """Runs a command and reports what went wrong as a person would: no tracebacks for bad input."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order of the way through, not of registration."""
        known = super().list_commands(ctx)
        return sorted(known, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))

    def get_params(self, ctx: Any) -> Any:
        """Return the group's options. A flag that nobody gave is False, not None: to read None as a flag, Typer imports
        pydantic, which takes longer than to print a command's help."""
        found = super().get_params(ctx)
        for option in found:
            if getattr(option, "is_flag", False) and option.default is None:
                option.default = False
        return found

    def invoke(self, ctx: Any) -> Any:
        try:
            with _own_warnings():
                return super().invoke(ctx)
        except OSError as error:
            _trace()
            where = f"{error.filename}: " if error.filename else ""
            say(f"error: {where}{error.strerror or error}", style="red")
        except KeyboardInterrupt:
            say("interrupted: what was finished is kept, and the same command takes it up from there")
            raise typer.Exit(130) from None
        except MemoryError:
            _trace()
            say("error: out of memory; fewer processes at once (--jobs) take less", style="red")
        except (Exception, SystemExit) as error:  # a command ends by typer.Exit: SystemExit is a user's code's
            where = _in_an_operation(error)
            ours = type(error).__module__.startswith("warpwright.") and isinstance(error, _expected())
            if not where and not ours:
                raise
            _trace()
            say(f"error: {error}" if ours else f"error: {where}: {type(error).__name__}: {error}", style="red")
        raise typer.Exit(2)


@contextlib.contextmanager
def _own_warnings() -> Iterator[None]:
    """Let this package's warnings be said as its errors are, without the line of code that gave them."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if category.__module__.startswith("warpwright."):
                say(f"warning: {message}", style="yellow")
            else:
                usual(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _trace() -> None:
    """Print where the present error comes from, for who asks for it."""
    if os.environ.get("WARPWRIGHT_TRACEBACK"):
        traceback.print_exc()


def _in_an_operation(error: BaseException) -> str:
    """Say which line of a user's epilogue operation an error comes from, "" where it is from none."""
    folders = [Path(folder).resolve() for folder in os.environ.get("WARPWRIGHT_OPS", "").split(os.pathsep) if folder]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if any(Path(frame.filename).resolve().is_relative_to(folder) for folder in folders):
            return f"{frame.filename}, line {frame.lineno}"
    return ""


def _expected() -> tuple[type[Exception], ...]:
    """Return the errors that speak to the user; imported only once something has gone wrong."""
    from warpwright.build.toolchain import ToolchainError
    from warpwright.device.supervise import DeviceUnavailableError
    from warpwright.device.variant import VariantError
    from warpwright.emulate import EmulatorError, PtxError
    from warpwright.errors import VocabularyError
    from warpwright.record import LedgerError
    from warpwright.spec import SpecErrors

    own = UserError, SpecErrors, VocabularyError, ToolchainError, LedgerError
    return *own, VariantError, DeviceUnavailableError, EmulatorError, PtxError


app = typer.Typer(
    name="warpwright",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="From YAML to validated warp-specialised CuTe-DSL kernels. Start with: warpwright run quickstart",
)

ConfigArgument = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG",
        autocompletion=completion.variants,
        help="A YAML file, or the name of a configuration (quickstart); one variant of it by CONFIG:INDEX or "
        "CONFIG:LABEL, or by its own name or folder.",
    ),
]
WholeConfigArgument = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG",
        autocompletion=completion.configurations,
        help="A YAML file, or the name of a configuration (quickstart).",
    ),
]


def _folder(path: Path) -> Path:
    """Refuse an output folder that cannot be one, before anything is done. UserError."""
    there = next((each for each in (path, *path.parents) if each.exists() or each.is_symlink()), path)
    if not there.is_dir() and (there.exists() or there.is_symlink()):
        what = "a file" if there.exists() else "a link to nothing"
        raise UserError(f"--out {path}: {there} is {what}, not a folder; choose another (also by WARPWRIGHT_OUT)")
    return path


def file_to_write(path: Path, begins: str = "") -> Path:
    """Return the path of a file that a command is to write. UserError where it can be no file, or where something lies
    there already that is not of the same kind: it does not begin, as such files do, with `begins`, white space aside.

    Files are written by a rename, which would put one in the place of a device (`/dev/null`), were that allowed.
    """
    if path.is_dir() or not path.name:
        raise UserError(f"{path}: a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: a device or a pipe; give the name of a file")
    if begins and path.exists():
        with path.open("rb") as file:
            found = b"".join(file.read(_HEAD).split())
        if found and not found.startswith(begins.encode()):
            raise UserError(f"{path}: holds something else already; choose another name, or delete it")
    return path


#: What every timeline that is written begins with.
TIMELINE = '{"otherData":{'
_HEAD = 64  # bytes
_OUT: Any = {"metavar": "DIR", "envvar": "WARPWRIGHT_OUT", "help": "Where variants are kept."}
OutOption = Annotated[Path, typer.Option("--out", "-o", callback=_folder, **_OUT)]
#: The same for a command that has something to say of a folder that cannot be used.
AnyOutOption = Annotated[Path, typer.Option("--out", "-o", **_OUT)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print data instead of a table.")]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, max=1024, metavar="N", help="Processes at once.  [default: one per core]"),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="TEXT",
        help="Only variants whose name has TEXT in it, or is like it: '*-c2x1-*' (may be repeated).",
    ),
]


def _version(value: bool) -> None:
    if value:
        from warpwright import __version__

        typer.echo(f"warpwright {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
