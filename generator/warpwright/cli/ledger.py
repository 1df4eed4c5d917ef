"""The command that turns the evidence in variant folders into the committed ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from warpwright.cli.app import ConfigArgument, OutOption, app
from warpwright.cli.terminal import Terminal, count, say

__all__ = ["figures"]

#: What the ledger says of a build. Not its duration: the same evidence must give the same line.
_BUILT_FIGURES = (
    "registers",
    "spill_bytes",
    "stack_bytes",
    "static_shared_bytes",
    "dynamic_shared_bytes",
    "findings",
    "failure",
)


def figures(method: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a result that its ledger line repeats."""
    if method == "built":
        return {name: found[name] for name in _BUILT_FIGURES if found.get(name) not in (None, [], {})}
    return found


@app.command()
def ledger(
    config: ConfigArgument,
    out: OutOption = Path("out"),
    prune: Annotated[bool, typer.Option("--prune", help="Drop lines of variants that CONFIG no longer has.")] = False,
) -> None:
    """Renew the committed evidence of a configuration.

    Writes out/ledger/NAME.jsonl from the variants' folders. Only results for exactly the source that CONFIG
    gives now are taken over; lines that nothing newer replaces stay.
    Exit code 1 when some legal variant has no valid evidence beyond its plan.
    """
    import dataclasses

    from warpwright import pipeline
    from warpwright.record import LedgerLine, merge, read_ledger, write_ledger

    exploration = pipeline.plan(config, out)
    pipeline.advance(exploration, ("render",), Terminal())
    renewed = [
        LedgerLine(
            variant.folder.label,
            variant.identity,
            dataclasses.replace(evidence, figures=figures(evidence.method, dict(evidence.figures)), origin="ledger"),
        )
        for variant in exploration.legal
        for evidence in variant.judgement.valid
        if evidence.origin == "here"
    ]
    path = out / "ledger" / f"{exploration.spec.name}.jsonl"
    before = read_ledger(path)
    now = {variant.identity for variant in exploration.legal}
    after = [line for line in merge(before, renewed, now) if not prune or line.identity in now]
    if [line.text() for line in after] != [line.text() for line in before]:
        write_ledger(path, after)
    _say_changes(path, before, after, now)
    without = [variant for variant in exploration.legal if not variant.judgement.valid]
    for variant in without[:3]:
        say(f"{variant.name}: nothing but its plan speaks for it", style="red")
    if without:
        lacking = count(len(without), "variant")
        say(f"without valid evidence: {lacking}; first: warpwright run {exploration.typed}", style="red")
    raise typer.Exit(1 if without else 0)


def _say_changes(path: Path, before: list[Any], after: list[Any], now: set[str]) -> None:
    old, new = {line.text() for line in before}, {line.text() for line in after}
    say(f"{path}: {count(len(after), 'line')}, {len(new - old)} new or changed, {len(old - new)} superseded or dropped")
    orphans = sum(line.identity not in now for line in after)
    if orphans:
        say(f"of variants that the configuration no longer has: {count(orphans, 'line')}; --prune drops them")
