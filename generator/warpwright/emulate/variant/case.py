"""One variant on one case: prepared once (operands, launches, reference), run once per seed and per mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpwright.build.launch_capture import HostFunction
from warpwright.device.memo import fresh
from warpwright.device.problem import Case
from warpwright.device.tolerance import Agreement, compare
from warpwright.device.xp import Array, NumpyXp
from warpwright.emulate import run
from warpwright.emulate.machine.findings import Finding
from warpwright.emulate.machine.launch import Options, Result
from warpwright.emulate.ptx.reader import Module
from warpwright.emulate.variant import operands as operand_set
from warpwright.emulate.variant.check_plan import Difference
from warpwright.emulate.variant.launches import Call, Entry, launches
from warpwright.emulate.variant.operands import Operand, Operands
from warpwright.families import workload
from warpwright.families.running import Expected
from warpwright.plan.types import Plan

__all__ = ["SEED", "Outcome", "Prepared", "prepare"]

#: Of the operands.
SEED = 20250729


@dataclass(frozen=True)
class Outcome:
    """What one run of one case showed: a result per launch, up to one that did not reach its end; no agreements then.

    agreements: one per output.
    """

    case: str
    seed: int
    results: tuple[Result, ...]  # of an empty problem none, nor of a launch that cannot be run
    findings: tuple[Finding, ...]  # of the launches, the machine's, and those that the outputs show
    agreements: tuple[Agreement, ...] = ()

    @property
    def clean(self) -> bool:
        return not self.findings

    @property
    def complete(self) -> bool:
        """Whether every launch came to its end."""
        return all(result.complete for result in self.results) and bool(self.results or not self.findings)


@dataclass
class Prepared:
    """A case with everything that does not depend on the schedule."""

    case: Case
    operands: Operands
    calls: tuple[Call, ...]  # in the order of the plan's kernels, none for an empty problem
    expected: Mapping[str, Expected]
    findings: tuple[Finding, ...]  # of the launches
    differences: tuple[Difference, ...]
    runnable: bool = True

    def run(self, module: Module, seed: int, options: Sequence[Options]) -> Outcome:
        """Run the launches one after another, with fresh outputs; `options` are per kernel of the plan.

        Raises EmulatorError where a kernel cannot be emulated.
        """
        if not self.runnable:
            return Outcome(self.case.problem.name, seed, (), self.findings)
        self.operands.poison()
        results: list[Result] = []
        for call, chosen in zip(self.calls, options, strict=False):
            memory = self.operands.memory
            results.append(run(module, call.launch, dict(call.maps), memory, seed, chosen, call.entry.name))
            if not results[-1].complete:
                break
        findings = [*self.findings, *(finding for result in results for finding in result.findings)]
        agreements: list[Agreement] = []
        if all(result.complete for result in results):
            for operand in self.operands.of_role("workspace"):
                self._gaps(operand, findings)
            agreements = [self._compare(operand, findings) for operand in self.operands.of_role("output")]
        return Outcome(self.case.problem.name, seed, tuple(results), tuple(findings), tuple(agreements))

    def _gaps(self, operand: Operand, findings: list[Finding]) -> Array:
        """Find what was written between an operand's elements; returns how often each of their bytes was."""
        counts, outside = self.operands.writes(operand)
        if outside:
            text = f"{outside} bytes between the rows of {operand.argument.name} were written"
            findings.append(Finding("global-bounds", text))
        return counts

    def _compare(self, out: Operand, findings: list[Finding]) -> Agreement:
        name = out.argument.name
        missing = (self._gaps(out, findings) == 0).any(axis=-1)
        if missing.any():
            at, count = np.argwhere(missing)[0].tolist(), int(missing.sum())
            findings.append(Finding("unwritten", f"{count} elements of {name} were never written, the first at {at}"))
        got = NumpyXp().decode(out.view, out.argument.dtype)
        expected = self.expected[name]
        agreement = compare(NumpyXp(), got, expected.values, expected.error, out.argument.dtype)
        if agreement.wrong and not missing.any():
            worst = agreement.worst
            text = (
                f"{agreement.wrong} of {agreement.elements} elements of {name} are outside their bound; the first,"
                f" {name}{worst['index']}, is {worst['got']}, expected {worst['expected']} within {worst['bound']}"
            )
            findings.append(Finding("wrong-result", text))
        return agreement


def prepare(plan: Plan, host: HostFunction, entries: Sequence[Entry], case: Case) -> Prepared:
    """Fill operands, capture the launches and compute the reference. Raises CaptureError, HostError."""
    problem = case.problem
    operands = operand_set.place(plan, problem, SEED)
    made = launches(plan, host, entries, case, operands.values(plan, case.clusters))
    xp = NumpyXp()

    def stored(name: str) -> Array:
        operand = operands.tensors[name]
        return xp.decode(np.ascontiguousarray(operand.view), operand.argument.dtype)

    expected = workload(plan.family).expected(xp, plan, problem, stored, fresh)
    return Prepared(case, operands, made.calls, expected, made.findings, made.differences, made.runnable)
