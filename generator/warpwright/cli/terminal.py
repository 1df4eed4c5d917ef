"""How commands speak: results on stdout, progress and messages on stderr, tables that never cut a name off."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Terminal", "count", "print_json", "print_table", "printable", "progress", "say", "status_style"]

_QUIET_SECONDS = 5.0
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLES = {"correct": "green", "degraded": "yellow", "illegal": "dim", "": "dim"}


def status_style(status: str) -> str:
    """Return the colour of a status: whatever is neither right nor merely degraded is red."""
    return _STYLES.get(status, "bold red")


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where there is not exactly one."""
    ending = "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{'' if number == 1 else ending}"


def printable(text: str) -> str:
    """Return a text without what a terminal would obey: colours, cursor movements and other control characters.

    Messages quote what compilers say and what files from elsewhere hold.
    """
    return _CONTROL.sub("", _ESCAPE.sub("", text))


def _console(stderr: bool = False) -> Console:
    """Return where to print. With NO_COLOR nothing is styled at all: bold and dim are codes as well."""
    from rich.console import Console

    plain_text = bool(os.environ.get("NO_COLOR"))
    return Console(stderr=stderr, highlight=False, color_system=None if plain_text else "auto")


def say(text: str, style: str = "", result: bool = False) -> None:
    """Print a message for a person, with `text` as it stands (no markup): on stderr, a `result` on stdout."""
    sys.stdout.flush()  # where both go to one place, keep them in order
    _console(stderr=not result).print(printable(text), style=style or None, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout, keys sorted."""
    import json

    from warpwright.canonical import plain

    sys.stdout.write(json.dumps(plain(value), sort_keys=True, indent=2, allow_nan=False) + "\n")


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str] = (),
    styles: str = "",
    fold: str = "",
) -> None:
    """Print a table on stdout, in which nothing is ever cut off.

    On a terminal that is too narrow, the text of the column `fold` goes on in the next line, or, without one, each row
    takes two lines: the first column's cell (a name, to be copied whole), then the others. Into a pipe or a file each
    row is one line of aligned plain text, however long, so that grep, sort and awk work. `right` names the columns of
    numbers, `styles` the column that holds a status.
    """
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(len(line[index]) for line in [list(columns), *cells]) for index in range(len(columns))]
    if not sys.stdout.isatty():
        for line in [list(columns), *([cell or "-" for cell in row] for row in cells)]:
            sys.stdout.write(_aligned(columns, line, widths, right).rstrip() + "\n")
        return
    console = _console()
    fits = sum(widths) + 2 * (len(columns) - 1) <= console.width
    if fits or fold:
        console.print(_rich_table(columns, cells, right, styles, fold))
        return
    styled = columns.index(styles) if styles else 0
    for number, line in enumerate([list(columns), *cells]):
        style = "bold" if number == 0 else status_style(line[styled]) if styles else ""
        console.print(line[0], style="bold" if number == 0 else "", markup=False, soft_wrap=True)
        rest = _aligned(columns[1:], line[1:], widths[1:], right)
        console.print(f"  {rest.rstrip()}", style=style, markup=False, soft_wrap=True)


def _aligned(columns: Sequence[str], line: Sequence[str], widths: Sequence[int], right: Sequence[str]) -> str:
    return "  ".join(
        cell.rjust(width) if name in right else cell.ljust(width)
        for name, cell, width in zip(columns, line, widths, strict=True)
    )


def _rich_table(
    columns: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[str], styles: str, fold: str
) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name != fold, overflow="fold")
    for row in cells:
        table.add_row(
            *(
                Text(cell, style=status_style(cell) if name == styles else "")
                for name, cell in zip(columns, row, strict=True)
            )
        )
    return table


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr while `total` things are done; yields a function to call as each is.

    Without a terminal (a CI log) it prints a line every few seconds instead of a bar.
    """
    console = _console(stderr=True)
    if total and console.is_terminal and not console.is_dumb_terminal:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        with bar:
            task = bar.add_task(title, total=total)
            yield lambda: bar.update(task, advance=1)
        return
    started = last = time.monotonic()
    first = 0.0
    done = 0

    def step() -> None:
        nonlocal done, last, first
        done += 1
        now = time.monotonic()
        first = first or now  # those that start together bear what is done once: imports, for one
        if now - last > _QUIET_SECONDS and done < total:
            last = now
            left = (now - first) / (done - 1) * (total - done) if done > 1 else 0.0
            about = f", about {_clock(left)} left" if done > 1 and now - first > _QUIET_SECONDS else ""
            say(f"{title}: {done} of {total}, {_clock(now - started)} so far{about}")

    yield step


def _clock(seconds: float) -> str:
    """Return a duration as a clock shows it: 0:07, 2:30, 1:02:03."""
    whole = round(seconds)
    hours, minutes = f"{whole // 3600}:" if whole >= 3600 else "", whole // 60 % 60
    return f"{hours}{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class Terminal:
    """Watches the chain for a person: progress and notes on stderr."""

    def progress(self, title: str, total: int) -> contextlib.AbstractContextManager[Callable[[], None]]:
        return progress(title, total)

    def note(self, text: str, bad: bool = False) -> None:
        say(text, style="red" if bad else "yellow")
