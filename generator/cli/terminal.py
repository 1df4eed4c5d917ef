"""How commands speak: results on stdout, progress and messages on stderr, tables that never cut a name off."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from generator.canonical import plain

__all__ = ["print_json", "print_table", "progress", "say", "status_style"]

_QUIET_SECONDS = 5.0
_STYLES = {"correct": "green", "degraded": "yellow", "illegal": "dim", "": "dim"}


def status_style(status: str) -> str:
    """Return the colour of a status: whatever is neither right nor merely degraded is red."""
    return _STYLES.get(status, "bold red")


def say(text: str, style: str = "") -> None:
    """Print a message for a person, on stderr, with `text` as it stands (no markup)."""
    from rich.console import Console

    sys.stdout.flush()  # where both go to one place, keep them in order
    Console(stderr=True, highlight=False, soft_wrap=True).print(text, style=style or None, markup=False)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout, keys sorted."""
    sys.stdout.write(json.dumps(plain(value), sort_keys=True, indent=2, allow_nan=False) + "\n")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = (), styles: str = ""
) -> None:
    """Print a table on stdout.

    On a terminal, text that does not fit its column goes on in the next line. Into a pipe or a file each row is one
    line of aligned plain text, however long, so that grep, sort and awk work. `right` names the columns of
    numbers, `styles` the column that holds a status.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        _print_plain(columns, cells, right)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for index, name in enumerate(columns):
        # The first column holds names: it is the one to be folded when the terminal is narrow.
        table.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=False)
        table.columns[index].min_width = _narrowest(index, [name, *(row[index] for row in cells)])
    for row in cells:
        table.add_row(
            *(
                Text(cell, style=status_style(cell) if name == styles else "")
                for name, cell in zip(columns, row, strict=True)
            )
        )
    Console(highlight=False).print(table)


def _narrowest(index: int, texts: Sequence[str]) -> int:
    """Return the width below which a column may not shrink: its longest word, for all but the first column."""
    if index == 0:
        return 12
    return min(24, max(len(word) for text in texts for word in (text.split() or [""])))


def _print_plain(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> None:
    lines = [list(columns), *([cell or "-" for cell in row] for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    for line in lines:
        padded = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for name, cell, width in zip(columns, line, widths, strict=True)
        ]
        sys.stdout.write("  ".join(padded).rstrip() + "\n")


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """Show a bar on stderr while `total` things are done; yields a function to call with each thing's name.

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
            TextColumn("{task.fields[now]}", markup=False),
            console=console,
            transient=True,
        )
        with bar:
            task = bar.add_task(title, total=total, now="")
            yield lambda name: bar.update(task, advance=1, now=name)
        return
    done, last = 0, time.monotonic()

    def step(name: str) -> None:
        nonlocal done, last
        done += 1
        if time.monotonic() - last > _QUIET_SECONDS:
            last = time.monotonic()
            say(f"{title}: {done} of {total}")

    yield step
