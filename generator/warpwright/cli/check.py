"""The command that runs any CuTe-DSL program with the emulator in the place of a GPU: check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from warpwright.cli.app import JsonOption, app
from warpwright.cli.terminal import count, print_json, print_table, say, status_style
from warpwright.errors import UserError

__all__: list[str] = []

_COLUMNS = ["launch", "kernel", "grid", "cluster", "shared", "registers", "warp instructions", "seconds", "status"]


@app.command(context_settings={"allow_interspersed_args": False})
def check(
    program: Annotated[
        Path, typer.Argument(metavar="FILE.py", help="A Python program that launches CuTe-DSL kernels.")
    ],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[-- ARGUMENT ...]", help="For the program.")] = None,
    arch: Annotated[
        str, typer.Option("--arch", metavar="ARCH", help="What to compile for.  [default: by the program's text]")
    ] = "",
    seeds: Annotated[int, typer.Option("--seeds", min=1, metavar="N", help="Schedules of each launch.")] = 2,
    multiprocessors: Annotated[
        int, typer.Option("--sms", min=1, metavar="N", help="Multiprocessors that the emulated GPU has.")
    ] = 8,
    strict: Annotated[bool, typer.Option("--strict", help="Notes count as findings.")] = False,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write a timeline of one CTA of each launch.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run a CuTe-DSL program as it stands, with the emulator in the place of a GPU.

    Every kernel that it launches is executed on the CPU, with the program's own arrays: data races, deadlocks, accesses
    out of bounds, what is read before it is written. The program's own comparisons then mean what they do on a GPU.
    Exit code: 0 nothing was found, 1 something is wrong, 2 the program cannot be checked.
    """
    from warpwright.checking.command import likely_arch, run_checked

    if not program.is_file():
        raise UserError(f"{program}: no such file; give a Python program that launches CuTe-DSL kernels")
    options = {
        "arch": arch or likely_arch(program), "seeds": seeds, "multiprocessors": multiprocessors,
        "trace": trace is not None, "strict": strict,
    }  # fmt: skip
    found = run_checked(program, arguments or [], options, to_stderr=as_json)
    timelines = found.pop("timelines", [])
    if trace is not None:
        from warpwright.checking.timeline import write_timelines

        write_timelines(trace, found["launches"], timelines)
    if as_json:
        print_json(found)
    else:
        _print(found)
    raise typer.Exit(_code(found))


def _code(found: dict[str, Any]) -> int:
    if found["status"] != "correct" or found["ended"] == "raised" or found["code"]:
        return 1
    return 2 if found["ended"] == "unsupported" or not found["launches"] else 0


def _print(found: dict[str, Any]) -> None:
    rows = [
        [
            str(launch["number"]),
            launch["kernel"],
            "x".join(map(str, launch["grid"])),
            "x".join(map(str, launch["cluster"])),
            f"{launch['shared_bytes']:,}",
            str(launch["registers"]),
            f"{launch['warp_instructions']:,}",
            f"{launch['seconds']:.2f}",
            launch["status"] if launch["complete"] else f"{launch['status']}, stopped",
        ]
        for launch in found["launches"]
    ]
    if rows:
        print_table(_COLUMNS, rows, right=[_COLUMNS[0], *_COLUMNS[4:8]], styles="status")
    for where in [*found["launches"], found]:
        name = f" (launch {where['number']})" if "number" in where else ""
        for message in where["findings"]:
            say(f"{message['kind']}{name}: {message['text']}", style="bold red")
    for where in [*found["launches"], found]:
        name = f" (launch {where['number']})" if "number" in where else ""
        for message in where["notes"]:
            say(f"note{name}: {message['kind']}: {message['text']}", style="dim")
    _end(found)


def _end(found: dict[str, Any]) -> None:
    if found["ended"] == "unsupported":
        say(f"cannot be checked: {found['words']}", style="bold red")
    elif found["ended"] == "raised":
        say(f"the program raised {found['words']}", style="bold red")
    elif found["code"]:
        say(
            f"the program exited with {found['code']}{': ' + found['words'] if found['words'] else ''}",
            style="bold red",
        )
    if not found["launches"] and found["ended"] != "unsupported":
        say("the program launched no kernel: nothing was checked", style="yellow")
    findings = sum(len(where["findings"]) for where in [*found["launches"], found])
    notes = sum(len(where["notes"]) for where in [*found["launches"], found])
    say(
        f"{count(len(found['launches']), 'launch')} for {found['arch']}: {count(findings, 'finding')},"
        f" {count(notes, 'note')}",
        style=status_style(found["status"]),
    )
