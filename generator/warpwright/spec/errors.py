"""What is wrong with a YAML file, as data: the command line prints it, `--json` passes it on, tests compare it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from warpwright.text import printable, shortened

__all__ = ["SHOWN", "SpecError", "SpecErrors"]

#: Mistakes of one file that are printed: who has more is helped by these first.
SHOWN = 20
#: Characters of one message's parts: a value can be as long as the file.
_KEY, _RULE = 200, 1000


@dataclass(frozen=True)
class SpecError:
    """One mistake of one file.

    `line` and `column` count from 1; line 0 means the file as a whole. `key` is the dotted path of the field.
    `value` is the value as the file writes it, None where the mistake is not about a value (unknown or missing
    keys). `nearest` is what to write instead, empty where nothing is near; `nearest_is` says what it is.
    """

    file: str
    line: int
    column: int
    key: str
    value: str | None
    rule: str
    nearest: str = ""
    nearest_is: str = "legal value"

    def __str__(self) -> str:
        """One line, in which nothing that the file holds moves a terminal's cursor."""
        file = printable(self.file)
        place = f"{file}:{self.line}" if self.line else file
        key = shortened(self.key, _KEY)
        subject = key if self.value is None else f"{key} = {shortened(self.value)}"
        way_out = f"; nearest {self.nearest_is}: {self.nearest}" if self.nearest else ""
        return f"{place}: {subject + ': ' if subject else ''}{shortened(self.rule, _RULE)}{printable(way_out)}"


class SpecErrors(Exception):  # noqa: N818 - it holds several
    """All mistakes of one file, sorted by line; prints one per line, and how many more than `SHOWN` there are."""

    def __init__(self, errors: Iterable[SpecError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda e: (e.line, e.column)))
        super().__init__(self.errors)

    def __str__(self) -> str:
        more = len(self.errors) - SHOWN
        return "\n".join([*map(str, self.errors[:SHOWN]), *([f"and {more:,} more"] if more > 0 else [])])
