"""Runs one case of a variant again, in one schedule: what a finding names, for who wants to see it once more."""

from __future__ import annotations

import time
from dataclasses import replace

from warpwright.emulate import program
from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.variant import coverage
from warpwright.emulate.variant.case import Outcome
from warpwright.emulate.variant.check_plan import Difference
from warpwright.emulate.variant.harness import Subject
from warpwright.emulate.variant.verdict import Verdict, weigh

__all__ = ["case_names", "repeat"]


def case_names(subject: Subject) -> list[str]:
    """Return the names of a variant's cases, in the order in which they are run. Raises EmulatorError."""
    launched = [case.problem.name for case, _ in subject.huge()]
    return list(dict.fromkeys([*launched, *(case.problem.name for case in subject.cases())]))


def repeat(subject: Subject, name: str, seed: int | None = None) -> Verdict:
    """Run the case `name` under the schedule of `seed` (those of the case without), and weigh what that alone shows.

    Of a case that is only launched, the launch is looked at. Raises EmulatorError where there is no such case or it
    cannot be run, PtxError.
    """
    started = time.process_time()
    outcomes, differences = list[Outcome](), set[Difference]()
    programs = [program(subject.module, entry.name) for entry in subject.entries]
    coverage.begin(programs)
    chosen = [case for case in subject.cases() if case.problem.name == name]
    for case, launched in subject.huge():
        if case.problem.name == name:
            differences |= set(launched.differences)
            outcomes.append(Outcome(name, 0, (), launched.findings))
    if not chosen and not outcomes:
        raise EmulatorError(f"there is no case {name!r}; there are {', '.join(case_names(subject))}")
    for case in chosen:
        prepared = subject.prepare(case if seed is None else replace(case, seeds=(seed,)))
        differences |= set(prepared.differences)
        outcomes += subject.outcomes(prepared, subject.module)
    return weigh(outcomes, sorted(differences), coverage.measure(programs), time.process_time() - started)
