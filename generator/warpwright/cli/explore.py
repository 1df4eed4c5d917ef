"""Commands that need neither a compiler nor a GPU: plan, explain, rules, new, schema."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpwright import families
from warpwright.cli import completion
from warpwright.cli.app import ConfigArgument, JsonOption, OnlyOption, OutOption, app, file_to_write
from warpwright.cli.terminal import count, print_json, print_table, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.frozen import Frozen

__all__ = ["extents_from"]

_FAMILIES = f"The kernel family: {', '.join(families.NAMES)}."


@app.command("plan")
def plan_command(
    config: ConfigArgument, only: OnlyOption = None, out: OutOption = Path("out"), as_json: JsonOption = False
) -> None:
    """Say which points are legal, and why the others are not.

    Builds and writes nothing. An illegal point is an answer, not a failure: exit code 1 only when no point is legal.
    """
    from warpwright.cli.find import explore
    from warpwright.cli.results import names, prediction
    from warpwright.cli.untried import predicted_for

    exploration = explore(config, out, only)
    spec = exploration.spec
    variants = exploration.variants
    removed = Counter(violation.rule for variant in variants for violation in variant.plan.violations)
    where = dict(zip(spec.where, spec.expansion.removed, strict=True))
    if as_json:
        print_json(
            {
                "config": exploration.label,
                "combinations": spec.count(),
                "duplicates": spec.expansion.duplicates,
                "removed_by_where": where,
                "removed_by_rule": dict(removed),
                "points": [
                    {
                        "index": variant.index,
                        "variant": variant.name,
                        "label": variant.plan.label,
                        "legal": variant.plan.legal,
                        "violations": variant.plan.violations,
                        "shared_bytes": variant.plan.shared_bytes if variant.plan.legal else None,
                        "predicted": prediction(variant, spec),
                        "point": {"kernel": variant.point.kernel, "design": variant.point.design},
                    }
                    for variant in variants
                ],
            }
        )
    else:
        shown = names(variants)
        print_table(
            ["variant", "index", "legal", "shared memory", "predicted"],
            [_plan_row(name, variant, prediction(variant, spec)) for name, variant in shown.items()],
            right=["index", "shared memory", "predicted"],
        )
        _say_removed(spec, where, removed, variants)
        if exploration.legal:
            say(f"times are predicted for {predicted_for(variant.plan.arch for variant in exploration.legal)}")
    raise typer.Exit(0 if exploration.legal else 1)


def _plan_row(name: str, variant: Any, predicted: dict[str, Any] | None) -> list[str]:
    from warpwright.cli.results import format_bytes, format_seconds

    if not variant.plan.legal:
        return [
            name,
            str(variant.index),
            "no: " + ", ".join(violation.rule for violation in variant.plan.violations),
            "",
            "",
        ]
    time = format_seconds(predicted["seconds"]) if predicted else ""
    return [name, str(variant.index), "yes", format_bytes(variant.plan.shared_bytes), time]


def _say_removed(spec: Any, where: dict[str, int], removed: Counter[str], variants: list[Any]) -> None:
    legal = sum(variant.plan.legal for variant in variants)
    say(f"{count(spec.count(), 'combination')}, {count(len(variants), 'point')}, {legal} legal")
    if spec.expansion.duplicates:
        say(f"  {count(spec.expansion.duplicates, 'combination')} the same as another")
    for predicate, number in where.items():
        if number:
            say(f"  {number} left out by `where`: {predicate}")
    messages = {v.rule: v.message for variant in variants for v in reversed(variant.plan.violations)}
    for rule, number in removed.most_common():
        say(f"  {number} illegal by {rule}, e.g. {messages[rule]}")


@app.command()
def explain(
    point: Annotated[
        str,
        typer.Argument(
            metavar="POINT",
            autocompletion=completion.variants,
            help="CONFIG:INDEX (as `plan` lists them) or CONFIG:LABEL, CONFIG alone where it has one point, or a "
            "recorded variant.",
        ),
    ],
    problem: Annotated[
        str | None,
        typer.Option(
            "--problem", "-p", metavar="EXTENTS", help="The problem that time is predicted for, as 4096,4096,4096."
        ),
    ] = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Show how one plan comes about.

    Memory map, barriers, roles, registers, waves, predicted time and what bounds it.
    Exit code: 0 the plan is legal, 1 it is not, and the text says why.
    """
    from warpwright.cli.find import find_plan
    from warpwright.plan.explanation import explain as explain_plan

    plan, default = find_plan(point, out)
    extents = default if problem is None else extents_from(problem, families.family(plan.family).problem)
    if as_json:
        predicted = families.target(plan.family, plan.arch).predict(plan, extents) if plan.legal else None
        print_json({"plan": plan, "legal": plan.legal, "problem": extents, "predicted": predicted})
    else:
        typer.echo(explain_plan(plan, extents).rstrip("\n"))
    raise typer.Exit(0 if plan.legal else 1)


def extents_from(text: str, model: type[Frozen]) -> dict[str, int]:
    """Read a problem's extents in the order of the family's fields; one with a default may be left out at the end."""
    fields = model.model_fields
    shown = ",".join(name.upper() if field.is_required() else f"[{name.upper()}]" for name, field in fields.items())
    parts = [part.strip() for part in text.lower().replace("x", ",").split(",")]
    fewest = sum(field.is_required() for field in fields.values())
    if not fewest <= len(parts) <= len(fields) or not all(part.isascii() and part.isdecimal() for part in parts):
        numbers = ",".join(["4096"] * fewest)
        raise UserError(f"--problem {text[:80]}: not the extents {shown}; write whole numbers such as {numbers}")
    from pydantic import ValidationError

    from warpwright.canonical import plain
    from warpwright.plan.prediction import extents_of

    try:
        problem = model.model_validate({name: int(part[:30]) for name, part in zip(fields, parts, strict=False)})
    except ValidationError as error:
        first = error.errors()[0]
        rule = first["msg"].replace("Input should be", "it must be")
        raise UserError(f"--problem {text[:80]}: {str(first['loc'][0]).upper()}: {rule}") from None
    return extents_of(plain(problem))


@app.command()
def rules(as_json: JsonOption = False) -> None:
    """List every rule that can make a point illegal."""
    from warpwright.plan import rules as all_rules

    found = [(family, arch, rule) for (family, arch), listed in all_rules().items() for rule in listed]
    if as_json:
        print_json(
            [
                {"family": family, "arch": arch, "id": rule.id, "field": rule.field, "statement": rule.statement}
                for family, arch, rule in found
            ]
        )
        return
    kernels = {f"{family} {arch}" for family, arch, _ in found}
    columns = ["rule", "field", "statement"] if len(kernels) == 1 else ["rule", "kernel", "field", "statement"]
    cells = [
        {"rule": rule.id, "kernel": f"{family} {arch}", "field": rule.field, "statement": rule.statement}
        for family, arch, rule in found
    ]
    print_table(columns, [[cell[column] for column in columns] for cell in cells], fold="statement")
    say(f"{len(found)} rules for {', '.join(sorted(kernels))}")


@app.command()
def new(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to write it; stdout without.")] = None,
    family: Annotated[str, typer.Option(help=_FAMILIES)] = families.NAMES[0],
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Write a commented YAML file to start from."""
    from warpwright.record import write_text

    if family not in families.NAMES:
        raise UserError(f"--family {family}: unknown; there are {', '.join(families.NAMES)}")
    starter = families.family(family).starter
    if file is None:
        typer.echo(starter, nl=False)
        return
    if file_to_write(file).suffix not in completion.SUFFIXES:
        raise UserError(f"{file}: other commands would not take it for a configuration; name it {file}.yaml")
    if file.exists() and not force:
        raise UserError(f"{file}: exists already; choose another name, or --force to overwrite it")
    write_text(file, starter)
    say(f"wrote {file}; next: warpwright plan {file}")


@app.command()
def schema(
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to write it; stdout without.")] = None,
) -> None:
    """Export the JSON Schema of YAML files, for editors."""
    import json

    from warpwright.record import write_text
    from warpwright.spec import json_schema

    if file is None:
        print_json(json_schema())
        return
    write_text(file_to_write(file, '{"$defs":{'), json.dumps(json_schema(), sort_keys=True, indent=1) + "\n")
    say(f"wrote {file}; in VS Code: # yaml-language-server: $schema={file}")
