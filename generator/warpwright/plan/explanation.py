"""Says in words and tables how a plan came about and what bounds it."""

from __future__ import annotations

from collections.abc import Mapping

from warpwright import archs
from warpwright.archs import Device, arch
from warpwright.device.problem import size_text
from warpwright.families import target, workload
from warpwright.plan import tables
from warpwright.plan.occupancy import rooms
from warpwright.plan.prediction import time_text
from warpwright.plan.types import Buffer, KernelPlan, Plan, TensorMemory

__all__ = ["explain"]

_SPACES = {"tensor": "Tensor memory", "global": "Workspace of a CTA in global memory"}


def explain(plan: Plan, extents: Mapping[str, int], device: Device | None = None) -> str:
    """Return the derivation of a plan, with the predicted time of a problem ({"M": 4096, ...}), as plain text."""
    if not plan.legal:
        reasons = "\n".join(f"  {v.rule}: {v.message}" for v in plan.violations)
        return f"{plan.label}\n\nIllegal:\n{reasons}\n"
    device = device or archs.device(plan.arch)
    sections = [plan.label]
    for kernel in plan.kernels:
        head = f"{kernel.name}: " if len(plan.kernels) > 1 else ""
        sections += [_section(head + title, body) for title, body in _kernel(plan, kernel) if body]
    sections.append(_section("Numbers", _numbers(plan)))
    modes = workload(plan.family).modes
    size = size_text({mode.lower(): extent for mode, extent in extents.items()}, modes)
    size = f"{modes[0]} = {size}" if len(modes) == 1 else size
    title = f"Predicted time of {size} on {device.described}"
    sections.append(_section(title, _prediction(plan, extents, device)))
    return "\n\n".join(sections) + "\n"


def _section(title: str, body: str) -> str:
    return f"{title}\n{body}"


def _kernel(plan: Plan, kernel: KernelPlan) -> list[tuple[str, str]]:
    memory = f"Shared memory: {tables.memory_total(kernel, arch(plan.arch))}"
    return [
        ("Warps", tables.roles_table(kernel) + "\n" + _occupancy(plan, kernel)),
        (memory, tables.memory_table(kernel, "shared")),
        *((title, _space(kernel, space)) for space, title in _SPACES.items()),
        ("Barriers: arrivals and bytes per phase", tables.barrier_table(kernel) if kernel.barriers else ""),
        ("TMA copies: boxes, innermost extent first", _copies(kernel)),
    ]


def _space(kernel: KernelPlan, space: str) -> str:
    found: list[Buffer] = [buffer for buffer in kernel.buffers if buffer.space == space]
    rows = [("buffer", "offset", "size", "use")]
    rows += [(b.name, str(b.offset), str(b.bytes), b.note) for b in found]
    allocated = _allocated(kernel.tensor_memory) if space == "tensor" and kernel.tensor_memory else ""
    return tables.text_table(rows) + allocated if found else ""


def _allocated(memory: TensorMemory) -> str:
    whose = "by both CTAs of a pair" if memory.ctas == 2 else "by each CTA"
    return (
        f"\n    {memory.columns} columns are allocated {whose}; a warp of {memory.allocates} allocates them, and gives"
        f" up the permit\n    to allocate more; a warp of {memory.frees} frees them"
    )


def _occupancy(plan: Plan, kernel: KernelPlan) -> str:
    room = rooms(kernel, arch(plan.arch))
    allowed = ", ".join(f"{name} {ctas}" for name, ctas in room.items())
    return (
        f"    {kernel.threads} threads, {kernel.entry_registers} registers each at entry\n"
        f"    {_count(min(room.values()), 'CTA')} per SM (allowed by {allowed})"
    )


def _copies(kernel: KernelPlan) -> str:
    rows = [("tensor", "direction", "kind", "box", "swizzle", "multicast", "instructions")]
    for c in kernel.copies:
        box = " x ".join(map(str, c.box)) + f" {c.dtype}"
        rows.append((c.tensor, c.direction, c.kind, box, c.swizzle, str(c.multicast), str(c.instructions)))
    return tables.text_table(rows) if kernel.copies else ""


def _numbers(plan: Plan) -> str:
    rows = [("name", "value", "from")]
    rows += [(c.name, str(c.value), ", ".join(filter(None, (c.expression, c.note)))) for c in plan.constants]
    return tables.text_table(rows)


def _prediction(plan: Plan, extents: Mapping[str, int], device: Device) -> str:
    limit = plan.exceeded(extents)
    if limit is not None:
        return f"    none: {limit.count(extents)} {limit.what}, and the kernel takes at most {limit.most}"
    p = target(plan.family, plan.arch).predict(plan, extents, device)
    if not all(p.counts.values()):
        return "    nothing to compute: the kernel is not launched"
    rows = [("clocks", "term")]
    rows += [(f"{value:.0f}", term) for term, value in p.clocks.items()]
    counts = ", ".join(_count(number, noun) for noun, number in p.counts.items())
    notes = "".join(f"    {note}\n" for note in p.notes)
    return (
        f"    {counts}\n{tables.text_table(rows)}\n{notes}"
        f"    {time_text(p.seconds)}, {p.speed:.3g} {p.rate}, bound by {p.bound}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
