"""Puts the marks of a twin into a kernel that a person has edited: the two have one kernel that both were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from warpwright.errors import UserError

__all__ = ["merged"]


@dataclass(frozen=True)
class _Change:
    """Lines `first` to `last` (exclusive) of the common source become `lines`."""

    first: int
    last: int
    lines: tuple[str, ...]


def merged(common: str, edited: str, twin: str) -> str:
    """Return `edited` with what makes `twin` of `common`. UserError where both change the same line.

    What both insert at one place: a mark that a wait begins comes last, and any other first, so that what a person has
    put beside a wait is not taken for a part of it.
    """
    lines = common.splitlines(keepends=True)
    theirs, ours = _changes(lines, edited), _changes(lines, twin)
    found, at = list[str](), 0
    every = [
        *((_order(change, False), change) for change in theirs),
        *((_order(change, True), change) for change in ours),
    ]
    for _, change in sorted(every, key=lambda each: each[0]):
        if change.first < at:
            line = lines[at - 1].strip()
            raise UserError(f"line {at} of the kernel as rendered, {line!r}, is edited where its twin has a mark")
        found += [*lines[at : change.first], *change.lines]
        at = change.last
    return "".join([*found, *lines[at:]])


def _order(change: _Change, mark: bool) -> tuple[int, bool, int]:
    """Insertions at a line come before what replaces it; among them, see `merged`."""
    begins = mark and any("_WAIT," in line for line in change.lines)
    return change.first, change.first != change.last, 2 if begins else 0 if mark else 1


def _changes(lines: Sequence[str], other: str) -> list[_Change]:
    others = other.splitlines(keepends=True)
    codes = SequenceMatcher(None, lines, others, autojunk=False).get_opcodes()
    return [_Change(i, j, tuple(others[k:m])) for code, i, j, k, m in codes if code != "equal"]
