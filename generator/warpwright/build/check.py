"""Compares what was read off a built variant with what its plan says; each difference is one finding.

Pure functions of a plan and of the facts that the build worker extracted. Static instruction counts are compared as
multiples, since a loop may be unrolled or its first iteration peeled; everything else is compared exactly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

from warpwright.build import check_memory, check_tensor_memory
from warpwright.build.artifact import Finding
from warpwright.build.check_memory import listed
from warpwright.build.kernels import pair
from warpwright.plan.types import Constant, KernelPlan, Plan

__all__ = ["check", "verdict"]

Facts = Mapping[str, Any]


def check(plan: Plan, facts: Facts) -> tuple[Finding, ...]:
    """Return every place where `facts` (see compile.py) contradict `plan`, in a stable order.

    Where the plan has several kernels, each rule of one bears its name.
    """
    found = list(_constants(plan, facts))
    compiled = {kernel["name"]: kernel for kernel in facts["kernels"]}
    names = pair([kernel.name for kernel in plan.kernels], list(compiled))
    if None in names or set(names) != set(compiled):
        expected = listed(kernel.name for kernel in plan.kernels)
        found.append(Finding("kernels", expected, listed(compiled), wrong=True))
    found += _launches(names, facts["launch"])
    launches = facts["launch"].get("launches", ())
    for index, (kernel, name) in enumerate(zip(plan.kernels, names, strict=True)):
        if name is None:
            continue
        launch = launches[index] if index < len(launches) and launches[index]["kernel"] == name else None
        own = {**compiled[name], "launch": launch}
        for rule in (_launch, *check_memory.RULES, _mmas, *check_tensor_memory.RULES, _registers, _resources):
            found += [
                dataclasses.replace(f, rule=f"{kernel.name}.{f.rule}") if len(plan.kernels) > 1 else f
                for f in rule(kernel, own)
            ]
    return tuple(found)


def verdict(findings: tuple[Finding, ...]) -> str | None:
    """Return the status that findings amount to: incorrect, degraded or None."""
    if any(f.wrong for f in findings):
        return "incorrect"
    return "degraded" if findings else None


def _constants(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Constants of the source, which may be expressions or edited by hand, have the planned values."""
    for constant in plan.constants:
        found = facts["constants"].get(constant.name)
        if not _equal(constant, found):
            yield Finding(f"constants[{constant.name}]", str(constant.value), "none" if found is None else str(found))


def _equal(constant: Constant, found: object) -> bool:
    if isinstance(constant.value, str) and isinstance(found, int):  # as it is written: 0b11, say
        try:
            return int(constant.value, 0) == found
        except ValueError:
            return False
    return constant.value == found


def _launches(names: list[str | None], launch: Facts) -> Iterator[Finding]:
    """The host code launches the kernels of the plan, each once, in their order."""
    if "error" in launch:
        yield Finding("launch.captured", "the host code launches a small problem", launch["error"], wrong=True)
    elif None not in names and [one["kernel"] for one in launch["launches"]] != names:
        found = listed(one["kernel"] for one in launch["launches"])
        yield Finding("launch.kernels", listed(names), found or "no launch", wrong=True)


def _launch(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """Block, cluster and dynamic shared memory of the captured launch; block size compiled into the kernel."""
    if facts["ptx"]["threads"] and facts["ptx"]["threads"][0] != plan.threads:
        yield Finding("launch.reqntid", str(plan.threads), str(facts["ptx"]["threads"][0]), wrong=True)
    promised = facts["ptx"]["min_blocks"] or 1
    if promised != (plan.ctas_per_sm or 1):
        yield Finding("launch.min_blocks", f"{plan.ctas_per_sm or 1} CTAs per SM", str(promised))
    launch = facts["launch"]
    if launch is None:
        return
    if launch["block"] != [plan.threads, 1, 1]:
        yield Finding("launch.block", str([plan.threads, 1, 1]), str(launch["block"]), wrong=True)
    if launch["cluster"] != list(plan.cluster):
        yield Finding("launch.cluster", str(list(plan.cluster)), str(launch["cluster"]), wrong=True)
    total = launch["shared_bytes"] + facts["static_shared_bytes"]
    if total != plan.shared_bytes:
        parts = f"{total} B ({launch['shared_bytes']} dynamic, {facts['static_shared_bytes']} static)"
        yield Finding("launch.shared_bytes", f"{plan.shared_bytes} B", parts)


def _mmas(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """The planned MMAs and no other, in PTX and in SASS; nothing beside them that ptxas had to add."""
    per_stage: dict[str, int] = {}
    for mma in plan.mmas:  # several of one shape: what is issued is a sum of multiples
        per_stage[mma.instruction] = math.gcd(per_stage.get(mma.instruction, 0), mma.per_stage)
    for instruction, number in facts["ptx"]["mmas"].items():
        if instruction not in per_stage:
            yield Finding("mma.ptx", listed(per_stage) or "no MMA", instruction)
        elif number % per_stage[instruction]:
            yield Finding("mma.per_stage", f"a multiple of {per_stage[instruction]}", str(number))
    planned, found = {mma.sass for mma in plan.mmas}, facts["sass"]["mmas"]
    if set(found) != planned:
        wrong = bool(planned) and not found
        yield Finding("mma.sass", listed(sorted(planned)) or "no MMA", listed(found) or "none", wrong=wrong)
    for ptx, sass in sorted({both for mma in plan.mmas for both in mma.pairs}):
        asked, kept = _count(facts["ptx"]["opcodes"], ptx), _count(facts["sass"]["opcodes"], sass)
        if kept > asked:
            yield Finding(f"mma.pairs[{ptx}]", f"{asked}, as in the PTX", f"{kept} {sass} in the SASS")


def _count(opcodes: Mapping[str, int], prefix: str) -> int:
    """How many instructions have an opcode of whole words `prefix`."""
    return sum(number for opcode, number in opcodes.items() if f"{opcode}.".startswith(f"{prefix}."))


def _registers(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """Registers at launch within the plan's bound; reallocations as planned in PTX and kept in SASS."""
    if facts["registers"] > plan.entry_registers:
        yield Finding("registers.entry", f"at most {plan.entry_registers}", str(facts["registers"]))
    planned = {r.registers for r in plan.roles if r.registers is not None}
    for level in ("ptx", "sass"):
        found = facts[level]["setmaxnreg"]
        values = set(found["inc"]) | set(found["dec"])
        if values != planned:
            yield Finding(f"setmaxnreg.{level}", listed(sorted(planned)) or "none", listed(sorted(values)) or "none")


def _resources(plan: KernelPlan, facts: Facts) -> Iterator[Finding]:
    """No spills and no stack."""
    if facts["sass"]["local_bytes"]:
        yield Finding("spills", "0 B", f"{facts['sass']['local_bytes']} B")
    if facts["stack_bytes"]:
        yield Finding("stack", "0 B", f"{facts['stack_bytes']} B")
