"""The command that removes what is no longer wanted: folders of past variants, and the cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpwright.cli.app import OutOption, app
from warpwright.cli.terminal import count, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.record import Folder

__all__: list[str] = []


@app.command()
def clean(
    config: Annotated[
        str, typer.Argument(metavar="[CONFIG]", help="A YAML file, or the name of a configuration (quickstart).")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete them; without, they are only listed.")] = False,
    cache: Annotated[bool, typer.Option("--cache", help="Empty the cache of compiled kernels, at once.")] = False,
    out: OutOption = Path("out"),
) -> None:
    """List past variants of CONFIG, or empty the cache.

    Past are those that CONFIG no longer has: with --yes their folders are deleted, but for those that hold a kernel
    edited by hand. The ledger is never touched, and what the cache held is compiled again where it is needed.
    """
    if cache:
        _empty_cache()
    elif not config:
        raise UserError("clean: of which configuration? `warpwright clean CONFIG`, or `warpwright clean --cache`")
    if config:
        _clean(config, yes, out)


def _empty_cache() -> None:
    from warpwright.build.cache import Cache
    from warpwright.cli.results import format_bytes

    kept = Cache()
    entries, freed = kept.clear()
    say(f"{kept.root}: {count(entries, 'compiled kernel')} deleted, {format_bytes(freed)} freed")


def _clean(config: str, yes: bool, out: Path) -> None:
    from warpwright.cli.find import explore
    from warpwright.record import folders_in, note_current, obsolete_in, rebuild

    exploration = explore(config, out, whole=True)
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
    for folder in kept:
        say(f"{folder.path}: holds a kernel edited by hand, or damaged: delete it yourself", style="yellow")
    if yes:
        deleted = sum(_delete(folder) for folder in past if folder not in kept)
        rebuild(exploration.folder)
        say(f"{count(deleted, 'obsolete variant')} deleted, {len(folders) - len(past)} current left")
        raise typer.Exit(0 if deleted == len(past) - len(kept) else 1)
    way = f"; warpwright clean {exploration.typed} --yes deletes them" if len(past) > len(kept) else ""
    say(f"{count(len(past), 'obsolete variant')} of {len(folders)}{way}")


def _delete(folder: Folder) -> bool:
    import shutil

    try:
        shutil.rmtree(folder.path)
    except OSError as error:  # a link to a folder, say
        say(f"{folder.path}: cannot be deleted: {error.strerror or error}", style="red")
        return False
    return True


def _holds_work(folder: Folder) -> bool:
    """Whether there is, or where files are damaged may be, something that a person wrote."""
    from warpwright.record import damage

    unknown = {"kernel.py", "rendered.json"} & {found.path.name for found in damage(folder)}
    return folder.edited() or bool(unknown) or any(folder.path.glob("kernel.edited*.py"))
