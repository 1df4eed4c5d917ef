"""Commands that read what is recorded: list, show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from warpwright import families
from warpwright.cli.app import JsonOption, OutOption, app
from warpwright.cli.damage import say_damaged
from warpwright.cli.figures import figure_lines
from warpwright.cli.terminal import count, print_json, print_table, say
from warpwright.errors import UserError
from warpwright.record import METHODS, Folder, Judgement

__all__: list[str] = []


@app.command("list")
def list_command(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A configuration's name; all without.")] = "",
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """List the recorded variants with their evidence and status."""
    from warpwright.cli.find import obsolete, recorded

    folders = recorded(out, Path(name).stem)
    if not folders:
        raise UserError(f"{out / name}: no variant is recorded there; `warpwright run {name or 'CONFIG'}` makes some")
    past = obsolete(folders)
    rows = [_summary(folder, judgement, past) for folder, judgement in _judged(folders, out)]
    say_damaged(folders)
    if as_json:
        print_json(rows)
        return
    columns = ["variant", "config", "registers", "spills", "evidence", "status"]
    columns += ["note"] if any(row["note"] for row in rows) else []
    print_table(columns, [[_cell(row[column]) for column in columns] for row in rows], _NUMBERS, styles="status")
    say(f"{count(len(rows), 'variant')} in {out}; `warpwright show VARIANT` tells everything about one")
    if past:
        say(
            f"{count(len(past), 'variant')} obsolete: no configuration has it now; `warpwright clean CONFIG` lists such"
        )


_NUMBERS = ("registers", "spills")


def _judged(folders: list[Folder], out: Path) -> list[tuple[Folder, Judgement]]:
    from warpwright import pipeline

    lines = pipeline.ledger_lines(out)
    return [(folder, pipeline.judge_folder(folder, lines)) for folder in folders]


def _summary(folder: Folder, judgement: Judgement, past: Collection[Path]) -> dict[str, Any]:
    built = folder.result("built") or {}
    return {
        "variant": folder.path.name,
        "config": folder.path.parent.name,
        "registers": built.get("registers"),
        "spills": built.get("spill_bytes"),
        "evidence": judgement.evidence,
        "status": judgement.status,
        "stale": [{"method": evidence.method, "because": why} for evidence, why in judgement.stale],
        "note": ", ".join(_notes(folder, judgement, past)),
    }


def _notes(folder: Folder, judgement: Judgement, past: Collection[Path]) -> list[str]:
    """Say in a word each what sets a folder apart from what its configuration gives and has proved."""
    valid = {evidence.method for evidence in judgement.valid}
    stale = any(evidence.method not in valid for evidence, _ in judgement.stale)
    marks = {"obsolete": folder.path in past, "edited": folder.edited(), "stale": stale}
    return [mark for mark, holds in marks.items() if holds]


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
    from warpwright.cli.find import find_folder, obsolete

    folder = find_folder(variant, out)
    past = obsolete([folder])
    ((_, judgement),) = _judged([folder], out)
    say_damaged([folder])
    stages = {file: folder.read(file) for file in ("point.json", "plan.json")}
    stages |= {file: folder.result(method) for method, file in METHODS.items()}
    if as_json:
        known = {Path(file).stem: value for file, value in stages.items() if value is not None}
        print_json({**_summary(folder, judgement, past), "folder": str(folder.path), "files": known})
        return
    _print_variant(folder, judgement, stages, _notes(folder, judgement, past))


_NOTES = {
    "obsolete": "obsolete: its configuration no longer has it; `warpwright clean CONFIG` removes such folders",
    "edited": "edited: kernel.py is not what was rendered; `generate` renders it anew and keeps this one beside it",
    "stale": "stale: results for another source or compiler are left out of account, see the end",
}


def _print_variant(folder: Folder, judgement: Judgement, stages: dict[str, Any], notes: list[str]) -> None:
    point, plan, built = (stages[file] or {} for file in ("point.json", "plan.json", "build.json"))
    typer.echo(f"{folder.label}\n")
    _print_pairs(
        "",
        {
            "status": judgement.status or "not known: nothing has been built",
            "evidence": judgement.evidence,
            "folder": folder.path,
            "source": folder.source_path if folder.source() else "not rendered",
            **{("note" if number == 0 else " " * number): _NOTES[note] for number, note in enumerate(notes)},
        },
    )
    _print_pairs("Point", _flat(point))
    kernels = plan.get("kernels") or []
    for kernel in kernels:
        roles = {f"warps of {role['name']}": _warps(role) for role in kernel["roles"]}
        _print_pairs(
            "Plan" if len(kernels) == 1 else f"Plan of {kernel['name']}",
            {
                "arch": plan.get("arch"),
                "exported as": plan.get("symbol"),
                "threads": kernel["threads"],
                "shared memory": f"{kernel['shared_bytes']:,} B",
                "registers at launch": kernel["entry_registers"],
                "MMA": ", ".join(mma["instruction"] for mma in kernel["mmas"]),
                **roles,
                "more": f"warpwright explain {folder.path}",
            },
        )
    _print_arguments(plan.get("arguments") or [])
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
    modes = families.workload(plan["family"]).modes if plan.get("family") in families.NAMES else ()
    _print_results(judgement, modes, "edited" in notes)


def _print_arguments(arguments: list[dict[str, Any]]) -> None:
    """Print a function's arguments in the order of a call with what each must be like."""
    from warpwright.plan.tables import text_table

    rows = [("argument", "dtype", "shape", "stride 1", "alignment", "meaning")]
    for a in arguments:
        shape = f"({', '.join(a['shape'])})" if a["shape"] else "scalar"
        aligned = f"{a['alignment']} B" if a["kind"] != "scalar" else ""
        rows.append((a["name"], a["dtype"], shape, a["contiguous"], aligned, a["meaning"]))
    if arguments:
        typer.echo("Arguments, in the order of a call")
        typer.echo(text_table(rows) + "\n")


def _print_results(judgement: Judgement, modes: Sequence[str], edited: bool) -> None:
    for evidence in judgement.valid:
        where = "ledger" if evidence.origin == "ledger" else "recorded here"
        where += ", of the edited kernel.py" if edited else ""
        device = f" on {evidence.gpu['gpu']}" if evidence.gpu.get("gpu") else ""
        typer.echo(f"{evidence.method}: {evidence.status}{device} ({where})")
        for line in (*evidence.reasons(), *figure_lines(evidence, modes)):
            typer.echo(f"  {line}")
    for evidence, why in judgement.stale:
        typer.echo(f"{evidence.method}: stale, was {evidence.status}: {why}")


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
