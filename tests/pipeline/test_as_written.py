"""A ledger, and the runs beside it, are to the byte what is written of what they say: nothing else stands in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.record.figures import FIGURES, GPU
from warpwright.canonical import digest
from warpwright.pipeline.as_written import as_written, misspelled
from warpwright.pipeline.raw_runs import raw_path
from warpwright.record import Evidence, LedgerError, LedgerLine, Subject, read_ledger, write_ledger

TOOLS = {"cutlass_dsl": "4.8.1", "dsl_libs": "cu12 4.8.1"}


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger" / "small.jsonl"
    subject = Subject("a" * 64, "sm_90a", TOOLS, "c" * 64)
    lines = [
        LedgerLine(label, "0123456789ab", Evidence("built", "correct", subject, FIGURES["built", "correct"]))
        for label in ("one", "two")
    ]
    write_ledger(path, lines)
    assert misspelled([path]) == []
    assert as_written(path)
    return path


def line_of(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True) + "\n"


TABLE = line_of({"table": "gpu", "id": digest(GPU)[:8], "gpu": GPU})
FORGERIES: dict[str, Callable[[str], str]] = {
    "a GPU that nothing was obtained on": lambda text: TABLE + text,
    "another order": lambda text: "".join([*text.splitlines(True)[:1], *text.splitlines(True)[:0:-1]]),
    "letters spelled out": lambda text: text.replace('"label"', '"\\u006cabel"', 1),
    "a negative zero": lambda text: text.replace('"spill_bytes": 0', '"spill_bytes": -0', 1),
    "an empty line": lambda text: text + "\n",
    "blanks": lambda text: text.replace('", "method"', '",   "method"', 1),
    "no line feed at the end": lambda text: text[:-1],
    "a carriage return at the end": lambda text: text[:-1] + "\r\n",
}


@pytest.mark.parametrize("forged", FORGERIES.values(), ids=list(FORGERIES))
def test_what_means_the_same_and_is_written_otherwise_is_named(ledger: Path, forged: Callable[[str], str]) -> None:
    text, lines = ledger.read_text(), read_ledger(ledger)
    ledger.write_text(forged(text), newline="")
    assert ledger.read_bytes() != text.encode()
    assert sorted(read_ledger(ledger), key=lambda line: line.key) == lines
    (told,) = misspelled([ledger])
    assert "small.jsonl:" in told
    assert "another text than `warpwright ledger small` writes of what it says" in told
    assert not as_written(ledger)


def test_line_endings_of_another_system_are_no_forgery(ledger: Path) -> None:
    ledger.write_text(ledger.read_text(), newline="\r\n")
    assert misspelled([ledger]) == []


def test_a_carriage_return_that_hides_a_line_is_refused(ledger: Path) -> None:
    """A terminal and a diff show the last of the two alone."""
    ledger.write_text(TABLE.rstrip("\n") + "\r" + ledger.read_text(), newline="")
    with pytest.raises(LedgerError, match=r"small.jsonl:1: .*not JSON: extra data"):
        misspelled([ledger])


def test_a_second_table_of_one_id_is_refused(ledger: Path) -> None:
    first, *others = ledger.read_text().splitlines(True)
    ledger.write_text(first + first + "".join(others))
    with pytest.raises(LedgerError, match=r"small.jsonl:2: .*a second toolchain table of id "):
        misspelled([ledger])


def test_the_runs_are_read_as_strictly(ledger: Path) -> None:
    raw_path(ledger).parent.mkdir()
    raw_path(ledger).write_text("\n")
    (told,) = misspelled([ledger])
    assert told.startswith(f"{raw_path(ledger)}:2: another text than `warpwright ledger small`")
    assert as_written(ledger)
