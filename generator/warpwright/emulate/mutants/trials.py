"""Runs a kernel's mutants: which are caught, by what, and which survive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.mutants.edits import Mutant, apply, mutants
from warpwright.emulate.mutants.launches import launch_mutants
from warpwright.emulate.ptx.reader import PtxError, parse
from warpwright.emulate.variant.case import Prepared
from warpwright.emulate.variant.check_plan import Seen, check_plan
from warpwright.emulate.variant.harness import Subject
from warpwright.emulate.variant.tensor_maps import Given
from warpwright.families import workload

__all__ = ["Trial", "mutants_of", "read_reasons", "trials"]

#: Caught by its instruction budget, a mutant that runs for ever should not take long.
_BUDGET = 400_000


@dataclass(frozen=True)
class Trial:
    """What became of one mutant: the finding or difference that caught it, "" where it survived every case."""

    mutant: Mutant
    caught: str
    case: str = ""
    seed: int = 0

    @property
    def survived(self) -> bool:
        return not self.caught


def mutants_of(subject: Subject) -> list[Mutant]:
    """List the mutants of a built variant: of its PTX, then of its launch."""
    barriers = (barrier for kernel in subject.plan.kernels for barrier in kernel.barriers)
    found = mutants(subject.ptx, (barrier.stages for barrier in barriers if barrier.kind == "mbarrier"))
    return [*found, *_of_launch(subject)]


def _of_launch(subject: Subject) -> list[Mutant]:
    """Those of the launch, listed from that of the first case whose tensors have several elements along each mode."""
    family = workload(subject.plan.family)
    cases = [case for case in subject.cases() if family.units(subject.plan, case.problem)]
    case = max(cases, key=lambda each: min(extent for _, extent in each.problem.sizes))
    made = subject.prepare(case)
    given = {name: Given(operand.argument, operand.value) for name, operand in made.operands.tensors.items()}
    due = family.launched(subject.plan, case.problem, case.clusters)
    alone = len(made.calls) == 1
    return [
        mutant
        for call, wanted in zip(made.calls, due, strict=True)
        for mutant in launch_mutants(call.entry, call.launch, wanted, given, alone)
    ]


def trials(subject: Subject, chosen: list[Mutant]) -> Iterator[Trial]:
    """Run the chosen mutants over the variant's cases, each until it is caught."""
    prepared = [subject.prepare(case) for case in subject.cases()]
    for mutant in chosen:
        yield _try(subject, prepared, mutant)


def _try(subject: Subject, prepared: list[Prepared], mutant: Mutant) -> Trial:
    seen = Seen.of(subject.plan)
    if mutant.launch is not None:
        prepared = [subject.relaunched(each, mutant.launch) for each in prepared]
        for each in prepared:
            if each.findings:
                return Trial(mutant, str(each.findings[0]), each.case.problem.name)
    try:
        module = parse(apply(subject.ptx, mutant))
        for each in prepared:
            for seed in each.case.seeds:
                outcome = each.run(module, seed, subject.options_for(each.case, budget=_BUDGET, limit=1))
                if outcome.findings:
                    return Trial(mutant, str(outcome.findings[0]), each.case.problem.name, seed)
                subject.note(seen, each.case, outcome)
    except (EmulatorError, PtxError) as error:
        return Trial(mutant, f"not a kernel: {error}")
    differences = [*(difference for each in prepared for difference in each.differences), *check_plan(seen)]
    if differences:
        first = differences[0]
        return Trial(mutant, f"plan: {first.rule}: expected {first.expected}, found {first.found}")
    return Trial(mutant, "")


def read_reasons(folder: Path, label: str) -> dict[str, str]:
    """Read why a variant's survivors survive: mutant -> reason, from `folder`/`label`.yaml; {} without that file.

    The file: `survivors`, a list of `{mutant: NAME, reason: TEXT}`. Raises EmulatorError for anything else.
    """
    path = folder / f"{label}.yaml"
    if not path.is_file():
        return {}
    try:
        stored = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {str(entry["mutant"]): str(entry["reason"]) for entry in stored["survivors"] or ()}
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise EmulatorError(f"{path}: not `survivors`, a list of mutant and reason ({error})") from None
