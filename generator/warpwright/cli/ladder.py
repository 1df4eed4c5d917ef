"""The command that tells what each step of a sequence of kernels is worth: ladder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpwright.cli import completion
from warpwright.cli.app import JsonOption, OutOption, app, file_to_write
from warpwright.cli.terminal import print_json, print_table, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.steps import Row

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
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Tell what each kernel of a sequence adds, and is worth.

    Times are predicted, and measured where there is evidence; gains compare measured times where both steps have one.
    Exit code: 0, or 2 where CONFIG is no such sequence.
    """
    from warpwright import pipeline
    from warpwright.canonical import plain
    from warpwright.cli.find import explore
    from warpwright.cli.results import names, prediction, timings
    from warpwright.cli.terminal import Terminal
    from warpwright.families import family
    from warpwright.record.atomic import write_text
    from warpwright.steps import page as written
    from warpwright.steps import table

    path = file_to_write(page, _PAGE) if page else None
    exploration = explore(config, out, whole=True)
    pipeline.advance(exploration, ("render",), Terminal())
    variants = [variant for variant in exploration.legal if variant.source]
    steps = [family(variant.plan.family).step(variant.plan) for variant in variants]
    if not steps or None in steps:
        raise UserError(f"{config}: its points are no steps of a sequence; `warpwright ladder` alone shows one that is")
    told = [step for step in steps if step]
    facts = []
    for (name, variant), step in zip(names(variants).items(), told, strict=True):
        predicted = prediction(variant, exploration.spec)
        if predicted is None:  # legal ones alone are rendered
            raise UserError(f"{config}: no problem of `bench` is within the limits of {name}; add one")
        facts.append((name, step.adds, predicted, next(iter(timings(variant.judgement)), None)))
    rows = table(facts)
    if path:
        purpose = exploration.spec.purpose
        write_text(path, written(purpose, rows, [step.timeline for step in told], [v.source for v in variants]))
    if as_json:
        print_json(plain(rows))
        return
    _print(rows)
    if path:
        say(f"{path}: the page; open it in a browser")


def _print(rows: list[Row]) -> None:
    from warpwright.cli.results import format_seconds

    measured = any(row.measured for row in rows)
    columns = ["step", "adds", "predicted", *(["measured", "vs vendor"] if measured else []), "speed", "over first",
               "over before"]  # fmt: skip
    cells = []
    for row in rows:
        time = row.measured or row.predicted
        cells.append(
            [
                str(row.number),
                row.adds,
                format_seconds(row.predicted.seconds),
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
    sizes = {" ".join(f"{mode.upper()}={extent}" for mode, extent in (row.measured or row.predicted).problem.items())
             for row in rows}  # fmt: skip
    say(f"gains are of {what}; times are for {' and '.join(sorted(sizes))}")
