"""The command that says why a kernel hangs, or runs and does not overlap: diagnose."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpwright.cli import completion
from warpwright.cli.app import TIMELINE, JsonOption, OutOption, app, file_to_write
from warpwright.cli.terminal import print_json, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.plan.types import Plan

__all__: list[str] = []


@app.command()
def diagnose(
    target: Annotated[
        str,
        typer.Argument(
            metavar="VARIANT",
            autocompletion=completion.variants,
            help="A recorded variant (also one with an edited kernel.py), or CONFIG:INDEX.",
        ),
    ],
    problem: Annotated[
        str,
        typer.Option("--problem", "-p", metavar="PROBLEM", help="Extents (4096x4096x4096), or a case of the emulator."),
    ] = "",
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Write the timeline of CTA 0 (Chrome trace JSON).")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw it, to a .png, .svg or .pdf (matplotlib).")
    ] = None,
    modelled: Annotated[
        bool, typer.Option("--modelled", help="By the emulator alone, also where there is a GPU.")
    ] = False,
    counters: Annotated[
        bool, typer.Option("--counters/--no-counters", help="On a GPU: also what Nsight Compute counts (ncu).")
    ] = True,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Say why a kernel hangs, or does not overlap loads and compute.

    Of a hang: which role waits for which barrier, stage and phase, and who should have arrived. Of a run that ends: how
    far loads and compute overlap, who waits how long for what, how full the ring is.
    An instrumented twin of the kernel is built and executed: on the GPU where there is one, else in the emulator.
    Nothing of it is recorded: it is another source than the variant's.
    Exit code: 0 it ends with right numbers, 1 it hangs or is wrong.
    """
    from warpwright import scratch
    from warpwright.diagnosis.diagnose import diagnose_plan
    from warpwright.diagnosis.picture import check_picture, draw
    from warpwright.diagnosis.timeline import write_perfetto

    if trace is not None:
        file_to_write(trace, TIMELINE)
    if picture is not None:
        check_picture(file_to_write(picture))
    plan, name, source = _kernel(target, out)
    with scratch.folder("twin") as folder:
        found = diagnose_plan(plan, name, Path(folder), problem, source, modelled, counters)
    report = found.report
    if trace is not None:
        whose = " on ".join(filter(None, (report.source, report.device)))
        more = {"obtained": report.obtained, "shared": report.shared}
        write_perfetto(trace, found.trace, name, whose, report.problem, more)
    if picture is not None:
        draw(picture, found.trace, f"{name}, {report.problem}, {report.source}: {report.status}")
    if as_json:
        print_json(report.data())
    else:
        for line in report.lines():
            typer.echo(line)
        for path in (trace, picture):
            if path is not None:
                say(f"written: {path}" + ("; open it in ui.perfetto.dev" if path is trace else ""))
    raise typer.Exit(0 if report.status == "ended" else 1)


def _kernel(target: str, out: Path) -> tuple[Plan, str, str]:
    """Return the plan that is meant, its name, and the kernel's source where a person has edited it ("" where not).

    The plan is made anew where a configuration has the variant: templates of today want plans of today.
    """
    from warpwright.cli.find import explore, find_folder, find_plan

    plan, _ = find_plan(target, out)
    name = plan.label
    with contextlib.suppress(UserError):
        (variant,) = explore(target, out).variants
        plan, name = variant.plan, variant.name
    if not plan.legal:
        raise UserError(f"{target}: {plan.label} is illegal: {plan.violations[0].message}")
    try:
        folder = find_folder(target, out)
    except UserError:
        return plan, name, ""
    return plan, folder.path.name, (folder.source() or "") if folder.edited() else ""
