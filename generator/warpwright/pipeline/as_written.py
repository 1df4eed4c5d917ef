"""Committed evidence is exactly what `warpwright ledger` writes of it, to the byte.

So nothing stands in it beside evidence: no table of a GPU that no line names, no order, spelling or blank that makes a
person, who reads it as a diff, see something else than is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import zip_longest
from pathlib import Path

from warpwright.pipeline.raw_runs import raw_path, read_runs, runs_text
from warpwright.record import ledger_text, read_ledger

__all__ = ["as_written", "misspelled"]


def as_written(ledger: Path) -> bool:
    """Whether a ledger, where there is one, is as it is written. LedgerError where it cannot be read."""
    return not _line(ledger, ledger_text(read_ledger(ledger)))


def misspelled(ledgers: Iterable[Path]) -> list[str]:
    """Say of each ledger, and of the runs beside it, where it is not as it is written. Raises LedgerError."""
    found: dict[Path, int] = {}
    for ledger in ledgers:
        texts: Mapping[Path, str] = {
            ledger: ledger_text(read_ledger(ledger)),
            raw_path(ledger): runs_text(read_runs(raw_path(ledger))),
        }
        found |= {path: line for path, text in texts.items() if (line := _line(path, text))}
    return [
        f"{path}:{line}: another text than `warpwright ledger {path.stem}` writes of what it says" for path, line in
        found.items()
    ]  # fmt: skip


def _line(path: Path, due: str) -> int:
    """The first line that differs, 0 where none does."""
    told = path.read_bytes() if path.is_file() else b""
    if told in (due.encode(), due.replace("\n", "\r\n").encode()):  # as a checkout with other line endings has it
        return 0
    pairs = zip_longest(told.split(b"\n"), due.encode().split(b"\n"))
    return next(number for number, (one, other) in enumerate(pairs, 1) if one != other)
