"""The command that tells everything about one recorded variant: show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpwright import families
from warpwright.cli import completion
from warpwright.cli.app import JsonOption, OutOption, app
from warpwright.cli.damage import say_damaged
from warpwright.cli.listing import judged, notes, summary
from warpwright.cli.origin import explain_origins, level, origin
from warpwright.cli.terminal import print_json, printable, say
from warpwright.cli.untried import run_by_none

if TYPE_CHECKING:
    from warpwright.record import Folder, Judgement

__all__: list[str] = []


@app.command()
def show(
    variant: Annotated[
        str,
        typer.Argument(
            metavar="VARIANT",
            autocompletion=completion.variants,
            help="A recorded variant: its name, label, or the head of one.",
        ),
    ],
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Tell everything that is known about one variant."""
    from warpwright.cli.find import find_folder, obsolete
    from warpwright.record import METHODS

    folder = find_folder(variant, out)
    past = obsolete([folder])
    ((_, judgement),) = judged([folder], out)
    damaged = say_damaged([folder])
    stages = {file: folder.read(file) for file in ("point.json", "plan.json")}
    stages |= {file: folder.result(method) for method, file in METHODS.items()}
    if stages["plan.json"] is not None and not _is_plan(folder, stages["plan.json"]):
        stages["plan.json"] = None
    if as_json:
        known = {Path(file).stem: value for file, value in stages.items() if value is not None}
        print_json({**summary(folder, judgement, past, damaged), "folder": str(folder.path), "files": known})
        return
    _print_variant(folder, judgement, stages, notes(folder, judgement, past, damaged))
    for line in run_by_none([((stages["plan.json"] or {}).get("arch", ""), judgement)], "this variant"):
        typer.echo(line)


def _is_plan(folder: Folder, stored: dict[str, Any]) -> bool:
    """Whether what is stored is a plan of this version, which is told where it is none."""
    from warpwright.plan.stored import PlanError, plan_from_json

    try:
        plan_from_json(stored)
    except PlanError as error:
        say(f"{folder.path.name}: {error}", style="yellow")
        return False
    return True


_NOTES = {
    "obsolete": "obsolete: its configuration no longer has it; `warpwright clean CONFIG` removes such folders",
    "edited": "edited: kernel.py is not what was rendered; `generate` renders it anew and keeps this one beside it",
    "damaged": "damaged: files that were changed since they were written count for nothing; stderr says which",
    "stale": "stale: results for another source or compiler are left out of account, see the end",
}


def _print_variant(folder: Folder, judgement: Judgement, stages: dict[str, Any], marks: list[str]) -> None:
    point, plan, built = (stages[file] or {} for file in ("point.json", "plan.json", "build.json"))
    typer.echo(f"{folder.label}\n")
    _print_pairs(
        "",
        {
            "status": judgement.status or "not known: nothing has been built",
            "evidence": level(judgement),
            "folder": folder.path,
            "source": folder.source_path if folder.source() else "not rendered",
            **{("note" if number == 0 else " " * number): _NOTES[note] for number, note in enumerate(marks)},
        },
    )
    _print_pairs("Point", _flat(point))
    kernels = plan.get("kernels") or []
    for kernel in kernels:
        roles = {f"warps of {role['name']}": _warps(role) for role in kernel["roles"]}
        tensor = kernel.get("tensor_memory")
        _print_pairs(
            "Plan" if len(kernels) == 1 else f"Plan of {kernel['name']}",
            {
                "arch": plan.get("arch"),
                "exported as": plan.get("symbol"),
                "threads": kernel["threads"],
                "shared memory": f"{kernel['shared_bytes']:,} B",
                "tensor memory": f"{tensor['columns']} columns" if tensor else None,
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
    _print_results(judgement, modes, "edited" in marks)


def _print_arguments(arguments: list[dict[str, Any]]) -> None:
    """Print a function's arguments in the order of a call with what each must be like."""
    from warpwright.plan.tables import text_table

    rows = [("argument", "dtype", "shape", "stride 1", "alignment", "meaning")]
    for a in arguments:
        shape = f"({', '.join(a['shape'])})" if a["shape"] else "scalar"
        aligned = f"{a['alignment']} B" if a["kind"] != "scalar" else ""
        meaning = f"{a['meaning']}; may be {a['in_place']} itself" if a.get("in_place") else a["meaning"]
        rows.append((a["name"], a["dtype"], shape, a["contiguous"], aligned, meaning))
    if arguments:
        typer.echo("Arguments, in the order of a call")
        typer.echo(text_table(rows) + "\n")


def _print_results(judgement: Judgement, modes: Sequence[str], edited: bool) -> None:
    from warpwright.cli.figures import figure_lines
    from warpwright.record.wrong import PARTIAL

    for evidence in judgement.valid:
        where = {"here": "recorded here"}.get(origin(evidence), origin(evidence))
        where += ", of the edited kernel.py" if edited else ""
        device = f" on {evidence.gpu['gpu']}" if evidence.gpu.get("gpu") else ""
        typer.echo(f"{evidence.method}: {evidence.status}{device} ({where})")
        for line in (*evidence.reasons(), *figure_lines(evidence, modes)):
            typer.echo(indent(printable(line), "  "))
    for line in explain_origins(judgement.valid):
        say(line)
    for evidence, why in judgement.stale:
        was = "" if evidence.status == PARTIAL else "stale, was "
        typer.echo(f"{evidence.method}: {was}{evidence.status}: {why}")


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
