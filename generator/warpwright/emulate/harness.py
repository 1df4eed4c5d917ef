"""A built variant on the emulator: load it, run its cases over their schedules, weigh what was seen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from warpwright.build.launch_capture import CaptureError, HostError, HostFunction
from warpwright.build.ptx_census import kernel_parameters
from warpwright.device.reference import Chain
from warpwright.device.variant import VariantError, plan_from_json
from warpwright.emulate.case import Outcome, Prepared, prepare
from warpwright.emulate.check_plan import Seen, check_plan
from warpwright.emulate.findings import EmulatorError
from warpwright.emulate.launch import Options
from warpwright.emulate.names import contracts, named_barriers, offset_names, role_names
from warpwright.emulate.problems import Case, cases
from warpwright.emulate.ptx import Module, parse
from warpwright.emulate.tensor_maps import map_parameters
from warpwright.emulate.verdict import Verdict, weigh
from warpwright.epilogue import registry
from warpwright.plan.types import Plan
from warpwright.record.atomic import read_json

__all__ = ["BUDGET", "Subject", "emulate", "load"]

#: Warp instructions of one run: ten times what the longest case of a large variant takes.
BUDGET = 2_000_000


@dataclass
class Subject:
    """A built variant, ready to run."""

    plan: Plan
    ptx: str
    host: HostFunction
    parameters: list[int]  # kernel parameters that are tensor maps, in the order of plan.tma
    chain: Chain

    @cached_property
    def module(self) -> Module:
        """The parsed PTX; its translation is kept in it. Raises PtxError."""
        return parse(self.ptx)

    @cached_property
    def options(self) -> Options:
        return Options(
            budget=BUDGET,
            entry_registers=self.plan.entry_registers,
            names=offset_names(self.plan),
            contracts=contracts(self.plan),
            named=named_barriers(self.plan),
            roles=role_names(self.plan),
        )

    def cases(self) -> list[Case]:
        return cases(self.plan, self.chain.skips)

    def prepare(self, case: Case) -> Prepared:
        """Raises EmulatorError where the host function cannot be run or refuses the case."""
        try:
            return prepare(self.plan, self.chain, self.host, self.parameters, case)
        except (CaptureError, HostError) as error:
            raise EmulatorError(f"case {case.problem.name}: the host function: {error}") from None

    def options_for(self, case: Case, trace: bool = False) -> Options:
        return replace(self.options, clusters=case.resident, trace=trace)

    def outcomes(self, prepared: Prepared, module: Module) -> Iterator[Outcome]:
        """Run a prepared case once per seed of its schedule."""
        for seed in prepared.case.seeds:
            yield prepared.run(module, seed, self.options_for(prepared.case))


def load(folder: Path) -> Subject:
    """Read a built variant's folder. Raises EmulatorError when it lacks something or was damaged."""
    try:
        plan = plan_from_json(read_json(folder / "plan.json") or {})
        ptx = (folder / "kernel.ptx").read_text(encoding="utf-8")
        parameters = kernel_parameters(ptx)
        host = HostFunction(folder / "kernel.o", plan.symbol, parameters)
        chain = Chain(plan, registry.get)
    except (OSError, ValueError, LookupError, VariantError, CaptureError) as error:
        raise EmulatorError(f"{folder}: {error}; build the variant again") from None
    return Subject(plan, ptx, host, map_parameters(plan, parameters), chain)


def emulate(subject: Subject) -> Verdict:
    """Run every case of a variant, up to a run that came to no end. Raises EmulatorError, PtxError."""
    started = time.process_time()  # of one core: neighbours on the machine do not count
    seen, outcomes, differences = Seen(), list[Outcome](), set()
    for case in subject.cases():
        prepared = subject.prepare(case)
        differences |= set(prepared.differences)
        for outcome in subject.outcomes(prepared, subject.module):
            outcomes.append(outcome)
            if outcome.agreement is not None:
                seen.add(subject.plan, case.problem, subject.parameters, outcome.result.observations)
            if not outcome.result.complete:
                return weigh(outcomes, sorted(differences), time.process_time() - started)
    return weigh(outcomes, sorted({*differences, *check_plan(subject.plan, seen)}), time.process_time() - started)
