"""What the source of a step has that the one before had not, and the other way round.

The head, which tells of the variant, is left out; a line that is only indented otherwise is the same line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

__all__ = ["Line", "changed", "difference"]

_CONTEXT = 2


@dataclass(frozen=True)
class Line:
    """A line of a difference; `skipped` stands for lines that are the same and not shown."""

    kind: Literal["same", "added", "removed", "skipped"]
    text: str


def difference(before: str, after: str) -> list[Line]:
    """Return the lines, with a few that are the same around every change."""
    old, new = _code(before), _code(after)
    matcher = SequenceMatcher(None, [line.strip() for line in old], [line.strip() for line in new], autojunk=False)
    found: list[Line] = []
    opcodes = matcher.get_opcodes()
    for number, (what, i, i_end, j, j_end) in enumerate(opcodes):
        if what == "equal":
            found += _same(new[j:j_end], number > 0, number < len(opcodes) - 1)
        else:
            found += [Line("removed", line) for line in old[i:i_end]]
            found += [Line("added", line) for line in new[j:j_end]]
    return found


def changed(lines: list[Line]) -> int:
    """How many lines were added and removed, empty ones aside."""
    return sum(line.kind in ("added", "removed") and bool(line.text.strip()) for line in lines)


def _same(lines: list[str], behind: bool, ahead: bool) -> Iterator[Line]:
    """Lines that are the same, without those in the middle, which are behind no change nor ahead of one."""
    head, tail = _CONTEXT if behind else 0, _CONTEXT if ahead else 0
    if len(lines) <= head + tail + 1:
        yield from (Line("same", line) for line in lines)
        return
    yield from (Line("same", line) for line in lines[:head])
    yield Line("skipped", f"{len(lines) - head - tail} lines")
    yield from (Line("same", line) for line in lines[len(lines) - tail :])


def _code(source: str) -> list[str]:
    """The source behind its docstring."""
    parts = source.split('"""', 2)
    return (parts[2] if len(parts) == 3 else source).strip("\n").split("\n")
