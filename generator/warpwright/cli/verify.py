"""The command that holds files from elsewhere against a ledger, before any of their code is run: verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from warpwright.cli.app import JsonOption, OutOption, app
from warpwright.cli.terminal import count, print_json, say
from warpwright.errors import UserError
from warpwright.kinds import not_a_file

__all__: list[str] = []


@app.command()
def verify(
    target: Annotated[
        str, typer.Argument(metavar="VARIANT|CONFIG|BUNDLE", help="A recorded variant, a configuration, or a bundle.")
    ],
    against: Annotated[
        Path, typer.Option("--against", metavar="LEDGER", help="A ledger that you trust: out/ledger/NAME.jsonl.")
    ],
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Say whether files are what a ledger speaks of.

    Compares sources, cubins, and the cubins inside libraries and object files with the ledger's digests; runs and loads
    nothing of them. The code in a library that runs on the CPU is not covered: who does not trust it builds it here.
    Exit code: 0 all are the ledger's, 1 some is not.
    """
    from warpwright.pipeline.verifying import verify as verify_folder
    from warpwright.record import read_ledger

    why = not_a_file(against)
    if why:
        raise UserError(f"--against {against}: {why}; out/ledger/NAME.jsonl of a checkout is one")
    lines = read_ledger(against)
    found = [verify_folder(path, lines) for path in _folders(target, out)]
    if as_json:
        print_json(found)
    else:
        for each in found:
            typer.echo(f"{each.name}: {'; '.join(each.wrong) if each.wrong else ', '.join(each.files)}")
    bad = sum(bool(each.wrong) for each in found)
    told = f"{len(found) - bad} of {count(len(found), 'variant')} {'is' if len(found) - bad == 1 else 'are'}"
    say(f"{told} what {against} speaks of", style="red" if bad else "green")
    say("the host code of kernel.so and kernel.o is not covered by a ledger: `warpwright run CONFIG` builds your own")
    raise typer.Exit(1 if bad else 0)


def _folders(target: str, out: Path) -> list[Path]:
    from warpwright.cli.find import find_folders
    from warpwright.device.opening import DESCRIPTION, VARIANTS

    bundle = Path(target)
    if (bundle / DESCRIPTION).is_file():
        found = sorted(path for path in (bundle / VARIANTS).glob("*") if path.is_dir())
    else:
        found = [folder.path for folder in find_folders(target, out)]
    if not found:
        raise UserError(f"{target}: there is no variant in it")
    return found
