"""The command that tells what each step of a sequence of kernels is worth: ladder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpwright.cli import completion
from warpwright.cli.app import JsonOption, OutOption, app, file_to_write
from warpwright.cli.terminal import count, print_json, print_table, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.steps import Row
    from warpwright.steps.table import Time

__all__: list[str] = []

#: What such a page begins with: no other file is overwritten.
_PAGE = "<!DOCTYPEhtml>"


@app.command()
def ladder(
    config: Annotated[
        str,
        typer.Argument(
            metavar="[CONFIG]",
            autocompletion=completion.configurations,
            help="A configuration whose points are steps of a sequence.",
        ),
    ] = "ladder_sm90",
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="Write a page with timelines and sources (HTML).")
    ] = None,
    contrast: Annotated[
        bool, typer.Option("--contrast", help="First measure the same work as two kernels on two streams (GPU).")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="With --contrast: pack both for another GPU host instead."),
    ] = None,
    python: Annotated[
        str, typer.Option(metavar="X.Y", help="With --to: Python of that host, as for `warpwright bundle`.")
    ] = "3.12",
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Tell what each kernel of a sequence adds, and is worth.

    Times are predicted, and measured where there is evidence; gains compare measured times where both steps have one.
    Where it was measured, a second table has the same work as two kernels on two streams.
    Exit code: 0, or 2 where CONFIG is no such sequence, or what was asked for could not be measured.
    """
    from warpwright import pipeline
    from warpwright.canonical import plain
    from warpwright.cli.contrast import known_contrast, measure, pack, print_contrast
    from warpwright.cli.find import explore
    from warpwright.cli.results import format_seconds, names, prediction, timings
    from warpwright.cli.terminal import Terminal
    from warpwright.device.problem import size_text
    from warpwright.families import family, workload
    from warpwright.pipeline.timelines import known
    from warpwright.record.atomic import write_text
    from warpwright.steps import Shown, table
    from warpwright.steps import page as written

    path = file_to_write(page, _PAGE) if page else None
    if to and not contrast:
        raise UserError("--to packs what --contrast measures: give both, or `warpwright bundle` for the steps")
    exploration = explore(config, out, whole=True)
    pipeline.advance(exploration, ("render",), Terminal())
    variants = [variant for variant in exploration.legal if variant.source]
    steps = [family(variant.plan.family).step(variant.plan) for variant in variants]
    if not steps or None in steps:
        raise UserError(f"{config}: its points are no steps of a sequence; `warpwright ladder` alone shows one that is")
    if contrast and to:
        pack(exploration, to, python)
        return
    if contrast:
        measure(exploration)
    beside, stale = known_contrast(exploration)
    told = [step for step in steps if step]
    facts = []
    for (name, variant), step in zip(names(variants).items(), told, strict=True):
        predicted = prediction(variant, exploration.spec)
        if predicted is None:  # legal ones alone are rendered
            raise UserError(f"{config}: no problem of `bench` is within the limits of {name}; add one")
        facts.append((name, step, predicted, next(iter(timings(variant.judgement)), None)))
    rows = table(facts)
    modes = workload(variants[0].plan.family).modes

    def size(time: Time) -> str:
        return size_text(time.problem, modes)

    if path:
        timelines = [known(variant, out) for variant in variants]
        for why in (f"not shown: {each}" for timeline in timelines for each in timeline.odd):
            say(why, style="yellow")
        shown = [
            Shown(row, step.timeline, timeline.measured, variant.source, timeline.stale, step.untried)
            for row, step, variant, timeline in zip(rows, told, variants, timelines, strict=True)
        ]
        write_text(path, written(exploration.spec.purpose, shown, size, format_seconds, beside, stale))
        left = [name for (name, _, _, _), timeline in zip(facts, timelines, strict=True) if timeline.stale]
        if left and not as_json:
            say(
                f"left out of account: {count(len(left), 'stale measured timeline')}; the page says why", style="yellow"
            )
    if as_json:
        print_json({"steps": plain(rows), "contrast": plain(beside), "stale_contrast": stale})
        return
    _print(rows, size)
    for why in dict.fromkeys(step.untried for step in told if step.untried):
        say(why, style="yellow")
    if beside:
        typer.echo()
        print_contrast(beside)
    elif stale:
        say(f"left out of account: what was measured of two kernels on two streams is stale: {stale}", style="yellow")
    if path:
        say(f"{path}: the page; open it in a browser")


def _print(rows: list[Row], size: Callable[[Time], str]) -> None:
    from warpwright.cli.results import format_seconds, measured_columns

    measured = any(row.measured for row in rows)
    head = measured_columns(row.measured.where for row in rows if row.measured) if measured else []
    published = any(row.published for row in rows)
    columns = ["step", "adds", "predicted", *(["published by others"] if published else []), *head]
    columns += ["speed", "over first", "over before"]
    cells = []
    for row in rows:
        time = row.measured or row.predicted
        cells.append(
            [
                str(row.number),
                row.adds,
                format_seconds(row.predicted.seconds),
                *([format_seconds(row.published.seconds) if row.published else ""] if published else []),
                *(
                    [
                        format_seconds(row.measured.seconds) if row.measured else "",
                        f"{row.vendor:.3f}" if row.vendor else "",
                    ]
                    if measured
                    else []
                ),
                f"{time.speed:.4g} {time.rate}",
                f"{row.over_first:.2f}",
                f"{row.over_before:.2f}",
            ]
        )
    print_table(columns, cells, right=[column for column in columns if column != "adds"])
    both = "measured speeds where both steps have been measured, of predicted ones else"
    what = both if measured else "predicted speeds"
    sizes = {size(row.measured or row.predicted) for row in rows}
    say(f"gains are of {what}; times are for {' and '.join(sorted(sizes))}")
    for source in dict.fromkeys(row.published.source for row in rows if row.published):
        say(f"published by others: of kernels of their own: {source}")
