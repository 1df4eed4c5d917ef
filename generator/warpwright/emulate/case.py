"""One variant on one case: prepared once (operands, launch, reference), run once per seed and per mutant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from warpwright.build.launch_capture import HostFunction
from warpwright.device.reference import Chain, Expected, multiply
from warpwright.device.tolerance import Agreement, compare
from warpwright.device.xp import POISON, Array, NumpyXp
from warpwright.emulate import operands as operand_set
from warpwright.emulate import run
from warpwright.emulate.check_plan import Difference, check_launch
from warpwright.emulate.findings import EmulatorError, Finding
from warpwright.emulate.launch import Launch, Options, Result, TensorMap
from warpwright.emulate.operands import Operands
from warpwright.emulate.problems import Case
from warpwright.emulate.ptx import Module
from warpwright.emulate.tensor_maps import tensor_maps
from warpwright.plan.types import Plan

__all__ = ["SEED", "Outcome", "Prepared", "prepare"]

#: Of the operands.
SEED = 20250729


@dataclass(frozen=True)
class Outcome:
    """What one run of one case showed; no agreement where the run did not reach its end."""

    case: str
    seed: int
    result: Result
    findings: tuple[Finding, ...]  # the machine's, and those that the output shows
    agreement: Agreement | None

    @property
    def clean(self) -> bool:
        return not self.findings


@dataclass
class Prepared:
    """A case with everything that does not depend on the schedule."""

    case: Case
    operands: Operands
    launch: Launch
    maps: Mapping[int, TensorMap]
    expected: Expected
    differences: list[Difference]

    def run(self, module: Module, seed: int, options: Options) -> Outcome:
        """Run once, with a fresh output. Raises EmulatorError where the kernel cannot be emulated."""
        out = self.operands.output
        out.raw[...] = POISON[out.argument.dtype]
        for buffer in self.operands.memory.buffers.values():
            buffer.writes[...] = 0
        result = run(module, self.launch, dict(self.maps), self.operands.memory, seed, options)
        findings, agreement = list(result.findings), None
        if result.complete:
            agreement = self._compare(findings)
        return Outcome(self.case.problem.name, seed, result, tuple(findings), agreement)

    def _compare(self, findings: list[Finding]) -> Agreement:
        out = self.operands.output
        name = out.argument.name
        counts, outside = self.operands.writes()
        missing = counts == 0
        if missing.any():
            at = np.argwhere(missing.any(axis=-1))[0].tolist()
            count = int(missing.any(axis=-1).sum())
            findings.append(Finding("unwritten", f"{count} elements of {name} were never written, the first at {at}"))
        if outside:
            findings.append(Finding("global-bounds", f"{outside} bytes between the rows of {name} were written"))
        got = NumpyXp().decode(out.view, out.argument.dtype)
        agreement = compare(NumpyXp(), got, self.expected.values, self.expected.error, out.argument.dtype)
        if agreement.wrong and not missing.any():
            worst = agreement.worst
            text = (
                f"{agreement.wrong} of {agreement.elements} elements of {name} are outside their bound; the first,"
                f" {name}{worst['index']}, is {worst['got']}, expected {worst['expected']} within {worst['bound']}"
            )
            findings.append(Finding("wrong-result", text))
        return agreement


def prepare(plan: Plan, chain: Chain, host: HostFunction, parameters: list[int], case: Case) -> Prepared:
    """Fill operands, capture the launch and compute the reference. Raises EmulatorError, CaptureError, HostError."""
    problem = case.problem
    operands = operand_set.place(plan, problem, chain.skips, SEED)
    launches = host(operands.values(plan, case.clusters))
    if len(launches) != 1:
        raise EmulatorError(f"{problem.name}: the host function makes {len(launches)} launches, one is expected")
    captured = launches[0]
    launch = Launch(captured.grid, captured.block, captured.cluster, captured.shared_bytes, captured.params)
    xp = NumpyXp()

    def stored(name: str) -> Array:
        operand = operands.tensors[name]
        return xp.decode(np.ascontiguousarray(operand.view), operand.argument.dtype)

    product = multiply(xp, stored("a"), stored("b"), problem.fill != "normal")
    expected = chain.apply(xp, product, operands.scalars, stored)
    maps = tensor_maps(plan, parameters, operands, captured.params)
    return Prepared(case, operands, launch, maps, expected, check_launch(plan, captured))
