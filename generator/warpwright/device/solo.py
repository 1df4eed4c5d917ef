"""Launches one built variant a few times and nothing else of this package's kernels: what a profiler is put around.

Run as a module: `solo FOLDER MODE=EXTENT ...`. Ends with 0 when every launch has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from warpwright.child import die_with_parent
from warpwright.device import tensors
from warpwright.device.backend import CUDA, Backend, make_backend
from warpwright.device.inputs import shared_inputs
from warpwright.device.memo import Store
from warpwright.device.problem import Problem
from warpwright.device.subject import load_subject
from warpwright.device.variant import load_variant
from warpwright.device.watch import as_timed, bound

__all__ = ["LAUNCHES", "solo"]

#: The last one counts: what is read lies in the L2 as far as it fits, and the clocks have risen.
LAUNCHES = 3


def solo(backend: Backend, folder: Path, sizes: tuple[tuple[str, int], ...]) -> None:
    """Launch the variant in `folder` LAUNCHES times on normal operands. Raises as `load_subject` and the device do."""
    subject = load_subject(backend, load_variant(folder))
    problem = Problem("solo", sizes)
    memo = Store(budget=backend.free_bytes() // 4).within(subject.plan.family)
    inputs = shared_inputs(backend, subject, problem, 0, None, memo).buffers
    buffers = {name: as_timed(backend, buffer, problem) for name, buffer in inputs.items()}
    more = subject.arguments("output", "workspace")
    buffers |= {a.name: tensors.make_buffer(backend.xp, a, problem, aligned=True) for a in more}
    given = bound(backend, subject, problem, buffers, {})
    backend.synchronize()
    for _ in range(LAUNCHES):
        subject.kernel(**given)
        backend.synchronize()


def _sizes(words: list[str]) -> tuple[tuple[str, int], ...]:
    return tuple((mode, int(extent)) for mode, _, extent in (word.partition("=") for word in words))


if __name__ == "__main__":
    die_with_parent()
    solo(make_backend(CUDA), Path(sys.argv[1]), _sizes(sys.argv[2:]))
    sys.stdout.flush()
    os._exit(0)
