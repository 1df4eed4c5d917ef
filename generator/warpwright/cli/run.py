"""Commands that make variants and prove things about them: run, and its steps generate, build, validate, bench."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from warpwright.cli.app import ConfigArgument, JobsOption, JsonOption, OnlyOption, OutOption, app
from warpwright.cli.terminal import Terminal, print_json, say
from warpwright.errors import DeviceUnavailableError, UserError

__all__: list[str] = []

AgainOption = Annotated[bool, typer.Option("--again", help="Also what has a valid result already.")]


@app.command()
def run(
    config: ConfigArgument,
    again: AgainOption = False,
    jobs: JobsOption = None,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Plan, render, build, emulate and record every point.

    On a GPU host also validates and times them. What is recorded already is not done again, unless with --again.
    Exit code: 0 every legal variant is correct, 1 some is not, or a step was not done for it.
    """
    from warpwright import pipeline
    from warpwright.cli.find import explore
    from warpwright.cli.results import report
    from warpwright.pipeline import on_gpu

    exploration = explore(config, out, only)
    steps = ("render", "build", "emulate", *(("validate", "bench") if on_gpu.at_hand() else ()))
    try:
        pipeline.advance(exploration, steps, Terminal(), jobs, again=steps[1:] if again else ())
    except DeviceUnavailableError as error:  # it seemed to be there: the rest of the evidence stands
        say(f"the GPU cannot be used: {error}", style="yellow")
    report(exploration, as_json)


@app.command()
def generate(
    config: ConfigArgument, only: OnlyOption = None, out: OutOption = Path("out"), as_json: JsonOption = False
) -> None:
    """Render every legal point as a CuTe-DSL module.

    Writes out/NAME/VARIANT/kernel.py; needs no compiler.
    Exit code: 0 every legal point was rendered, 1 some could not be.
    """
    from warpwright import pipeline
    from warpwright.cli.find import explore
    from warpwright.cli.results import names

    exploration = explore(config, out, only)
    pipeline.advance(exploration, ("render",), Terminal())
    failed = [variant for variant in exploration.legal if variant.error]
    if as_json:
        print_json(
            [
                {"variant": v.name, "status": v.status, "error": v.error, "source": str(v.folder.source_path)}
                for v in exploration.legal
            ]
        )
    else:
        for variant in exploration.rendered:
            typer.echo(variant.folder.source_path)
        for name, variant in names(failed).items():
            say(f"{name}: render_failed: {variant.error}", style="red")
        illegal = len(exploration.variants) - len(exploration.legal)
        say(f"{len(exploration.rendered)} rendered, {len(failed)} failed, {illegal} illegal")
    raise typer.Exit(0 if exploration.rendered and not failed else 1)


@app.command()
def build(
    config: ConfigArgument,
    again: Annotated[bool, typer.Option("--again", help="Also what is built or in the cache already.")] = False,
    jobs: JobsOption = None,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Compile what `generate` wrote, and check it.

    Compares PTX and SASS with the plans; needs no GPU.
    Exit code: 0 every variant is built and nothing speaks against it, 1 otherwise.
    """
    from warpwright import pipeline
    from warpwright.cli.find import explore
    from warpwright.cli.results import report

    exploration = explore(config, out, only)
    pipeline.advance(exploration, ("reread", "build"), Terminal(), jobs, again=("build",) if again else ())
    report(exploration, as_json)


@app.command()
def validate(
    config: ConfigArgument,
    again: AgainOption = False,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Run what was built on the GPU and check its results.

    Every variant in a watched child process, on the configuration's problems, against a float64 reference.
    Exit code: 0 every legal variant is correct, 1 some is not, or got no verdict (the GPU was lost, say), 2 there is no
    usable GPU.
    """
    _on_gpu(config, "validate", again, only, out, as_json)


@app.command()
def bench(
    config: ConfigArgument,
    again: AgainOption = False,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Time validated variants beside the vendor library.

    And beside what else their family names (torch.compile, a plain copy). Prints median, 95th and 99th percentile of
    each, and how it stands to every other. Only what is correct on a GPU is timed.
    Exit code: 0 every legal variant is correct and timed, 1 some is not, 2 there is no usable GPU.
    """
    _on_gpu(config, "bench", again, only, out, as_json)


def _on_gpu(config: str, step: str, again: bool, only: Sequence[str] | None, out: Path, as_json: bool) -> None:
    """Do one step that needs a GPU for what is built. UserError when nothing is, or there is no GPU to run it on."""
    from warpwright import pipeline
    from warpwright.cli.find import explore
    from warpwright.cli.results import report
    from warpwright.pipeline import on_gpu

    if not on_gpu.at_hand():
        raise UserError(
            f"this needs an NVIDIA GPU and torch (`warpwright doctor` says what is missing); to use another machine's: "
            f"warpwright bundle {config} --to DIR"
        )
    exploration = explore(config, out, only)
    pipeline.advance(exploration, ("reread",))
    if not any(variant.has_own("built") for variant in exploration.legal):
        raise UserError(f"{exploration.folder}: no variant is built; `warpwright build {exploration.typed}` first")
    pipeline.advance(exploration, (step,), Terminal(), again=(step,) if again else ())
    report(exploration, as_json, times=step == "bench")
