"""The way to a GPU host and back: bundle, import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpwright.cli.app import ConfigArgument, JobsOption, JsonOption, OnlyOption, OutOption, app
from warpwright.cli.terminal import Terminal, count, print_json, print_table, progress, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.pipeline import Variant

__all__: list[str] = []


@app.command()
def bundle(
    config: ConfigArgument,
    directory: Annotated[
        Path | None, typer.Option("--to", "--output", metavar="DIR", help="The bundle's folder.  [required]")
    ] = None,
    python: Annotated[
        str,
        typer.Option(
            metavar="X.Y",
            help="Python of the GPU host, 3.10 to 3.13; not this machine's. 3.12 is that of Ubuntu 24.04.",
        ),
    ] = "3.12",
    wheel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="apache-tvm-ffi's wheel for it, where pip cannot fetch it.")
    ] = None,
    cases: Annotated[
        bool, typer.Option("--cases", help="Also cases of the emulator, for the GPU to be compared with.")
    ] = False,
    twins: Annotated[
        bool, typer.Option("--twins", help="Also an instrumented twin of each, to be run there where a variant hangs.")
    ] = False,
    jobs: JobsOption = None,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
) -> None:
    """Pack built variants for a GPU host.

    The host needs Python, torch and numpy, nothing of this project: `python3 DIR/run.py` validates and times them,
    and `warpwright import` brings the results back. A kernel.py that was edited and built travels as it is, marked so.
    """
    from warpwright import pipeline
    from warpwright.bundle import make_bundle
    from warpwright.bundle.cases import write_cases
    from warpwright.bundle.twins import write_twins
    from warpwright.cli.find import explore

    if directory is None:
        raise UserError(
            f"say where the bundle goes: warpwright bundle {config} --to DIR (-o is where variants are kept)"
        )
    exploration = explore(config, out, only)
    pipeline.advance(exploration, ("render_unedited",), Terminal())
    ready = [variant.name for variant in exploration.legal if _ready(variant)]
    missing = len(exploration.legal) - len(ready)
    if not exploration.legal:
        raise UserError(f"{config}: no point is legal; `warpwright plan {config}` says why")
    if not ready:
        raise UserError(
            f"{exploration.folder}: no variant is built from its present source; "
            f"`warpwright run {exploration.typed}` first"
        )
    spec = exploration.spec
    what = " and ".join(["emulating cases"] * cases + ["building twins"] * twins)
    with progress(what, len(ready) * (cases + twins)) as step:
        packed = make_bundle(
            exploration.folder,
            ready,
            directory,
            validate=spec.validate,
            bench=spec.bench,
            python=python,
            wheel=wheel,
            cases=(lambda folders, target: write_cases(folders, target, jobs, step)) if cases else None,
            twins=(lambda folders, target: write_twins(folders, target, step)) if twins else None,
        )
    for name in packed.edited:
        say(f"edited by hand: {name}; its results count for this source alone, and enter no ledger", style="yellow")
    for name in packed.kept:
        say(f"kept of the bundle before it: {directory / name}")
    for name, why in packed.left_out.items():
        say(f"left out {name}: {why}", style="yellow")
    for variant in exploration.legal:
        if variant.name in packed.variants and variant.status not in ("", "correct", "degraded"):
            say(
                f"packed all the same: {variant.name}, which is {variant.status} so far; "
                f"`warpwright show {variant.name}` says why",
                style="yellow",
            )
    for name, why in packed.without_cases.items():
        say(f"no cases of {name}: {why}", style="yellow")
    for name, why in packed.without_twins.items():
        say(f"no twin of {name}: {why}", style="yellow")
    stuck = [variant.name for variant in exploration.legal if variant.folder.edited() and variant.name not in ready]
    if stuck:
        say(
            f"left out {', '.join(stuck)}: edited by hand, and not built since: `warpwright build {exploration.typed}`",
            style="yellow",
        )
    if missing > len(stuck):
        say(
            f"left out {missing - len(stuck)} that are not built, or not from their present source: "
            f"`warpwright run {exploration.typed}`",
            style="yellow",
        )
    gpus = _gpus(exploration.legal)
    what = f"{count(len(packed.variants), 'variant')}, {packed.size / 2**20:.1f} MB"
    say(f"{directory}: {what}, for Python {python} and a GPU of compute capability {gpus}")
    say(f"on the GPU host: python3 {directory.name}/run.py; back here: warpwright import {directory}/results.jsonl")
    raise typer.Exit(1 if packed.left_out or packed.without_cases or missing else 0)


def _gpus(variants: Sequence[Variant]) -> str:
    """What runs them: `10.0 (sm_100a)`."""
    from warpwright.archs import runs_on

    targets = sorted({variant.plan.arch for variant in variants})
    return " or ".join(f"{runs[0]} ({target})" for target in targets if (runs := runs_on(target)))


def _ready(variant: Variant) -> bool:
    """Whether a variant is built from its present source, and the checks of its build let it pass.

    They hold it against the plan, from which who has edited a kernel may well have departed: it is enough that it
    compiles.
    """
    if variant.folder.edited():
        return any(e.method == "built" and e.status != "compile_failed" for e in variant.judgement.valid)
    return variant.passed("built")


@app.command("import")
def import_command(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="What a bundle's run.py wrote.")],
    keep: Annotated[
        bool, typer.Option("--keep", help="Also keep RESULTS in out/ledger/raw/, to be committed.")
    ] = False,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Merge results from a GPU host into the variants' folders.

    Only results for exactly the source, cubin and library that are built here are taken. Exit code: 0 every one was
    taken, 1 some was refused, 2 a file holds what no run wrote; then nothing of any is imported.
    """
    from warpwright.bundle import import_results
    from warpwright.record import rebuild

    imported = import_results(results, out)
    merged, refused = imported.merged, imported.refused
    for path, found_in in imported.configs.items():
        if keep:
            _keep(path, out / "ledger" / "raw", found_in)
    for line in imported.notes:
        say(line, style="yellow")
    configs = sorted({config for config, *_ in merged})
    for config in configs:
        rebuild(out / config)
    if as_json:
        print_json({"merged": [dict(zip(_COLUMNS, row, strict=True)) for row in merged], "refused": refused})
    else:
        found = Counter((config, method, status) for config, _, method, status in merged)
        rows = [[*key, str(number)] for key, number in sorted(found.items())]
        print_table(["config", "method", "status", "results"], rows, right=["results"], styles="status")
        for line in refused:
            say(f"refused {line}", style="yellow")
        for config in configs:
            say(f"next: warpwright list {config}; for a shipped configuration: warpwright ledger {config}")
    raise typer.Exit(1 if refused or not merged else 0)


_COLUMNS = ("config", "variant", "method", "status")


def _keep(path: Path, folder: Path, configs: set[str]) -> None:
    """Copy a results file to the raw results, named by what it is for and what it says, so that no other is lost."""
    import shutil

    from warpwright.scratch import beside
    from warpwright.sealed import sha256

    digest = sha256(path.read_bytes())[:8]
    target = folder / f"{'+'.join(sorted(configs))}-{digest}.jsonl"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        temporary = beside(target)
        shutil.copyfile(path, temporary)
        temporary.replace(target)
    say(f"kept as {target}")
