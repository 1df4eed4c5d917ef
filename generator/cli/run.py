"""Commands that make variants: run, and its steps generate and build."""

from __future__ import annotations

from pathlib import Path

import typer

from generator.cli.app import ConfigArgument, JobsOption, JsonOption, OnlyOption, OutOption, app
from generator.cli.terminal import print_json, progress, say

__all__: list[str] = []


@app.command()
def run(
    config: ConfigArgument,
    jobs: JobsOption = None,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Plan, render, build, check and record every point.

    On a GPU host also validates and times them. What is recorded already is not done again.
    Exit code: 0 every legal variant is correct, 1 some is not.
    """
    from generator import pipeline
    from generator.cli.results import report

    exploration = pipeline.plan(*pipeline.load(config), out, only or ())
    pipeline.render(exploration)
    with progress("building", len(exploration.rendered)) as step:
        pipeline.build(exploration, jobs, step)
    pipeline.judge_all(exploration)
    pipeline.record(exploration)
    report(exploration, as_json)


@app.command()
def generate(
    config: ConfigArgument, only: OnlyOption = None, out: OutOption = Path("out"), as_json: JsonOption = False
) -> None:
    """Render every legal point as a CuTe-DSL module.

    Writes out/NAME/VARIANT/kernel.py; needs no compiler.
    Exit code: 0 every legal point was rendered, 1 some could not be.
    """
    from generator import pipeline
    from generator.cli.results import names

    exploration = pipeline.plan(*pipeline.load(config), out, only or ())
    pipeline.render(exploration)
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
    jobs: JobsOption = None,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Compile what `generate` wrote, and check it.

    Compares PTX and SASS with the plans; needs no GPU.
    Exit code: 0 every variant is built and nothing speaks against it, 1 otherwise.
    """
    from generator import pipeline
    from generator.cli.results import report

    exploration = pipeline.plan(*pipeline.load(config), out, only or ())
    pipeline.reread(exploration)
    with progress("building", len(exploration.rendered)) as step:
        pipeline.build(exploration, jobs, step)
    pipeline.judge_all(exploration)
    pipeline.record(exploration)
    report(exploration, as_json)
