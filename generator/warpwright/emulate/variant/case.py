"""One variant on one case: prepared once (operands, launches, reference), run once per seed and per mutant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from warpwright.device.held import numbers
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
from warpwright.emulate.variant.launches import Call, Entry, Host, launches
from warpwright.emulate.variant.operands import Operand, Operands
from warpwright.families import workload
from warpwright.families.running import Expected
from warpwright.plan.types import Argument, Plan

__all__ = ["SEED", "Outcome", "Part", "Prepared", "prepare"]

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


@dataclass(frozen=True)
class Part:
    """A part of the outputs that is due, and what each must be there. `modes`: their indices, those not named whole."""

    modes: Mapping[str, slice]
    expected: Mapping[str, Expected]

    def of(self, argument: Argument) -> tuple[slice, ...]:
        """The part as a subscript of a tensor."""
        return tuple(self.modes.get(mode, slice(None)) for mode in argument.shape)


@dataclass
class Prepared:
    """A case with everything that does not depend on the schedule."""

    case: Case
    operands: Operands
    calls: tuple[Call, ...]  # in the order of the plan's kernels, none for an empty problem
    parts: tuple[Part, ...]
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

    def _gaps(self, operand: Operand, findings: list[Finding]) -> None:
        """Find what was written between an operand's elements; where these lie far apart, it was found at once."""
        if operand.regions:
            return
        outside = self.operands.touched(operand) - int(np.count_nonzero(self.operands.writes(operand)))
        if outside:
            text = f"{outside} bytes between the rows of {operand.argument.name} were written"
            findings.append(Finding("global-bounds", text))

    def _compare(self, out: Operand, findings: list[Finding]) -> Agreement:
        counts = self.operands.writes(out)
        if out.before is not None and counts.max(initial=0) > 1:  # the machine asks this of outputs alone
            findings.append(Finding("written-twice", f"bytes of {out.argument.name}, in place, are written again"))
        due = [int(np.count_nonzero(counts[part.of(out.argument)])) for part in self.parts]
        sizes = [counts[part.of(out.argument)].size for part in self.parts]
        incomplete = False
        if due != sizes or sum(due) != self.operands.touched(out):  # else all that is due was written, and nothing else
            self._gaps(out, findings)
            incomplete = self._unwritten(out, counts, findings)
        agreements = [self._compare_part(out, part, findings, incomplete) for part in self.parts]
        return Agreement(
            sum(each.elements for each in agreements),
            sum(each.wrong for each in agreements),
            max((each.ratio for each in agreements), default=0.0),
            max((each.relative for each in agreements), default=0.0),
            next((each.worst for each in agreements if each.wrong), {}),
        )

    def _unwritten(self, out: Operand, counts: Array, findings: list[Finding]) -> bool:
        """Find what is due and was not written (whether there is any), and what was written and is not due."""
        name = out.argument.name
        if not out.regions:
            self._stray(out, counts, findings)
        absent, first = 0, list[int]()
        for part in self.parts:
            place = part.of(out.argument)
            missing = (counts[place] == 0).any(axis=-1)
            if missing.any() and not absent:
                found = zip(place, np.argwhere(missing)[0].tolist(), strict=True)
                first = [(of.start or 0) + at for of, at in found]
            absent += int(missing.sum())
        if absent:
            text = f"{absent} elements of {name} were never written, the first at {first}"
            if self.case.only:
                ran = ", ".join(map(str, self.case.only))
                text += f", which by the plan the clusters compute that ran (number {ran} of the grid)"
            findings.append(Finding("unwritten", text))
        return bool(absent)

    def _stray(self, out: Operand, counts: Array, findings: list[Finding]) -> None:
        """Find what was written and is not due."""
        due = np.zeros(out.view.shape, bool)
        for part in self.parts:
            due[part.of(out.argument)] = True
        stray = counts.any(axis=-1) & ~due
        if stray.any():
            at, count = np.argwhere(stray)[0].tolist(), int(stray.sum())
            ran = ", ".join(map(str, self.case.only))
            text = (
                f"{count} elements of {out.argument.name} were written, the first at {at}, which by the plan other"
                f" clusters of the grid compute than those that ran (number {ran})"
            )
            findings.append(Finding("wrong-result", text))

    def _compare_part(self, out: Operand, part: Part, findings: list[Finding], incomplete: bool) -> Agreement:
        name, place = out.argument.name, part.of(out.argument)
        got = NumpyXp().decode(np.ascontiguousarray(out.view[place]), out.argument.dtype)
        expected = part.expected[name]
        agreement = compare(NumpyXp(), got, expected.values, expected.error, out.argument.dtype, expected.signed)
        if agreement.wrong and not incomplete:
            worst = agreement.worst
            index = [(of.start or 0) + at for of, at in zip(place, worst["index"], strict=True)]
            text = (
                f"{agreement.wrong} of {agreement.elements} elements of {name} are outside their bound; the first,"
                f" {name}{index}, is {worst['got']}, expected {worst['expected']} within {worst['bound']}"
            )
            if str(worst["got"]) == "nan" and str(worst["expected"]) not in ("nan", "inf", "-inf"):
                text += "\n  registers and shared memory begin as NaN: perhaps something is read that was never written"
            findings.append(Finding("wrong-result", text))
        return agreement


def prepare(plan: Plan, host: Host, entries: Sequence[Entry], case: Case) -> Prepared:
    """Fill operands, capture the launches and compute the reference. Raises CaptureError."""
    problem = case.problem
    family = workload(plan.family)
    due = family.share(plan, problem, case.clusters, case.only) if case.only else [{}]
    operands = operand_set.place(plan, problem, SEED, due)
    made = launches(plan, host, entries, case, operands.values(plan, case.clusters))
    xp = NumpyXp()

    def part(modes: Mapping[str, slice]) -> Part:
        def stored(name: str) -> Array:
            return numbers(xp, operands.tensors[name].argument, operands.tensors[name].view, modes)

        return Part(modes, family.expected(xp, plan, problem, stored, fresh))

    parts = tuple(part(modes) for modes in due)
    return Prepared(case, operands, made.calls, parts, made.findings, made.differences, made.runnable)
