"""Instrumented twins for a bundle, whose host has no compiler: where a kernel hangs, they say who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from warpwright import scratch
from warpwright.build.builder import TIMEOUT_SECONDS
from warpwright.build.pool import Pool
from warpwright.device.marks import STAMPED, instrumented
from warpwright.device.opening import VARIANTS
from warpwright.device.variant import LIBRARY, ORIGIN, Variant, load_variant
from warpwright.diagnosis.hung import TWIN
from warpwright.diagnosis.merge import merged
from warpwright.diagnosis.taken import QUIET
from warpwright.diagnosis.twin import compile_into, twin_source
from warpwright.errors import UserError
from warpwright.families import family
from warpwright.render import render

__all__ = ["write_twins"]


def write_twins(folders: Sequence[Path], bundle: Path, on_step: Callable[[], None]) -> Mapping[str, str]:
    """Build the twins of built variants and add them to a bundle that has the variants.

    Returns why a variant has none, by its name.
    """
    missing = {}
    variants = [load_variant(folder) for folder in folders]
    with scratch.folder("twins") as scratched:
        for arch in sorted({variant.plan.arch for variant in variants}):
            with Pool(arch, 1, TIMEOUT_SECONDS) as service:
                for variant in (one for one in variants if one.plan.arch == arch):
                    name = variant.folder.name
                    try:
                        _write_twins(variant, bundle / VARIANTS / name, Path(scratched), service)
                    except UserError as error:
                        missing[name] = str(error).removeprefix(f"{variant.plan.label}: ")
                    on_step()
    return missing


def _write_twins(variant: Variant, target: Path, scratched: Path, service: Pool) -> None:
    """The twin that notes where warps are; of a step of a sequence also the one that is stamped, for its timeline."""
    folder, plan, edited = variant.folder, variant.plan, variant.origin.edited
    text = (folder / "kernel.py").read_text(encoding="utf-8") if edited else ""
    sources = {TWIN: (instrumented(plan), twin_source(plan))}
    if family(plan.family).step(plan):
        quiet = instrumented(plan, STAMPED)
        sources[QUIET] = quiet, render(quiet)
    for name, (twin, source) in sources.items():
        built = scratched / folder.name / name
        compile_into(twin, merged(render(plan), text, source) if edited else source, built, service)
        (target / name).mkdir(parents=True)
        for file in ("plan.json", LIBRARY, ORIGIN):
            (target / name / file).write_bytes((built / file).read_bytes())
