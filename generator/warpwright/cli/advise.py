"""The command that says whether specialised warps are worth it, and which point of a sweep to take: advise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpwright.cli import completion
from warpwright.cli.app import JsonOption, OutOption, app
from warpwright.cli.explore import extents_from
from warpwright.cli.terminal import count, print_json, print_table, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.plan.advice import Advice
    from warpwright.plan.choosing import Choice
    from warpwright.plan.types import Plan
    from warpwright.record import Folder, LedgerLine

__all__: list[str] = []


@dataclass(frozen=True)
class _Row:
    """One plan, what is advised of it, and where its time was measured ("" where it was not)."""

    plan: Plan
    advice: Advice
    mark: str


@app.command()
def advise(
    what: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|VARIANT",
            autocompletion=completion.variants,
            help="A configuration, for the point of its sweep to take; one variant, for the reasons in full.",
        ),
    ],
    problem: Annotated[
        str | None,
        typer.Option(
            "--problem",
            "-p",
            metavar="EXTENTS",
            help="The problem, as 4096,4096,4096; the first that is timed without.",
        ),
    ] = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Say whether specialised warps are worth it here, and how.

    From the plan and its predicted time, and from measured times where the folder or the ledger has some.
    Exit code: 0 there is a legal plan, 1 there is none.
    """
    from warpwright import families
    from warpwright.cli.find import find_plans
    from warpwright.device.coverage import left_out

    plans, default = find_plans(what, out)
    family = families.family(plans[0][0].family)
    extents = default if problem is None else extents_from(problem, family.problem)
    fits = {id(plan) for plan, _ in plans if not plan.legal or plan.exceeded(extents) is None}
    told = left_out(
        ((plan.label, plan) for plan, _ in plans if plan.legal), [{m.lower(): n for m, n in extents.items()}]
    )
    if told and not any(plan.legal for plan, _ in plans if id(plan) in fits):
        raise UserError(f"{told[0]}; give another problem with -p")
    rows = _rows([(plan, folder) for plan, folder in plans if id(plan) in fits], extents, out)
    groups = _chosen(rows)
    if as_json:
        print_json(_data(rows, groups, extents))
    elif len(plans) == 1:
        _print_one(plans[0][0], rows)
    else:
        _print_all(rows, groups, extents)
        illegal = sum(not plan.legal for plan, _ in plans)
        for line in told:
            say(line)
        if illegal:
            say(f"{count(illegal, 'point')} illegal: `warpwright plan {what}` says why")
    raise typer.Exit(0 if rows else 1)


def _rows(plans: Sequence[tuple[Plan, Folder]], extents: Mapping[str, int], out: Path) -> list[_Row]:
    """Advise of every legal plan."""
    from warpwright.plan.advice import advise as advise_plan

    legal = [(plan, folder) for plan, folder in plans if plan.legal]
    labels = Counter(plan.label for plan, _ in legal)
    rows = []
    for (plan, folder), (seconds, mark) in zip(legal, _measured(legal, extents, out), strict=True):
        name = plan.label if labels[plan.label] == 1 else folder.path.name
        rows.append(_Row(plan, replace(advise_plan(plan, extents, seconds), label=name), mark))
    return rows


def _measured(
    plans: Sequence[tuple[Plan, Folder]], extents: Mapping[str, int], out: Path
) -> list[tuple[float | None, str]]:
    """Return the measured seconds of each plan with where they are from: what counts for the kernel in its folder, else
    what a ledger has of the same plan, be it of an earlier source. Nothing of a kernel that is not correct."""
    from warpwright import pipeline
    from warpwright.cli.results import timings
    from warpwright.plan.prediction import extents_of

    lines = pipeline.ledger_lines(out)
    found: list[tuple[float | None, str]] = []
    for plan, folder in plans:
        judgement = pipeline.judge_folder(folder, lines)
        times = timings(judgement)
        if not times and judgement.status in ("", "correct"):
            times = [time for line in lines.get(plan.identity[: pipeline.HEAD], ()) for time in _told(line, plan)]
        fitting = [time for time in times if extents_of(time["problem"]) == extents and not time["shared"]]
        found.append((fitting[0]["seconds"], fitting[0]["mark"] or "here") if fitting else (None, ""))
    return found


def _told(line: LedgerLine, plan: Plan) -> list[dict[str, Any]]:
    """Return the times that a line of a ledger has of a plan."""
    evidence = line.evidence
    if (line.identity, evidence.method, evidence.status) != (plan.identity, "benchmarked", "correct"):
        return []
    mark = f"the ledger of {line.ledger}: {evidence.gpu.get('gpu')}"
    return [
        {
            "problem": figures["problem"],
            "seconds": figures["cold_us"]["median"] * 1e-6,
            "mark": mark,
            "shared": figures.get("shared"),
        }
        for figures in evidence.figures.get("problems", ())
    ]


def _chosen(rows: Sequence[_Row]) -> list[tuple[list[_Row], Choice]]:
    """Return the rows of each kernel that is computed, with the choice among them."""
    from warpwright.canonical import canonical_json
    from warpwright.plan.choosing import choose

    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(canonical_json(row.plan.kernel), []).append(row)
    return [(group, choose([row.advice for row in group])) for group in groups.values()]


def _print_one(plan: Plan, rows: Sequence[_Row]) -> None:
    from warpwright.plan.advice_text import advice_text

    if not rows:
        reasons = "\n".join(f"  {v.rule}: {v.message}" for v in plan.violations)
        typer.echo(f"{plan.label}\n\nIllegal:\n{reasons}")
        return
    typer.echo(advice_text(plan, rows[0].advice).rstrip("\n"))
    if rows[0].mark:
        say(f"the measured time was not obtained here ({rows[0].mark})")


def _print_all(rows: Sequence[_Row], groups: Sequence[tuple[list[_Row], Choice]], extents: Mapping[str, int]) -> None:
    from warpwright.cli.untried import predicted_for

    columns = ["take", "variant", "predicted", "measured", "behind"]
    columns += ["load", "compute", "stages", "needed", "warps", "asked", "verdict"]
    cells = []
    for group, choice in groups:
        taken = choice.label  # first of those that are as fast
        for row in sorted(group, key=lambda row: (row.advice.label != taken, choice.seconds[row.advice.label])):
            cells.append(_cells(row, choice, alone=len(group) == 1))
    print_table(
        columns, cells, right=["predicted", "measured", "behind", "load", "compute", "stages", "needed"], fold="verdict"
    )
    for group, choice in groups:
        if len(group) > 1:
            say(f"take {choice.label}: {choice.why}", result=True)
        if choice.compared:
            say(choice.compared, result=True)
    size = " ".join(f"{mode}={extent}" for mode, extent in extents.items())
    marks = sorted({row.mark for row in rows if row.mark})
    timed = f", measured ones from {', '.join(marks)}" if marks else ""
    devices = predicted_for(row.plan.arch for row in rows)
    say(f"times are for {size}, predicted ones for {devices}{timed}; load and compute are clocks of one stage")


def _cells(row: _Row, choice: Choice, alone: bool) -> list[str]:
    from warpwright.plan.prediction import time_text
    from warpwright.plan.reasons import largest

    a, phases = row.advice, row.advice.phases
    known = [""] * 6
    if phases is not None:
        known = [
            f"{largest(a.load)[0]:.0f}",
            f"{largest(a.compute)[0]:.0f}",
            str(phases.stages),
            "none" if a.needed_stages is None else str(a.needed_stages),
            f"{phases.producer_warps}:{phases.consumer_warps}",
            ":".join(map(str, a.split or ())),
        ]
    behind = choice.behind[a.label]
    return [
        "" if alone or a.label != choice.label else "*",
        a.label,
        time_text(a.predicted.seconds),
        "" if a.measured is None else time_text(a.measured),
        "" if alone else f"{behind:+.1%}",
        *known,
        a.verdict,
    ]


def _data(
    rows: Sequence[_Row], groups: Sequence[tuple[list[_Row], Choice]], extents: Mapping[str, int]
) -> dict[str, Any]:
    from warpwright.canonical import plain

    return {
        "problem": dict(extents),
        "variants": [{**plain(row.advice), "measured_at": row.mark or None} for row in rows],
        "choices": [plain(choice) for _, choice in groups],
    }
