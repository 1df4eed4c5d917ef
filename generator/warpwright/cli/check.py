"""The command that runs any CuTe-DSL program with the emulator in the place of a GPU: check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from warpwright.cli.app import TIMELINE, JsonOption, app, file_to_write
from warpwright.cli.completion import SUFFIXES
from warpwright.cli.terminal import count, print_json, print_table, say, status_style
from warpwright.errors import UserError
from warpwright.kinds import not_a_file

__all__: list[str] = []

_COLUMNS = ["launch", "kernel", "grid", "cluster", "shared", "regs", "warp instr.", "seconds", "status"]


@app.command(context_settings={"allow_interspersed_args": False})
def check(
    program: Annotated[Path, typer.Argument(metavar="FILE", help="A Python program that launches CuTe-DSL kernels.")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENT", help="What follows FILE is the program's own.")
    ] = None,
    arch: Annotated[
        str,
        typer.Option(
            "--arch", metavar="ARCH", help="sm_90a or sm_100a.  [default: sm_100a where FILE speaks of Blackwell]"
        ),
    ] = "",
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, metavar="N", help="In how many orders of the warps each launch is run.")
    ] = 2,
    multiprocessors: Annotated[
        int, typer.Option("--sms", min=1, metavar="N", help="Multiprocessors of the emulated GPU.")
    ] = 8,
    strict: Annotated[bool, typer.Option("--strict", help="Notes on kernels count as findings.")] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="JSON", help="Write a timeline of one CTA of each launch (Chrome trace)."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run any CuTe-DSL program as it stands, in the emulator.

    Where it would reach a GPU, every kernel that it launches is executed on the CPU, with the program's own arrays.
    Found are data races, deadlocks, accesses out of bounds and reads of what nobody wrote; the program's own
    comparisons mean what they do on a GPU.
    Options of this command come before FILE, those of the program after it (`--` may stand between):

    warpwright check --seeds 5 program.py --size 256

    Exit code: 0 nothing was found, 1 something is wrong, 2 the program cannot be checked.
    """
    from warpwright.checking.command import likely_arch, run_checked
    from warpwright.checking.errors import CheckError
    from warpwright.checking.limits import Limits

    why = not_a_file(program)
    if why:
        raise UserError(f"{program}: {why}; give a Python program that launches CuTe-DSL kernels")
    if program.suffix in SUFFIXES:
        raise UserError(
            f"{program}: a configuration, not a Python program; `warpwright run {program}` emulates its variants"
        )
    if trace is not None:
        file_to_write(trace, TIMELINE)
    options = {
        "arch": arch or likely_arch(program), "seeds": seeds, "multiprocessors": multiprocessors,
        "trace": trace is not None, "strict": strict,
    }  # fmt: skip
    given = arguments or []
    if given[:1] == ["--"]:
        given = given[1:]
    try:
        Limits.of(str(options["arch"]), multiprocessors)
        found = run_checked(program, given, options, to_stderr=as_json)
    except CheckError as error:
        raise UserError(f"--arch: {error}") from None
    except KeyboardInterrupt:
        say("interrupted: nothing was found up to then that could be told")
        raise typer.Exit(130) from None
    timelines = found.pop("timelines", [])
    if trace is not None:
        from warpwright.checking.timeline import write_timelines

        write_timelines(trace, found["launches"], timelines)
    if as_json:
        print_json(found)
    else:
        _print(found)
        if not found["launches"] and (program.parent / "plan.json").is_file():  # where it is rendered, none calls it
            say(f"{program}: a variant's kernel, which nothing here calls: `warpwright emulate {program.parent}` does")
    raise typer.Exit(_code(found))


def _code(found: dict[str, Any]) -> int:
    if found["ended"] == "interrupted":
        return 130
    if found["status"] != "correct" or found["ended"] == "raised" or found["code"]:
        return 1
    return 2 if found["ended"] == "unsupported" or not found["launches"] else 0


def _print(found: dict[str, Any]) -> None:
    for line in _causes(found):
        say(line, style="bold red", result=True)
    if found["launches"]:
        _print_launches(found["launches"])
    for where in [*found["launches"], found]:
        for message in where["findings"]:
            say(f"{message['kind']}{_of(where)}: {message['text']}", style="bold red", result=True)
    for where in [*found["launches"], found]:
        for message in where["notes"]:
            say(f"note{_of(where)}: {message['kind']}: {message['text']}", style="dim", result=True)
    if not found["launches"] and found["ended"] != "unsupported":
        say("the program launched no kernel: nothing was checked", style="yellow", result=True)
    findings, notes = (sum(len(where[what]) for where in [*found["launches"], found]) for what in ("findings", "notes"))
    say(
        f"{count(len(found['launches']), 'launch')} for {found['arch']}: {count(findings, 'finding')},"
        f" {count(notes, 'note')}{_failure(found)}",
        style=status_style(found["status"]) if not _code(found) else "bold red",
        result=True,
    )


def _failure(found: dict[str, Any]) -> str:
    """What else than findings makes the exit code, in the last line."""
    words = {
        "raised": "; the program failed: it raised " + found["words"].partition(":")[0],
        "exited": f"; the program failed: it exited with {found['code']}" if found["code"] else "",
        "unsupported": "; it cannot be checked",
        "interrupted": "; interrupted",
    }
    return str(words.get(found["ended"], ""))


def _of(where: dict[str, Any]) -> str:
    return f" (launch {where['number']})" if "number" in where else ""


def _causes(found: dict[str, Any]) -> list[str]:
    """Why the exit code is not 0, the gravest finding first: a line of each cause."""
    from warpwright.checking.report import Message, status_of

    lines = []
    wheres = [where for where in [*found["launches"], found] if where["findings"]]
    if wheres:
        where = next((where for where in wheres if where["status"] == found["status"]), wheres[0])
        message = where["findings"][0]
        more = sum(len(each["findings"]) for each in wheres) - 1
        place = " and ".join(message["lines"][:2]) or message["text"].partition("\n")[0]
        kernel = f" in launch {where['number']}, {where['kernel']}" if "number" in where else ""
        stopped = ", where the program was stopped" if found["ended"] == "stopped" else ""
        others = f" ({count(more, 'more finding')})" if more else ""
        status = status_of([Message(message["kind"], "")])
        lines.append(f"{status}: {message['kind']}{kernel}: {place}{stopped}{others}")
    if found["ended"] == "unsupported":
        lines.append(f"cannot be checked: {found['words']}")
    elif found["ended"] == "interrupted":
        lines.append(f"interrupted at {found['words']}; what was launched before is below")
    elif found["ended"] == "raised":  # its traceback, with all of its words, is above
        lines.append("the program raised " + " ".join(found["words"].split("\n\n")[0].split()))
    elif found["code"]:
        lines.append(f"the program exited with {found['code']}{': ' + found['words'] if found['words'] else ''}")
    return lines


def _print_launches(launches: list[dict[str, Any]]) -> None:
    """A table of at most 100 columns for names of up to 35 letters: without clusters where there are none."""
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
            "nothing found" if launch["status"] == "correct" else launch["status"],
        ]
        for launch in launches
    ]
    single = all(launch["cluster"] == [1, 1, 1] for launch in launches)
    columns = [name for name in _COLUMNS if not (single and name == "cluster")]
    if single:
        rows = [[*row[:3], *row[4:]] for row in rows]
    print_table(columns, rows, right=[_COLUMNS[0], *_COLUMNS[4:8]], styles="status", fold="kernel")
