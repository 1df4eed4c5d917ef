"""`ladder --contrast`: the same work as two kernels on two streams, measured here, or packed for a GPU host."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from warpwright.cli.terminal import print_table, say
from warpwright.errors import UserError

if TYPE_CHECKING:
    from warpwright.families.planning import Contrast as Offered
    from warpwright.pipeline import Exploration, Variant
    from warpwright.pipeline.contrast import Pair
    from warpwright.steps import Contrast

__all__ = ["known_contrast", "measure", "pack", "print_contrast"]


def known_contrast(exploration: Exploration) -> tuple[Contrast | None, str]:
    """Return what was measured of the contrast of a configuration's family, None where nothing was that counts; and why
    what there is is stale, "" where it is not."""
    from warpwright.pipeline.contrast import known
    from warpwright.steps import contrast

    found = known(exploration)
    return (contrast(found.result) if found and not found.stale else None), (found.stale if found else "")


def measure(exploration: Exploration) -> None:
    """Measure on this machine's GPU and record it. UserError where something is missing, or the result is not right."""
    from warpwright.bundle.contrast import record_contrast
    from warpwright.device.contrast import contrast
    from warpwright.device.variant import load_variant
    from warpwright.pipeline import on_gpu

    if not on_gpu.at_hand():
        _told(exploration)  # where there is none, another machine's GPU would not help
        raise UserError(
            "--contrast needs an NVIDIA GPU and torch (`warpwright doctor` says what is missing); to use another "
            f"machine's: warpwright ladder {exploration.typed} --contrast --to DIR"
        )
    pair = _pair(exploration)
    with on_gpu.supervisor() as supervisor:
        maker, reader = (load_variant(variant.folder.path) for variant in (pair.maker, pair.reader))
        result = contrast(maker, reader, supervisor, pair.asked)
    why = record_contrast(result, exploration.out)
    if why or result["status"] != "correct":
        raise UserError(why or f"two kernels on two streams: {result['status']}: {result['diagnosis']}")


def pack(exploration: Exploration, directory: Path, python: str) -> None:
    """Pack both kernels for a GPU host."""
    from warpwright.bundle import make_bundle
    from warpwright.device.contrast import of_bundle

    pair = _pair(exploration)
    packed = make_bundle(
        exploration.folder,
        [pair.reader.name],
        directory,
        python=python,
        beside=[pair.maker.folder.path],
        contrast=of_bundle(pair.maker.name, pair.reader.name, pair.asked),
    )
    for name, why in packed.left_out.items():
        say(f"left out {name}: {why}", style="yellow")
    say(f"{directory}: {' and '.join(packed.variants)}, {packed.size / 2**20:.1f} MB, for Python {python}")
    say(
        f"on the GPU host: python3 {directory.name}/run.py (validates both first; --only contrast does not); "
        f"back here: warpwright import {directory}/results.jsonl"
    )


def _pair(exploration: Exploration) -> Pair:
    """The two kernels, built from their present sources."""
    from warpwright import pipeline
    from warpwright.pipeline.contrast import pair_of

    how, reader = _told(exploration)
    makers = pipeline.plan(how.configuration, exploration.out)
    pair = pair_of(how, reader, exploration.spec.bench["problems"][0], makers)
    if pair is None:
        raise UserError(f"{how.configuration}: no kernel there makes what {reader.name} reads")
    pipeline.advance(makers, ("render_unedited",))
    for variant, config in ((pair.reader, exploration.typed), (pair.maker, how.configuration)):
        if not variant.has_own("built"):
            raise UserError(f"{variant.name} is not built; `warpwright run {config} --only {variant.name}` first")
    return pair


def _told(exploration: Exploration) -> tuple[Offered, Variant]:
    """How the contrast is made, and its reader. UserError where a configuration has none."""
    from warpwright.pipeline.contrast import told_of

    told = told_of(exploration)
    if told is None:
        arch = exploration.variants[0].plan.arch
        raise UserError(
            f"{exploration.typed}: no contrast is offered for {arch}, or this configuration lacks the kernel for it; "
            "`warpwright ladder --contrast` without a configuration has one"
        )
    return told


def print_contrast(found: Contrast) -> None:
    """Print what two kernels on two streams come to."""
    from warpwright.cli.results import format_seconds

    columns = ["chunks", "kernel alone", "both, one stream", "two streams", "few CTAs", "gain", "over kernel alone"]
    rows = [
        [
            str(cut.chunks),
            *(format_seconds(each) for each in (cut.reader, cut.one_stream, cut.two_streams, cut.narrow)),
            f"{cut.gain:.3f}",
            f"{cut.best / found.whole:.3f}",
        ]
        for cut in found.cuts
    ]
    print_table(columns, rows, right=columns)
    say(
        f"the same work as two kernels: {found.maker} makes what {found.reader} reads, chunk by chunk; alone it takes "
        f"{format_seconds(found.maker_seconds)}. Side by side they take, in {found.best.chunks} chunks, "
        f"{format_seconds(found.best.best)}: {found.words}"
        + (f" (shared GPU: {found.shared})" if found.shared else f" ({found.gpu})")
    )
