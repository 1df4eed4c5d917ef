"""How commands speak: results on stdout, progress and messages on stderr, tables that never cut a name off."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from warpwright.canonical import plain

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Terminal", "count", "print_json", "print_table", "progress", "say", "status_style"]

_QUIET_SECONDS = 5.0
_STYLES = {"correct": "green", "degraded": "yellow", "illegal": "dim", "": "dim"}


def status_style(status: str) -> str:
    """Return the colour of a status: whatever is neither right nor merely degraded is red."""
    return _STYLES.get(status, "bold red")


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where there is not exactly one."""
    ending = "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{'' if number == 1 else ending}"


def say(text: str, style: str = "", result: bool = False) -> None:
    """Print a message for a person, with `text` as it stands (no markup): on stderr, a `result` on stdout."""
    from rich.console import Console

    sys.stdout.flush()  # where both go to one place, keep them in order
    Console(stderr=not result, highlight=False, soft_wrap=True).print(text, style=style or None, markup=False)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout, keys sorted."""
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
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[index]) for line in [list(columns), *cells]) for index in range(len(columns))]
    if not sys.stdout.isatty():
        for line in [list(columns), *([cell or "-" for cell in row] for row in cells)]:
            sys.stdout.write(_aligned(columns, line, widths, right).rstrip() + "\n")
        return
    from rich.console import Console

    console = Console(highlight=False)
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
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if console.is_terminal and os.environ.get("TERM") != "dumb":
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        with bar:
            task = bar.add_task(title, total=total)
            yield lambda: bar.update(task, advance=1)
        return
    done, last = 0, time.monotonic()

    def step() -> None:
        nonlocal done, last
        done += 1
        if time.monotonic() - last > _QUIET_SECONDS:
            last = time.monotonic()
            say(f"{title}: {done} of {total}")

    yield step


class Terminal:
    """Watches the chain for a person: progress and notes on stderr."""

    def progress(self, title: str, total: int) -> contextlib.AbstractContextManager[Callable[[], None]]:
        return progress(title, total)

    def note(self, text: str, bad: bool = False) -> None:
        say(text, style="red" if bad else "yellow")
