"""How many CTAs of a kernel share an SM, and what allows it."""

from __future__ import annotations

from warpwright.archs import Arch
from warpwright.plan.types import KernelPlan

__all__ = ["rooms"]


def rooms(kernel: KernelPlan, limits: Arch) -> dict[str, int]:
    """Return for how many CTAs an SM has room, by what takes it; the least of them is what there are."""
    found = {
        "shared memory": limits.shared_per_sm // (kernel.shared_bytes + limits.shared_reserved),
        "registers": max(1, limits.registers // (kernel.threads * kernel.entry_registers)),
        "threads": limits.threads_per_sm // kernel.threads,
    }
    if kernel.tensor_memory:  # another CTA's allocation waits until columns are freed
        found["tensor memory"] = limits.tensor_columns // kernel.tensor_memory.columns
    if kernel.ctas_per_sm:
        found["the design"] = kernel.ctas_per_sm
    return found
