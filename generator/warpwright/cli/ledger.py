"""The command that turns the evidence in variant folders into the committed ledger."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpwright.cli.app import OutOption, WholeConfigArgument, app
from warpwright.cli.terminal import Terminal, count, say

if TYPE_CHECKING:
    from warpwright.record import LedgerLine

__all__: list[str] = []


@app.command()
def ledger(
    config: WholeConfigArgument,
    out: OutOption = Path("out"),
    prune: Annotated[bool, typer.Option("--prune", help="Drop lines of variants that CONFIG no longer has.")] = False,
) -> None:
    """Renew the committed evidence of a configuration.

    Writes out/ledger/NAME.jsonl from the variants' folders, and beside it raw/NAME.jsonl with the GPU runs that its
    lines rest on, contrast/NAME.jsonl where `ladder --contrast` has measured something, and timelines/VARIANT.json of
    steps of a sequence. Only results for exactly the source that CONFIG gives now are taken over; lines that nothing
    newer replaces stay.
    Exit code 1 when some legal variant has no valid evidence beyond its plan, or damaged files.
    """
    from warpwright import pipeline
    from warpwright.cli.find import explore
    from warpwright.cli.untried import run_by_none
    from warpwright.pipeline import contrast, timelines
    from warpwright.pipeline.as_written import as_written
    from warpwright.pipeline.committed import line_of
    from warpwright.pipeline.raw_runs import merge_runs, own_runs, raw_path, read_runs, write_runs
    from warpwright.record import merge, read_ledger, write_ledger

    exploration = explore(config, out, whole=True)
    pipeline.advance(exploration, ("render",), Terminal())
    renewed = [
        line_of(variant, evidence)
        for variant in exploration.legal
        for evidence in variant.judgement.valid
        if evidence.origin == "here" and not variant.undone
    ]
    path = out / "ledger" / f"{exploration.spec.name}.jsonl"
    before = read_ledger(path)
    now = {variant.identity for variant in exploration.legal}
    after = [line for line in merge(before, renewed, now) if not prune or line.identity in now]
    if _told(after) != _told(before) or not as_written(path):
        write_ledger(path, after)
    fresh = {key: runs for variant in exploration.legal for key, runs in own_runs(variant).items()}
    current = {variant.name for variant in exploration.legal} if prune else None
    write_runs(raw_path(path), merge_runs(read_runs(raw_path(path)), fresh, current))
    _say_changes(path, before, after, now)
    for told in run_by_none((variant.plan.arch, variant.judgement) for variant in exploration.legal):
        say(f"{told}: warpwright bundle {exploration.typed} --to DIR; python3 DIR/run.py there; then import and ledger")
    beside = contrast.commit(exploration)
    if beside:
        say(f"{beside}: the measurement of two kernels on two streams")
    for timeline in timelines.commit(exploration):
        say(f"{timeline}: a measured timeline")
    without = [variant for variant in exploration.legal if not variant.judgement.valid]
    for variant in without[:3]:
        say(f"{variant.name}: nothing but its plan speaks for it", style="red")
    if without:
        lacking = count(len(without), "variant")
        say(f"without valid evidence: {lacking}; first: warpwright run {exploration.typed}", style="red")
    raise typer.Exit(1 if without or any(variant.undone for variant in exploration.legal) else 0)


def _say_changes(path: Path, before: Sequence[LedgerLine], after: Sequence[LedgerLine], now: set[str]) -> None:
    told, was_told = _told(after), _told(before)
    new = sum(value not in was_told for value in told)
    gone = sum(value not in told for value in was_told)
    say(f"{path}: {count(len(after), 'line')}, {new} new or changed, {gone} superseded or dropped")
    orphans = sum(line.identity not in now for line in after)
    if orphans:
        say(f"of variants that the configuration no longer has: {count(orphans, 'line')}; --prune drops them")


def _told(lines: Sequence[LedgerLine]) -> list[dict[str, Any]]:
    """What lines say: a result here knows more of itself than its line tells."""
    return [line.value() for line in lines]
