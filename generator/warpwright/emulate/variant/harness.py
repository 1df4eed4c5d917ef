"""A built variant on the emulator: load it, run its cases over their schedules, weigh what was seen."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from warpwright.build.kernels import pair
from warpwright.build.launch_capture import CaptureError, HostFunction, Launch
from warpwright.build.ptx_census import kernel_parameters
from warpwright.device.problem import Case
from warpwright.emulate import program
from warpwright.emulate.machine.findings import EmulatorError
from warpwright.emulate.machine.launch import Options
from warpwright.emulate.ptx.reader import Module, parse
from warpwright.emulate.variant import coverage
from warpwright.emulate.variant.case import Outcome, Prepared, prepare
from warpwright.emulate.variant.check_plan import Difference, Seen, check_plan
from warpwright.emulate.variant.elsewhere import walked_otherwise
from warpwright.emulate.variant.host_lines import HostLines
from warpwright.emulate.variant.launches import Entry, Host, Launches, huge, launches
from warpwright.emulate.variant.names import contracts, named_barriers, offset_names, role_names
from warpwright.emulate.variant.tensor_maps import map_parameters
from warpwright.emulate.variant.verdict import Verdict, weigh
from warpwright.families import workload
from warpwright.plan.stored import PlanError, plan_from_json
from warpwright.plan.types import KernelPlan, Plan
from warpwright.sealed import Built, DamagedError, load_built

__all__ = ["BUDGET", "Subject", "build_of", "emulate", "load", "subject"]

#: Warp instructions of one run, per CTA of a cluster: ten times what the longest case of a large variant takes.
BUDGET = 2_000_000


@dataclass
class Subject:
    """A built variant, ready to run."""

    plan: Plan
    ptx: str
    host: Host
    entries: tuple[Entry, ...]  # per kernel of the plan, in its order

    @cached_property
    def module(self) -> Module:
        """The parsed PTX; its translation is kept in it. Raises PtxError."""
        return parse(self.ptx)

    @cached_property
    def options(self) -> tuple[Options, ...]:
        return tuple(_options(kernel) for kernel in self.plan.kernels)

    def cases(self) -> list[Case]:
        return workload(self.plan.family).cases(self.plan)

    def prepare(self, case: Case) -> Prepared:
        """Raises EmulatorError where the host function cannot be run."""
        try:
            return prepare(self.plan, self.host, self.entries, case)
        except CaptureError as error:
            raise EmulatorError(f"case {case.problem.name}: the host function: {error}") from None

    def huge(self) -> list[tuple[Case, Launches]]:
        """Raises EmulatorError where the host function cannot be run."""
        try:
            return huge(self.plan, self.host, self.entries)
        except CaptureError as error:
            raise EmulatorError(f"the host function: {error}") from None

    def relaunched(self, prepared: Prepared, alter: Callable[[tuple[Launch, ...]], tuple[Launch, ...]]) -> Prepared:
        """The same case with other launches than the host function makes."""
        values = prepared.operands.values(self.plan, prepared.case.clusters)
        made = launches(self.plan, lambda given: alter(self.host(given)), self.entries, prepared.case, values)
        return replace(prepared, **vars(made))

    def options_for(self, case: Case, **changes: Any) -> list[Options]:
        """Return the options of each kernel for a case; `changes` are fields of Options."""
        return [replace(options, clusters=case.resident, only=case.only, **changes) for options in self.options]

    def outcomes(self, prepared: Prepared, module: Module) -> Iterator[Outcome]:
        """Run a prepared case once per seed of its schedule."""
        for seed in prepared.case.seeds:
            yield prepared.run(module, seed, self.options_for(prepared.case))

    def again(self, prepared: Prepared) -> Callable[[Case], Outcome]:
        """What runs prepared operands with another choice of clusters."""
        return lambda case: prepared.run(self.module, case.seeds[0], self.options_for(case))

    def note(self, seen: Seen, case: Case, outcome: Outcome) -> None:
        """Add what a complete run showed; of an empty problem there is nothing, of a part of a grid no whole."""
        if not outcome.results or case.only:
            return
        maps = [entry.maps for entry in self.entries]
        seen.add(case.problem, maps, [result.observations for result in outcome.results])


def _options(kernel: KernelPlan) -> Options:
    return Options(
        budget=BUDGET * math.prod(kernel.cluster),
        entry_registers=kernel.entry_registers,
        names=offset_names(kernel),
        contracts=contracts(kernel),
        named=named_barriers(kernel),
        roles=role_names(kernel),
    )


def build_of(folder: Path) -> Built:
    """Return the record of a folder's build. Raises EmulatorError where there is none, or no kernel came of it."""
    try:
        built = load_built(folder)
    except DamagedError as error:
        raise EmulatorError(str(error)) from None
    except FileNotFoundError:
        config = folder.absolute().parent.name
        raise EmulatorError(f"{folder}: nothing is built there; `warpwright run {config}` builds it") from None
    if built.record.get("failure"):
        raise EmulatorError(f"{folder}: it does not compile; `warpwright show {folder.name}` says why")
    return built


def load(folder: Path, built: Built | None = None) -> Subject:
    """Read a built variant's folder, by its build's record or by `built`, one that was read before.

    Raises EmulatorError when it lacks something, or holds something else than what the build wrote: another source too,
    since a verdict on what was built says nothing of what lies there now.
    """
    built = built or build_of(folder)
    try:
        source, ptx = built.source(), built.read("kernel.ptx").decode()
        built.read("kernel.o")
        return subject(plan_from_json(built.plan()), ptx, folder / "kernel.o", source)
    except DamagedError as error:
        raise EmulatorError(str(error)) from None
    except (OSError, ValueError, LookupError, PlanError, CaptureError) as error:
        raise EmulatorError(f"{folder}: {error}; build the variant again") from None


def subject(plan: Plan, ptx: str, host_object: Path, source: str = "") -> Subject:
    """Put together what a build made: PTX, and the object file of the host function.

    Raises ValueError, LookupError or CaptureError where they do not fit together.
    """
    parameters = kernel_parameters(ptx)
    host = HostFunction(host_object, plan.symbol, parameters)
    names = pair([kernel.name for kernel in plan.kernels], list(parameters))
    entries = tuple(_entry(kernel, name, parameters, source) for kernel, name in zip(plan.kernels, names, strict=True))
    return Subject(plan, ptx, host, entries)


def _entry(kernel: KernelPlan, name: str | None, parameters: dict[str, list[int]], source: str) -> Entry:
    if name is None:
        raise ValueError(f"kernel.ptx has no kernel {kernel.name}, only {', '.join(parameters) or 'none'}")
    return Entry(kernel, name, tuple(map_parameters(kernel, parameters[name])), HostLines(source, kernel.name))


def emulate(subject: Subject) -> Verdict:
    """Run every case of a variant, up to a run that came to no end. Raises EmulatorError, PtxError."""
    started = time.process_time()  # of one core: neighbours on the machine do not count
    seen, outcomes, differences = Seen.of(subject.plan), list[Outcome](), set[Difference]()
    programs = [program(subject.module, entry.name) for entry in subject.entries]
    coverage.begin(programs)

    def verdict() -> Verdict:
        spent = time.process_time() - started
        return weigh(outcomes, sorted(differences), coverage.measure(programs), spent)

    for case, launched in subject.huge():
        differences |= set(launched.differences)
        if launched.findings:
            outcomes.append(Outcome(case.problem.name, 0, (), launched.findings))
    for case in subject.cases():
        prepared = subject.prepare(case)
        differences |= set(prepared.differences)
        try:
            for outcome in subject.outcomes(prepared, subject.module):
                other = walked_otherwise(subject.plan, prepared, outcome, subject.again(prepared))
                differences |= {other} if other else set()
                outcomes.append(replace(outcome, findings=()) if other else outcome)
                if not outcome.complete:
                    return verdict()
                subject.note(seen, case, outcome)
        except EmulatorError:
            if any(outcome.findings for outcome in outcomes):  # what is wrong already may have led there
                return verdict()
            raise
    differences |= set(check_plan(seen))
    return verdict()
