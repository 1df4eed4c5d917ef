"""Says in words and tables how a plan came about and what bounds it."""

from __future__ import annotations

from typing import Protocol

from warpwright.plan import tables
from warpwright.plan.arch import H200, Device, arch
from warpwright.plan.prediction import predict
from warpwright.plan.types import Plan

__all__ = ["explain"]


class Extents(Protocol):
    """A batched GEMM's extents, in elements."""

    @property
    def m(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def k(self) -> int: ...
    @property
    def l(self) -> int: ...  # noqa: E743


def explain(plan: Plan, problem: Extents, device: Device = H200) -> str:
    """Return the derivation of a plan, with the predicted time of a problem, as plain text."""
    if not plan.legal:
        reasons = "\n".join(f"  {v.rule}: {v.message}" for v in plan.violations)
        return f"{plan.label}\n\nIllegal:\n{reasons}\n"
    extents = f"{problem.m}x{problem.n}x{problem.k}" + (f"x{problem.l}" if problem.l != 1 else "")
    sections = [
        plan.label,
        _section("Warps", tables.roles_table(plan) + "\n" + _occupancy(plan)),
        _section(f"Shared memory: {plan.shared_bytes} of {arch(plan.arch).shared_bytes} B", tables.memory_table(plan)),
        _section("Barriers: arrivals and bytes per phase", tables.barrier_table(plan)),
        _section("TMA boxes, innermost extent first", _tma_table(plan)),
        _section("Numbers", _numbers(plan)),
        _section(f"Predicted time of {extents} on {device.name}", _prediction(plan, problem, device)),
    ]
    return "\n\n".join(sections) + "\n"


def _section(title: str, body: str) -> str:
    return f"{title}\n{body}"


def _occupancy(plan: Plan) -> str:
    limits = arch(plan.arch)
    by_memory = (limits.shared_bytes + 1024) // (plan.shared_bytes + 1024)  # the system takes 1 KiB per CTA
    by_registers = max(1, limits.registers // (plan.threads * plan.entry_registers))
    by_threads = 2048 // plan.threads
    ctas = min(by_memory, by_registers, by_threads)
    return (
        f"    {plan.threads} threads, {plan.entry_registers} registers each at entry, "
        f"{plan.facts['accumulators']} accumulators per consumer thread\n"
        f"    {_count(ctas, 'CTA')} per SM "
        f"(shared memory allows {by_memory}, registers {by_registers}, threads {by_threads})"
    )


def _tma_table(plan: Plan) -> str:
    rows = [("tensor", "direction", "box", "swizzle", "multicast", "instructions")]
    for t in plan.tma:
        box = " x ".join(map(str, t.box)) + f" {t.dtype}"
        rows.append((t.tensor, t.direction, box, t.swizzle, str(t.multicast), str(t.instructions)))
    return tables.text_table(rows)


def _numbers(plan: Plan) -> str:
    rows = [("name", "value", "from")]
    rows += [(c.name, str(c.value), c.formula) for c in plan.constants]
    return tables.text_table(rows)


def _prediction(plan: Plan, problem: Extents, device: Device) -> str:
    p = predict(plan, problem.m, problem.n, problem.k, problem.l, device)
    if not p.tiles:
        return "    nothing to compute: the kernel is not launched"
    rows = [("clocks per tile", "term")]
    rows += [(f"{value:.0f}", term) for term, value in p.clocks.items()]
    rows.append((f"{p.epilogue_clocks:.0f}", "epilogue that nothing hides"))
    stages = int(plan.facts["stages"])
    verdict = "enough" if stages >= p.stages_needed else "too few"
    return (
        f"    {_count(p.tiles, 'tile')} on {_count(p.ctas, 'CTA')}: {_count(p.waves, 'wave')}\n"
        f"{tables.text_table(rows)}\n"
        f"    hiding the latency of a load takes {_count(p.stages_needed, 'stage')}; {stages} are {verdict}\n"
        f"    {p.seconds * 1e6:.1f} us, {p.tflops:.0f} TFLOP/s, bound by {p.bound}; "
        "without the epilogue's arithmetic"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
