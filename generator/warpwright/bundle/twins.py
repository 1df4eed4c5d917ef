"""Instrumented twins for a bundle, whose host has no compiler: where a kernel hangs, they say who waits for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from warpwright import scratch
from warpwright.build.builder import TIMEOUT_SECONDS
from warpwright.build.pool import Pool
from warpwright.device.opening import VARIANTS
from warpwright.device.variant import LIBRARY, ORIGIN, load_variant
from warpwright.diagnosis.hung import TWIN
from warpwright.diagnosis.merge import merged
from warpwright.diagnosis.twin import build_twin, twin_source
from warpwright.errors import UserError
from warpwright.render import render

__all__ = ["write_twins"]


def write_twins(folders: Sequence[Path], bundle: Path, on_step: Callable[[], None]) -> Mapping[str, str]:
    """Build the twins of built variants and add them to a bundle that has the variants.

    Returns why a variant has none, by its name.
    """
    missing = {}
    arches = {load_variant(folder).plan.arch for folder in folders}
    with scratch.folder("twins") as scratched:
        for arch in sorted(arches):
            with Pool(arch, 1, TIMEOUT_SECONDS) as service:
                for folder in (one for one in folders if load_variant(one).plan.arch == arch):
                    try:
                        _write_twin(folder, bundle / VARIANTS / folder.name / TWIN, Path(scratched), service)
                    except UserError as error:
                        missing[folder.name] = str(error)
                    on_step()
    return missing


def _write_twin(folder: Path, target: Path, scratched: Path, service: Pool) -> None:
    variant = load_variant(folder)
    source = twin_source(variant.plan)
    if variant.origin.edited:
        source = merged(render(variant.plan), (folder / "kernel.py").read_text(encoding="utf-8"), source)
    twin = build_twin(variant.plan, scratched / folder.name, source, service)
    target.mkdir(parents=True)
    for name in ("plan.json", LIBRARY, ORIGIN):
        (target / name).write_bytes((twin.folder / name).read_bytes())
