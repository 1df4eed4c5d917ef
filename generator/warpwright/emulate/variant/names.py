"""The plan's words for what a machine knows by number: shared-memory offsets and warps."""

from __future__ import annotations

from collections.abc import Callable

from warpwright.emulate.machine.people import counted
from warpwright.plan.types import KernelPlan

__all__ = ["contracts", "named_barriers", "offset_names", "role_names"]


def offset_names(kernel: KernelPlan) -> Callable[[int], str]:
    """Return the namer of offsets (bytes in dynamic shared memory): `ab_full[2]`, `a stage 2`, "" outside every buffer.

    The last extent of a buffer's shape counts its stages.
    """
    barriers = {barrier.buffer for barrier in kernel.barriers if barrier.buffer}

    def name(offset: int) -> str:
        for buffer in kernel.buffers:
            if buffer.space == "shared" and buffer.offset <= offset < buffer.offset + buffer.bytes:
                stage = (offset - buffer.offset) // (buffer.bytes // buffer.shape[-1])
                return f"{buffer.name}[{stage}]" if buffer.name in barriers else f"{buffer.name} stage {stage}"
        return ""

    return name


def contracts(kernel: KernelPlan) -> Callable[[str], str]:
    """Return what the plan says of one phase of the barrier of a name: how many arrive, and who; "" for no such one."""
    texts = {}
    for barrier in kernel.barriers:
        thing = "thread" if barrier.kind == "named" else "arrival"
        most = "at most " if barrier.partial else ""
        size = f" and {most}{barrier.transaction_bytes} bytes" if barrier.transaction_bytes else ""
        texts[barrier.name] = f"{counted(barrier.arrivals, thing)}{size} ({barrier.arrives})"
    return lambda name: texts.get(name, "")


def named_barriers(kernel: KernelPlan) -> Callable[[int], str]:
    """Return the namer of named barriers, "" for one that the kernel does not have."""
    names = {number: barrier.name for barrier in kernel.barriers for number in barrier.ids}
    return lambda number: names.get(number, "")


def role_names(kernel: KernelPlan) -> Callable[[int], str]:
    """Return the namer of warps: the role that a warp plays, "" for none."""
    roles = {warp: role.name for role in kernel.roles for warp in range(role.first_warp, role.first_warp + role.warps)}
    return lambda warp: roles.get(warp, "")
