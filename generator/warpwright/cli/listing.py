"""The command that lists what is recorded, chosen and sorted by what is known of each variant: list."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpwright.cli import completion
from warpwright.cli.app import JsonOption, OutOption, app
from warpwright.cli.damage import say_damaged
from warpwright.cli.origin import explain_origins, level
from warpwright.cli.terminal import count, print_json, print_table, say
from warpwright.errors import UserError
from warpwright.statuses import STATUSES

if TYPE_CHECKING:
    from warpwright.record import Folder, Judgement

__all__ = ["judged", "notes", "summary"]

#: Columns by which rows can be chosen and sorted, with the key of a row that each is; times are in microseconds.
_COLUMNS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "variant": lambda row: row["variant"],
    "config": lambda row: row["config"],
    "registers": lambda row: row["registers"],
    "spills": lambda row: row["spills"],
    "predicted": lambda row: _microseconds(row["predicted"]),
    "measured": lambda row: _microseconds(_alone(row["measured"])),
    "vendor": lambda row: (_alone(row["measured"]) or {}).get("vendor_ratio"),
    "evidence": lambda row: row["evidence"],
    "status": lambda row: row["status"],
    "note": lambda row: row["note"],
}
_TEST = re.compile(r"\s*(?P<column>[a-z]+)\s*(?P<sign>!=|<=|>=|=|<|>)\s*(?P<value>.*?)\s*")
_NUMBER = re.compile(r"(?P<number>[0-9]+(\.[0-9]+)?)\s*(?P<unit>us|ms|s)?")
_UNITS = {None: 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}
Test = Callable[[dict[str, Any]], bool]


@app.command("list")
def list_command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[WHAT]",
            autocompletion=completion.variants,
            help="A configuration, or one of its variants; all without.",
        ),
    ] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="TEST",
            help="Only rows of which TEST holds (may be repeated): 'registers>168', 'measured<200us', "
            "'evidence>=emulated', 'variant=*-c2x1-*', 'note!='.",
        ),
    ] = None,
    status: Annotated[
        list[str] | None, typer.Option("--status", metavar="STATUS", help="Only this status (may be repeated).")
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", metavar="COLUMN", help="Sort by a column, the smallest first; -COLUMN the largest.")
    ] = "",
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """List the recorded variants with their times, evidence and status.

    Predicted and measured times are for the problem that was measured first, or else the family's usual one.
    Exit code: 0, also where no row is left.
    """
    from warpwright.cli.find import find_folders, obsolete
    from warpwright.cli.untried import predicted_for, run_by_none

    tests = [_test(text) for text in where or ()] + ([_statuses(status)] if status else [])
    key, backwards = _key(sort)
    folders = find_folders(what, out)
    if not folders:
        of = f" of {what}" if what else ""
        raise UserError(f"no variant{of} is recorded in {out}; `warpwright run {what or 'CONFIG'}` makes some")
    damaged, past = say_damaged(folders), obsolete(folders)
    found = [(summary(folder, judgement, past, damaged), judgement) for folder, judgement in judged(folders, out)]
    found = [(row, judgement) for row, judgement in found if all(test(row) for test in tests)]
    if key:  # what lacks the value comes last, either way
        known = sorted((each for each in found if key(each[0]) not in (None, "")), key=lambda each: key(each[0]))
        found = known[:: -1 if backwards else 1] + [each for each in found if key(each[0]) in (None, "")]
    if as_json:
        print_json([row for row, _ in found])
        return
    _print(found)
    chosen = f" of {len(folders)}" if tests else ""
    say(f"{count(len(found), 'variant')}{chosen} in {out}; `warpwright show VARIANT` tells everything about one")
    for line in explain_origins(evidence for _, judgement in found for evidence in judgement.valid):
        say(line)
    told = [(row["predicted"]["arch"], judgement) for row, judgement in found if row["predicted"]]
    if told:
        say(f"times are predicted for {predicted_for(target for target, _ in told)}")
    for line in run_by_none(told):
        say(f"{line}: `warpwright bundle CONFIG --to DIR` packs them for it")
    if past:
        say(
            f"{count(len(past), 'variant')} obsolete: no configuration has it now; `warpwright clean CONFIG` lists such"
        )


def judged(folders: Sequence[Folder], out: Path) -> list[tuple[Folder, Judgement]]:
    """Weigh what is known about each folder."""
    from warpwright import pipeline

    lines = pipeline.ledger_lines(out)
    return [(folder, pipeline.judge_folder(folder, lines)) for folder in folders]


def summary(folder: Folder, judgement: Judgement, past: Collection[Path], damaged: Collection[Path]) -> dict[str, Any]:
    """Return what `list` says about a variant, as plain data. `past` and `damaged` are folders."""
    from warpwright.cli.results import timings

    built = folder.result("built") or {}
    measured = timings(judgement)
    predicted = _predicted(folder, measured[0]["problem"] if measured else None)
    return {
        "variant": folder.path.name,
        "config": folder.path.parent.name,
        "registers": built.get("registers"),
        "spills": built.get("spill_bytes"),
        "predicted": predicted,
        "measured": measured[0] if measured else None,
        "evidence": judgement.evidence,
        "evidence_origin": level(judgement).removeprefix(judgement.evidence).strip(" ()") or "here",
        "status": judgement.status,
        "stale": [{"method": evidence.method, "because": why} for evidence, why in judgement.stale],
        "note": ", ".join(notes(folder, judgement, past, damaged)),
    }


def notes(folder: Folder, judgement: Judgement, past: Collection[Path], damaged: Collection[Path]) -> list[str]:
    """Say in a word each what sets a folder apart from what its configuration gives and has proved."""
    valid = {evidence.method for evidence in judgement.valid}
    stale = any(evidence.method not in valid for evidence, _ in judgement.stale)
    marks = {
        "obsolete": folder.path in past,
        "edited": folder.edited(),
        "stale": stale,
        "damaged": folder.path in damaged,
    }
    return [mark for mark, holds in marks.items() if holds]


def _predicted(folder: Folder, problem: Mapping[str, int] | None) -> dict[str, Any] | None:
    """Predict the time of a problem, or of the family's usual one; None where the stored plan cannot be read."""
    from warpwright import families
    from warpwright.canonical import plain
    from warpwright.cli.untried import predicted_for
    from warpwright.device.problem import size_text
    from warpwright.plan.prediction import extents_of
    from warpwright.plan.stored import PlanError, plan_from_json

    try:
        plan = plan_from_json(folder.read("plan.json") or {})
        family = families.family(plan.family)
        usual = (each for each in map(plain, family.bench) if not plan.exceeded(extents_of(each)))
        problem = problem or next(usual, None)
        if problem is None:
            return None
        found = families.target(plan.family, plan.arch).predict(plan, extents_of(problem))
    except PlanError:
        return None
    extents = size_text(dict(problem), [field.upper() for field in family.problem.model_fields])
    told = {"seconds": found.seconds, "speed": found.speed, "rate": found.rate, "problem": problem, "size": extents}
    return {**told, "arch": plan.arch, "for": predicted_for([plan.arch])}


def _print(found: Sequence[tuple[dict[str, Any], Judgement]]) -> None:
    from warpwright.cli.results import format_seconds, measured_cells, measured_columns

    timed = [row["measured"]["mark"] for row, _ in found if row["measured"]]
    head = measured_columns(timed) if timed else []
    columns = ["variant", "config", "problem", "registers", "spills", "predicted", *head, "evidence", "status", "note"]
    rows = [
        [
            row["variant"],
            row["config"],
            row["predicted"]["size"] if row["predicted"] else "",
            *("" if row[name] is None else str(row[name]) for name in ("registers", "spills")),
            format_seconds(row["predicted"]["seconds"]) if row["predicted"] else "",
            *(measured_cells(row["measured"], head) if timed else ()),
            level(judgement),
            row["status"],
            row["note"],
        ]
        for row, judgement in found
    ]
    if not any(row["note"] for row, _ in found):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    print_table(columns, rows, ("registers", "spills", "predicted", *head), styles="status")


def _alone(timing: dict[str, Any] | None) -> dict[str, Any] | None:
    """A time that may be set against others: none that was taken while others were on the GPU."""
    return None if timing and timing["shared"] else timing


def _microseconds(timing: Mapping[str, Any] | None) -> float | None:
    return timing["seconds"] * 1e6 if timing else None


def _column(name: str, typed: str) -> Callable[[dict[str, Any]], Any]:
    if name not in _COLUMNS:
        raise UserError(f"{typed}: there is no column {name!r}; there are {', '.join(_COLUMNS)}")
    return _COLUMNS[name]


def _key(sort: str) -> tuple[Callable[[dict[str, Any]], Any] | None, bool]:
    """Return the key to sort by, None for the order of folders, and whether the largest comes first."""
    if not sort:
        return None, False
    value = _column(sort.removeprefix("-"), f"--sort {sort}")
    order = _order(sort.removeprefix("-"))
    return (lambda row: order.index(value(row)) if order and value(row) in order else value(row)), sort.startswith("-")


def _order(column: str) -> Sequence[str]:
    """Return the words of a column that has an order of its own, the least first; none for another."""
    from warpwright.record import LEVELS, PLANNED

    return (PLANNED, *LEVELS) if column == "evidence" else ()


def _statuses(names: Sequence[str]) -> Test:
    for name in names:
        if name not in STATUSES:
            raise UserError(f"--status {name}: there is no such status; there are {', '.join(STATUSES)}")
    return lambda row: row["status"] in names


def _test(text: str) -> Test:
    """Read a test of one column: a comparison of numbers, times or levels of evidence, or a glob that texts fit."""
    match = _TEST.fullmatch(text)
    typed = f"--where {text}"
    if match is None:
        raise UserError(f"{typed}: not a test; write COLUMN, one of = != < <= > >=, and a value, as 'registers>168'")
    column, sign, wanted = _column(match["column"], typed), match["sign"], match["value"]
    order = _order(match["column"])
    if sign in ("=", "!=") and match["column"] not in _NUMBERS:
        return lambda row: fnmatchcase(str(column(row) or ""), wanted) == (sign == "=")
    if order:
        if wanted not in order:
            raise UserError(f"{typed}: there is no {wanted!r}; there are {', '.join(order)}")
        place = order.index(wanted)
        return lambda row: column(row) in order and _SIGNS[sign](order.index(column(row)), place)
    number = _NUMBER.fullmatch(wanted)
    if number is None or match["column"] not in _NUMBERS:
        what = "a number" if match["column"] in _NUMBERS else "compared by = and != alone"
        raise UserError(f"{typed}: {match['column']} is {what}; times may have a unit: 200us, 1.5ms")
    limit = float(number["number"]) * _UNITS[number["unit"]]
    return lambda row: column(row) is not None and _SIGNS[sign](column(row), limit)


_NUMBERS = ("registers", "spills", "predicted", "measured", "vendor")
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
