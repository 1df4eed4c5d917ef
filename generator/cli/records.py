"""Commands that read what is recorded: list, show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from generator.cli.app import JsonOption, OutOption, app
from generator.cli.terminal import print_json, print_table, say
from generator.errors import UserError
from generator.record import METHODS, Evidence, Folder, Judgement

__all__: list[str] = []


@app.command("list")
def list_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A configuration's name; all without.")] = "",
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """List the recorded variants with their evidence and status."""
    from generator.cli.find import recorded

    folders = recorded(out, Path(name).stem)
    if not folders:
        raise UserError(f"{out / name}: no variant is recorded there; `warpwright run {name or 'CONFIG'}` makes some")
    rows = [_summary(folder, judgement) for folder, judgement in _judged(folders, out)]
    if as_json:
        print_json(rows)
        return
    columns = ["variant", "config", "registers", "spills", "evidence", "status"]
    print_table(columns, [[_cell(row[column]) for column in columns] for row in rows], _NUMBERS, styles="status")
    say(f"{len(rows)} variants in {out}; `warpwright show VARIANT` tells everything about one")


_NUMBERS = ("registers", "spills")


def _judged(folders: list[Folder], out: Path) -> list[tuple[Folder, Judgement]]:
    from generator import pipeline

    names = {folder.path.parent.name for folder in folders}
    lines = {name: pipeline.ledger_lines(name, out) for name in names}
    return [(folder, pipeline.judge_folder(folder, lines[folder.path.parent.name])) for folder in folders]


def _summary(folder: Folder, judgement: Judgement) -> dict[str, Any]:
    built = folder.read("build.json") or {}
    return {
        "variant": folder.path.name,
        "config": folder.path.parent.name,
        "registers": built.get("registers"),
        "spills": built.get("spill_bytes"),
        "evidence": judgement.evidence,
        "status": judgement.status,
        "stale": [{"method": evidence.method, "because": why} for evidence, why in judgement.stale],
    }


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


@app.command()
def show(
    variant: Annotated[
        str, typer.Argument(metavar="VARIANT", help="A recorded variant: its name, label, or the head of one.")
    ],
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Tell everything that is known about one variant."""
    from generator.cli.find import find_folder

    folder = find_folder(variant, out)
    ((_, judgement),) = _judged([folder], out)
    stages = {file: folder.read(file) for file in ("point.json", "plan.json", *METHODS.values())}
    if as_json:
        known = {Path(file).stem: value for file, value in stages.items() if value is not None}
        print_json({**_summary(folder, judgement), "folder": str(folder.path), "files": known})
        return
    _print_variant(folder, judgement, stages)


def _print_variant(folder: Folder, judgement: Judgement, stages: dict[str, Any]) -> None:
    point, plan, built = (stages[file] or {} for file in ("point.json", "plan.json", "build.json"))
    typer.echo(f"{folder.label}\n")
    _print_pairs(
        "",
        {
            "status": judgement.status or "not known: nothing has been built",
            "evidence": judgement.evidence,
            "folder": folder.path,
            "source": folder.source_path if folder.source() else "not rendered",
        },
    )
    _print_pairs("Point", _flat(point))
    _print_pairs(
        "Plan",
        {
            "arch": plan.get("arch"),
            "symbol": plan.get("symbol"),
            "threads": plan.get("threads"),
            "shared memory": f"{plan.get('shared_bytes', 0):,} B",
            "registers at launch": plan.get("entry_registers"),
            "MMA": (plan.get("mma") or {}).get("instruction"),
            **{f"warps of {role['name']}": _warps(role) for role in plan.get("roles", ())},
            "more": f"warpwright explain {folder.path.name}",
        },
    )
    if built:
        sizes = ("registers", "spill_bytes", "stack_bytes", "static_shared_bytes", "dynamic_shared_bytes")
        _print_pairs(
            "Build",
            {
                **{name.replace("_", " "): built.get(name) for name in sizes},
                "source": str(built.get("source_sha"))[:12],
                "cubin": str(built.get("cubin_sha"))[:12],
                **{f"toolchain {name}": value for name, value in (built.get("toolchain") or {}).items()},
            },
        )
    _print_results(judgement)


def _print_results(judgement: Judgement) -> None:
    for evidence in judgement.valid:
        where = "ledger" if evidence.origin == "ledger" else "recorded here"
        device = f" on {evidence.gpu['gpu']}" if evidence.gpu.get("gpu") else ""
        typer.echo(f"{evidence.method}: {evidence.status}{device} ({where})")
        for line in (*evidence.reasons(), *_figures(evidence)):
            typer.echo(f"  {line}")
    for evidence, why in judgement.stale:
        typer.echo(f"{evidence.method}: stale, was {evidence.status}: {why}")


def _figures(evidence: Evidence) -> list[str]:
    """Return the figures of a result from a GPU, a line each."""
    figures = evidence.figures
    if evidence.method == "gpu-validated":
        told = ("problems", "correct", "skipped", "launches", "repeats", "ratio", "relative")
        return [f"{name}: {figures[name]}" for name in told if figures.get(name) not in (None, [])]
    if evidence.method == "compared":
        return [_comparison(name, case) for name, case in figures.get("cases", {}).items()]
    if evidence.method == "benchmarked":
        return [_timing(problem) for problem in figures.get("problems", ())]
    return []


def _comparison(name: str, case: Mapping[str, Any]) -> str:
    if case["equal"] == 1:
        return f"{name}: equal to the emulator's output bit by bit"
    return (
        f"{name}: {case['equal']:.2%} equal to the emulator's output bit by bit, off by {case['difference']} at most: "
        f"{case['ulps']} ulp, {case['ratio']} of what the error bounds allow"
    )


def _timing(figures: Mapping[str, Any]) -> str:
    from generator.cli.results import format_seconds

    cold, peer = figures["cold_us"], figures.get("peer")
    against = f", {peer['ratio']:.3f} of {peer['name']}" + (" (a tie)" if peer["tie"] else "") if peer else ""
    spread = f"p5 {format_seconds(cold['p5'] * 1e-6)}, p95 {format_seconds(cold['p95'] * 1e-6)}"
    extents = "x".join(str(figures[extent]) for extent in "mnk") + (f" L={figures['l']}" if figures["l"] != 1 else "")
    median = format_seconds(cold["median"] * 1e-6)
    return f"{extents}: {median} ({spread}), {figures['tflops']} TFLOP/s{against}"


def _warps(role: dict[str, Any]) -> str:
    registers = f", {role['registers']} registers" if role["registers"] else ""
    first, last = role["first_warp"], role["first_warp"] + role["warps"] - 1
    return f"{first if first == last else f'{first}..{last}'}{registers}: {role['duty']}"


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Return a tree as dotted paths, as the YAML's `sweep` writes them."""
    if isinstance(value, dict) and value:
        return {path: leaf for key, inner in value.items() for path, leaf in _flat(inner, f"{prefix}{key}.").items()}
    return {prefix.rstrip("."): value}


def _print_pairs(title: str, pairs: dict[str, Any]) -> None:
    if title:
        typer.echo(title)
    width = max((len(key) for key in pairs), default=0)
    for key, value in pairs.items():
        if value not in (None, "", []):
            typer.echo(f"  {key.ljust(width)}  {value}")
    typer.echo("")
