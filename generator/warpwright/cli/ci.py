"""The command that CI runs: re-plan, re-render and rebuild what is shipped, and hold it against the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpwright.cli.app import JobsOption, JsonOption, OutOption, app
from warpwright.cli.terminal import Terminal, count, print_json, print_table, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.pipeline.evidence_check import Report

__all__: list[str] = []

_NAMES = {"gpu": "gpu-validated"}


@app.command()
def ci(
    configs: Annotated[
        list[str] | None, typer.Argument(metavar="[CONFIG]...", help="All shipped configurations without.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option("--require", metavar="METHOD", help="Ask for this evidence too: gpu, or another method's name."),
    ] = None,
    jobs: JobsOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Check what is shipped against the committed evidence.

    Refuses a change that leaves a shipped variant without valid evidence.

    Re-plans, re-renders and rebuilds every variant (from the cache where it can), emulates it, then compares with the
    committed ledger: with what a configuration demands under `evidence`, and with every figure that was obtained here.
    Without CONFIG, a ledger whose configuration is gone is refused too.
    Exit code: 0 every legal variant is correct and its evidence valid, 1 otherwise.
    """
    from warpwright import pipeline, resources
    from warpwright.canonical import plain
    from warpwright.cli.find import explore
    from warpwright.pipeline.as_written import misspelled
    from warpwright.pipeline.beside_check import check_beside
    from warpwright.pipeline.checked_in import refuse_committed, refuse_compiled
    from warpwright.pipeline.evidence_check import check
    from warpwright.pipeline.raw_runs import runs_behind
    from warpwright.pipeline.same_gpu import implausible
    from warpwright.pipeline.timelines import orphans

    required = _methods(require or [])
    shipped = [str(path) for path in sorted(resources.configs().glob("*.yaml"))]
    if not (configs or shipped):
        raise UserError(f"{resources.configs()}: no configuration is shipped there; name one")
    refuse_compiled()
    files = pipeline.ledger_files(out)
    ledgers, runs, odd = pipeline.ledgers(out), runs_behind(files), misspelled(files.values())
    doubtful = implausible(files.values())
    reports, names, variants = [], set[str](), set[str]()
    for config in configs or shipped:
        exploration = explore(config, out, whole=True)
        refuse_committed(exploration.out)
        pipeline.advance(exploration, ("render", "build", "emulate"), Terminal(), jobs)
        report = check(exploration, ledgers, required, runs)
        reports.append(replace(report, complaints=(*report.complaints, *check_beside(exploration))))
        names.add(exploration.spec.name)
        variants |= {variant.name for variant in exploration.legal}
    abandoned = [] if configs else sorted(set(ledgers) - names)
    strays = [] if configs else _strays(resources.configs(), shipped)
    odd += [] if configs else [f"{path}: the timeline of no variant; remove it" for path in orphans(out, variants)]
    passed = all(report.passed for report in reports) and not (abandoned or odd or strays or doubtful)
    if as_json:
        told = [{**plain(report), "passed": report.passed} for report in reports]
        others = {
            "ledgers_without_configuration": abandoned,
            "not_as_written": odd,
            "not_checked": strays,
            "implausible": doubtful,
        }
        print_json({"passed": passed, "configs": told, **others})
    else:
        _print_reports(reports)
        for name in abandoned:
            say(
                f"{out / 'ledger' / name}.jsonl: no shipped configuration is called {name}; bring it back, or remove "
                "its ledger with it",
                style="red",
            )
        for text in (*odd, *doubtful):
            say(text, style="red")
        for stray in strays:
            say(f"{stray}: not checked, since what ships is NAME.yaml in {resources.configs()}; move it", style="red")
    raise typer.Exit(0 if passed else 1)


def _strays(folder: Path, shipped: Sequence[str]) -> list[str]:
    """Files below the shipped configurations' folder that look like one, and are none that is checked."""
    found = sorted(str(path) for path in folder.rglob("*") if path.suffix.lower() in (".yaml", ".yml"))
    return [path for path in found if path not in shipped]


def _methods(names: Sequence[str]) -> list[str]:
    from warpwright.record import METHODS

    found = [_NAMES.get(name, name) for name in names]
    for name, method in zip(names, found, strict=True):
        if method not in METHODS:
            raise UserError(f"--require {name}: no such method; there are {', '.join([*_NAMES, *METHODS])}")
    return found


def _print_reports(reports: Sequence[Report]) -> None:
    from warpwright.pipeline.evidence_check import renewal
    from warpwright.record import METHODS

    methods = [method for method in METHODS if any(r.valid.get(method) for r in reports)]
    columns = ["config", "variants", "correct", *methods, "verdict"]
    rows: list[list[Any]] = [
        [r.config, r.legal, r.correct, *(r.valid.get(method, 0) for method in methods), _verdict(r)] for r in reports
    ]
    print_table(columns, rows, right=columns[1:-1])
    for report in reports:
        if report.unrun:
            say(f"{report.config}: no GPU has run any of its variants, and its `evidence` does not ask for that")
        for rule, number in report.illegal.items():
            say(f"{report.config}: {count(number, 'point')} illegal by {rule} (allowed)")
        if not report.legal:
            say(f"{report.config}: no point is legal; warpwright plan {report.config} says why", style="red")
        for complaint in report.complaints:
            text = f"{report.config}: {'' if complaint.fatal else 'warning: '}{complaint}"
            say(text, style="red" if complaint.fatal else "yellow")
            if not complaint.method:
                say(f"  see: warpwright show {complaint.variants[0]}")
        of_evidence = [complaint for complaint in report.complaints if complaint.method]
        for commands in dict.fromkeys(renewal(report.config, complaint) for complaint in of_evidence):
            say(f"  renew the evidence: {commands}")


def _verdict(report: Report) -> str:
    return "passed" if report.passed else "FAILED"
