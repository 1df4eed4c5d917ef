"""Bugs planted in the text of a rendered kernel: it is rendered, altered, compiled, and emulated over all its cases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warpwright.build.builder import TIMEOUT_SECONDS
from warpwright.build.pool import Pool, Task
from warpwright.canonical import canonical_json
from warpwright.emulate.variant import harness
from warpwright.emulate.variant.verdict import Verdict
from warpwright.plan.types import Plan
from warpwright.render import render

__all__ = ["Planter", "cases", "planter"]


class Planter:
    """Compiles altered kernels in one service, each in a folder of its own under `top`."""

    def __init__(self, pool: Pool, top: Path) -> None:
        self._pool, self._top, self._count = pool, top, 0

    def planted(self, plan: Plan, *edits: tuple[str, str]) -> Verdict:
        """Return what the emulator says of a plan's kernel, each edit (old text, new text) made wherever the old is.

        Fails where an old text is not in the kernel, or where the altered one does not compile.
        """
        source = render(plan)
        for old, new in edits:
            assert old in source, f"the kernel has no {old!r}"
            source = source.replace(old, new)
        text = canonical_json(plan)
        task = Task("", source, text)
        compiled = next(outcome for outcome in self._pool.run([task]) if outcome is not None)
        assert compiled.failure is None, compiled.failure
        self._count += 1
        folder = self._top / str(self._count)
        folder.mkdir(parents=True)
        for name, data in compiled.files.items():
            (folder / name).write_bytes(data)
        subject = harness.subject(plan, compiled.files["kernel.ptx"].decode(), folder / "kernel.o", source)
        return harness.emulate(subject)


@contextmanager
def planter(top: Path, arch: str = "sm_90a") -> Iterator[Planter]:
    """A planter whose compile service ends with the context."""
    with Pool(arch, 1, TIMEOUT_SECONDS) as pool:
        yield Planter(pool, top)


def cases(plant: Planter, plan: Plan, *edits: tuple[str, str]) -> set[str]:
    """The cases that show a planted bug."""
    verdict = plant.planted(plan, *edits)
    assert verdict.status in ("incorrect", "crash", "hang"), (verdict.status, edits)
    return {defect.case for defect in verdict.defects}
