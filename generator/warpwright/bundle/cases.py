"""Cases of the emulator for a bundle: what it makes of a few problems, for the device to be compared with.

Which problems those are, its workload says for each family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from warpwright.device.cases import StoredCase, add_cases, case_inputs, inputs_digest, write_case
from warpwright.device.judged_by import operations_of
from warpwright.device.opening import VARIANTS
from warpwright.families import workload
from warpwright.pipeline.emulating import emulator_digest

__all__ = ["pack_cases", "write_cases"]


def write_cases(
    folders: Sequence[Path], bundle: Path, jobs: int | None, on_step: Callable[[], None]
) -> Mapping[str, str]:
    """Emulate the cases of built variants in at most `jobs` processes and add them to a bundle that has the variants.

    Returns why a variant has none, by its name.
    """
    from warpwright.emulate.variant.parallel import each

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
    from warpwright.emulate import EmulatorError
    from warpwright.emulate.variant import harness
    from warpwright.emulate.variant.case import SEED

    subject, files = harness.load(folder), {}
    for case in workload(subject.plan.family).compared(subject.plan):
        prepared = subject.prepare(replace(case, seeds=case.seeds[:1]))
        inputs = case_inputs(subject.plan, case.problem, SEED)
        for name, bits in inputs.items():
            assert np.array_equal(prepared.operands.tensors[name].view, bits), name
        (outcome,) = subject.outcomes(prepared, subject.module)
        if not outcome.clean:
            raise EmulatorError(f"case {case.problem.name}: {outcome.findings[0]}")
        stored = StoredCase(
            case.problem,
            case.clusters,
            SEED,
            inputs_digest(inputs),
            emulator_digest(subject.plan.family, operations_of(subject.plan.kernel)),
            {out.argument.name: np.ascontiguousarray(out.view) for out in prepared.operands.of_role("output")},
        )
        files[case.problem.name] = write_case(stored)
    return files
