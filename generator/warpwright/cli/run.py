"""Commands that make variants and prove things about them: run, and its steps generate, build, validate, bench."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpwright.cli.app import ConfigArgument, JobsOption, JsonOption, OnlyOption, OutOption, app
from warpwright.cli.emulate import emulate_what_is_new
from warpwright.cli.prepare import rendered
from warpwright.cli.terminal import print_json, progress, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.pipeline import Exploration, Variant

    Stage = Callable[[Exploration, list[Variant], Callable[[], None]], list[str]]

__all__: list[str] = []

AgainOption = Annotated[bool, typer.Option("--again", help="Also what has a valid result already.")]


@app.command()
def run(
    config: ConfigArgument,
    jobs: JobsOption = None,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Plan, render, build, emulate and record every point.

    On a GPU host also validates and times them. What is recorded already is not done again.
    Exit code: 0 every legal variant is correct, 1 some is not.
    """
    from warpwright import gpu, pipeline
    from warpwright.cli.results import report

    exploration = rendered(config, out, only)
    with progress("building", len(exploration.rendered)) as step:
        pipeline.build(exploration, jobs, step)
    pipeline.judge_all(exploration)
    emulate_what_is_new(exploration, jobs)
    if gpu.at_hand():
        _use_gpu(exploration)
    pipeline.record(exploration)
    report(exploration, as_json)


def _use_gpu(exploration: Exploration) -> None:
    """Validate and time what has not been yet. A GPU that turns out to be unusable leaves the evidence as it is."""
    from warpwright import gpu
    from warpwright.device.supervise import DeviceUnavailableError

    try:
        _on_gpu("validating", gpu.validate, exploration, gpu.to_validate(exploration), 1)
        problems = len(exploration.spec.bench.problems)
        _on_gpu("timing", gpu.bench, exploration, gpu.to_bench(exploration), problems)
    except DeviceUnavailableError as error:
        say(f"the GPU cannot be used: {error}", style="yellow")


def _on_gpu(title: str, stage: Stage, exploration: Exploration, variants: list[Variant], steps: int) -> None:
    from warpwright import pipeline

    if not variants:
        return
    with progress(title, len(variants) * steps) as step:
        refused = stage(exploration, variants, step)
    for line in refused:
        say(line, style="yellow")
    pipeline.judge_all(exploration)


@app.command()
def generate(
    config: ConfigArgument, only: OnlyOption = None, out: OutOption = Path("out"), as_json: JsonOption = False
) -> None:
    """Render every legal point as a CuTe-DSL module.

    Writes out/NAME/VARIANT/kernel.py; needs no compiler.
    Exit code: 0 every legal point was rendered, 1 some could not be.
    """
    from warpwright.cli.results import names

    exploration = rendered(config, out, only)
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
    from warpwright import pipeline
    from warpwright.cli.results import report

    exploration = pipeline.plan(*pipeline.load(config), out, only or ())
    pipeline.reread(exploration)
    with progress("building", len(exploration.rendered)) as step:
        pipeline.build(exploration, jobs, step)
    pipeline.judge_all(exploration)
    pipeline.record(exploration)
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
    Exit code: 0 every legal variant is correct, 1 some is not, 2 there is no usable GPU.
    """
    from warpwright import gpu
    from warpwright.cli.results import report

    exploration = _stored(config, out, only)
    _on_gpu("validating", gpu.validate, exploration, gpu.to_validate(exploration, again), 1)
    report(exploration, as_json)


@app.command()
def bench(
    config: ConfigArgument,
    again: AgainOption = False,
    only: OnlyOption = None,
    out: OutOption = Path("out"),
    as_json: JsonOption = False,
) -> None:
    """Time validated variants beside the vendor library.

    Only what is correct on a GPU is timed. Exit code: 0 every legal variant is correct, 1 some is not,
    2 there is no usable GPU.
    """
    from warpwright import gpu
    from warpwright.cli.results import report

    exploration = _stored(config, out, only)
    problems = len(exploration.spec.bench.problems)
    _on_gpu("timing", gpu.bench, exploration, gpu.to_bench(exploration, again), problems)
    report(exploration, as_json)


def _stored(config: str, out: Path, only: list[str] | None) -> Exploration:
    """Return an exploration as its folders have it; UserError when nothing is built or there is no GPU to run it on."""
    from warpwright import gpu, pipeline

    if not gpu.at_hand():
        raise UserError(
            f"this needs an NVIDIA GPU and torch (`warpwright doctor` says what is missing); to use another machine's: "
            f"warpwright bundle {config} -o DIR"
        )
    exploration = pipeline.plan(*pipeline.load(config), out, only or ())
    pipeline.reread(exploration)
    pipeline.judge_all(exploration)
    if not any(evidence.method == "built" for v in exploration.legal for evidence in v.judgement.valid):
        raise UserError(f"{exploration.folder}: no variant is built; `warpwright build {exploration.typed}` first")
    return exploration
