"""The instrumented twin of a variant: rendered from the variant's own plan, compiled in a folder that is not kept.

It is another source than the variant's, so nothing that it shows is ever evidence of the variant.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from warpwright.build.artifact import write_file
from warpwright.build.builder import TIMEOUT_SECONDS
from warpwright.build.pool import Pool, Task
from warpwright.canonical import canonical_json, digest
from warpwright.device.marks import instrumented
from warpwright.device.variant import LIBRARY, ORIGIN, PLAN_SHA, Origin
from warpwright.emulate.variant import harness
from warpwright.errors import UserError
from warpwright.families import target
from warpwright.pipeline.judging import toolchain_here
from warpwright.plan.types import Plan
from warpwright.render import render
from warpwright.sealed import seal, sha256

__all__ = ["Twin", "build_twin", "compile_into", "twin_source"]


@dataclass(frozen=True)
class Twin:
    """A compiled twin: its plan, its source, and the folder with kernel.ptx, kernel.o and kernel.so."""

    plan: Plan
    source: str
    folder: Path

    def subject(self) -> harness.Subject:
        """Return it ready for the emulator. Raises PtxError, ValueError, LookupError, CaptureError."""
        ptx = (self.folder / "kernel.ptx").read_text()
        return harness.subject(self.plan, ptx, self.folder / "kernel.o", self.source)


def twin_source(plan: Plan) -> str:
    """Return the source of a variant's twin. UserError where the family's template has no marks."""
    if not target(plan.family, plan.arch).instrumented(plan):
        raise UserError(
            f"{plan.label}: {plan.family} kernels for {plan.arch} have no instrumented twin; "
            "`warpwright emulate VARIANT` tells of hangs, and with `--trace FILE` draws a timeline"
        )
    return render(instrumented(plan))


def build_twin(plan: Plan, folder: Path, source: str = "", service: Pool | None = None) -> Twin:
    """Compile the twin of a variant's plan into `folder`, which is made; `source` in the place of the rendered one.
    `service`: a build service that runs already.

    UserError where there is none, or it does not compile.
    """
    twin, text = instrumented(plan), source or twin_source(plan)
    compile_into(twin, text, folder, service)
    return Twin(twin, text, folder)


def compile_into(plan: Plan, text: str, folder: Path, service: Pool | None = None) -> None:
    """Compile a source into `folder`, as the device's child loads it. UserError where it does not compile."""
    with contextlib.nullcontext(service) if service else Pool(plan.arch, 1, TIMEOUT_SECONDS) as pool:
        compiled = next(one for one in pool.run([Task("", text, canonical_json(plan))]) if one is not None)
    if compiled.failure is not None:
        raise UserError(f"{plan.label}: what is run for its diagnosis does not compile: {compiled.failure.detail}")
    folder.mkdir(parents=True, exist_ok=True)
    stored = canonical_json(plan)
    origin = Origin(
        config="twin",
        variant=folder.name,
        source_sha=sha256(text.encode()),
        cubin_sha=sha256(compiled.files["kernel.cubin"]),
        library_sha=sha256(compiled.files[LIBRARY]),
        arch=plan.arch,
        toolchain=toolchain_here(),
    )
    told = seal(canonical_json({**origin.told(), PLAN_SHA: digest(json.loads(stored))}))
    more = {"kernel.py": text, "plan.json": seal(stored), ORIGIN: told}
    for name, content in {**compiled.files, **{name: each.encode() for name, each in more.items()}}.items():
        write_file(folder / name, content)
