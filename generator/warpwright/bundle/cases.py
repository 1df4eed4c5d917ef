"""Cases of the emulator for a bundle: what it makes of a few problems, for the device to be compared with.

Chosen for what they show. Integers are exact whatever the order of the sum: any difference is a fault. Random
operands with a long K show how the tensor core sums, ragged ones that everything else is alike; and a tile operand
that is switched off is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from warpwright.device.cases import StoredCase, add_cases, case_inputs, inputs_digest, write_case
from warpwright.device.runner import VARIANTS
from warpwright.emulation import emulator_digest

if TYPE_CHECKING:
    from warpwright.emulate.harness import Subject
    from warpwright.emulate.problems import Case

__all__ = ["pack_cases", "write_cases"]

_LONG_K = 4091  # prime: no tile divides it


def write_cases(
    folders: Sequence[Path], bundle: Path, jobs: int | None, on_step: Callable[[], None]
) -> Mapping[str, str]:
    """Emulate the cases of built variants in at most `jobs` processes and add them to a bundle that has the variants.

    Returns why a variant has none, by its name.
    """
    from warpwright.emulate.parallel import each

    missing = {}
    for folder, answer in zip(folders, each(pack_cases, folders, jobs, on_step), strict=True):
        if answer.error:
            missing[folder.name] = answer.error
        else:
            add_cases(bundle, bundle / VARIANTS / folder.name, answer.value)
    return missing


def pack_cases(folder: Path) -> dict[str, bytes]:
    """Emulate a variant's cases and return each one's file by its name.

    Raises EmulatorError where it cannot be emulated or the emulator finds it wrong, PtxError.
    """
    from warpwright.emulate import EmulatorError, harness
    from warpwright.emulate.case import SEED

    subject, files = harness.load(folder), {}
    for case in _chosen(subject):
        prepared = subject.prepare(case)
        (outcome,) = subject.outcomes(prepared, subject.module)
        if not outcome.clean:
            raise EmulatorError(f"case {case.problem.name}: {outcome.findings[0]}")
        inputs = case_inputs(subject.plan, case.problem, subject.chain.skips, SEED)
        for name, bits in inputs.items():
            assert np.array_equal(prepared.operands.tensors[name].view, bits), name
        stored = StoredCase(
            case.problem,
            case.clusters,
            SEED,
            inputs_digest(inputs),
            emulator_digest(),
            np.ascontiguousarray(prepared.operands.output.view),
        )
        files[case.problem.name] = write_case(stored)
    return files


def _chosen(subject: Subject) -> list[Case]:
    off = [f"{scalar}_zero" for scalar in {*subject.chain.skips.values()}]
    chosen = []
    for case in subject.cases():
        problem = case.problem
        if problem.name == "k_long":
            problem = replace(problem, name="k_long_normal", k=_LONG_K, fill="normal")
        if problem.name in ("tiles", "ragged", "k_long_normal", *off):
            chosen.append(replace(case, problem=problem, seeds=case.seeds[:1]))
    return chosen
