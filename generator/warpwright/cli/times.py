"""The tables of `bench`: every variant and everything it was timed beside, and how they stand to each other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from warpwright import families
from warpwright.canonical import canonical_json
from warpwright.cli.terminal import print_table
from warpwright.device.times import Timed, tables, to_unspecialised

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from warpwright.pipeline import Exploration

__all__ = ["add_unspecialised", "print_times", "timed"]


def timed(exploration: Exploration) -> list[Timed]:
    """Return what was measured of every variant that is correct, a value per problem."""
    return [
        Timed(
            variant.name, variant.plan, figures, canonical_json([evidence.gpu.get("gpu"), evidence.gpu.get("driver")])
        )
        for variant in exploration.legal
        if variant.status == "correct"
        for evidence in variant.judgement.valid
        if evidence.method == "benchmarked"
        for figures in evidence.figures.get("problems", ())
    ]


def add_unspecialised(exploration: Exploration, variants: list[dict[str, Any]]) -> None:
    """Add to each measured time of `variants` the ratio to the fastest variant whose warps all do the same, or None."""
    ratios: Mapping[tuple[str, str], float] = to_unspecialised(timed(exploration))
    for facts in variants:
        for time in facts["measured"]:
            ratio = ratios.get((facts["variant"], canonical_json(time["problem"])))
            time["unspecialised_ratio"] = None if ratio is None else round(ratio, 4)


def print_times(exploration: Exploration) -> None:
    """Print a table for each problem, where anything was timed; variants by the shortest name that finds them."""
    from warpwright.cli.results import names

    short = {variant.name: name for name, variant in names(exploration.variants).items()}
    found = [replace(each, name=short[each.name]) for each in timed(exploration)]
    if not found:
        return
    for table in tables(found, families.workload(exploration.spec.family).modes):
        typer.echo(f"\n{table.problem}")
        print_table(table.columns, table.rows, right=table.columns[1:])
