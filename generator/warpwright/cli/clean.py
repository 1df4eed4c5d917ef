"""The command that removes folders of variants that a configuration no longer has."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from warpwright.cli.app import ConfigArgument, OutOption, app
from warpwright.cli.terminal import count, say
from warpwright.record import Folder

__all__: list[str] = []


@app.command()
def clean(
    config: ConfigArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete them; without, they are only listed.")] = False,
    out: OutOption = Path("out"),
) -> None:
    """List folders of variants that CONFIG no longer has.

    With --yes deletes them, except those that hold a kernel edited by hand. The ledger is never touched.
    """
    from warpwright import pipeline
    from warpwright.record import folders_in, note_current, obsolete_in, rebuild

    exploration = pipeline.plan(config, out)
    folders = folders_in(exploration.folder)
    if not folders:
        say(f"{exploration.folder}: no variant is recorded there")
        return
    for other in note_current(exploration.folder, exploration.file, exploration.current):
        say(f"{other} has the same name: its variants are not obsolete either", style="yellow")
    names = obsolete_in(exploration.folder)
    past = [folder for folder in folders if folder.path.name in names]
    kept = [folder for folder in past if _holds_work(folder)]
    for folder in past:
        typer.echo(folder.path)
        if yes and folder not in kept:
            shutil.rmtree(folder.path)
    for folder in kept:
        say(f"{folder.path}: holds a kernel edited by hand: delete it yourself", style="yellow")
    if yes:
        rebuild(exploration.folder)
        say(f"{count(len(past) - len(kept), 'obsolete variant')} deleted, {len(folders) - len(past)} current left")
    else:
        way = f"; warpwright clean {exploration.typed} --yes deletes them" if len(past) > len(kept) else ""
        say(f"{count(len(past), 'obsolete variant')} of {len(folders)}{way}")


def _holds_work(folder: Folder) -> bool:
    return folder.edited() or any(folder.path.glob("kernel.edited*.py"))
