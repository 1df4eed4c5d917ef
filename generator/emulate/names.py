"""The plan's words for what a machine knows by number: shared-memory offsets and warps."""

from __future__ import annotations

from collections.abc import Callable

from generator.plan.types import Plan

__all__ = ["contracts", "named_barriers", "offset_names", "role_names"]


def offset_names(plan: Plan) -> Callable[[int], str]:
    """Return the namer of offsets (bytes in dynamic shared memory): `ab_full[2]`, `a stage 2`, "" outside every buffer.

    The last extent of a buffer's shape counts its stages.
    """
    barriers = {barrier.buffer for barrier in plan.barriers if barrier.buffer}

    def name(offset: int) -> str:
        for buffer in plan.buffers:
            if buffer.offset <= offset < buffer.offset + buffer.bytes:
                stage = (offset - buffer.offset) // (buffer.bytes // buffer.shape[-1])
                return f"{buffer.name}[{stage}]" if buffer.name in barriers else f"{buffer.name} stage {stage}"
        return ""

    return name


def contracts(plan: Plan) -> Callable[[int], str]:
    """Return what the plan says of one phase of the mbarrier at an offset (as above): how many arrive, and who."""
    texts = {}
    for barrier in plan.barriers:
        size = f" and {barrier.transaction_bytes} bytes" if barrier.transaction_bytes else ""
        texts[barrier.buffer] = f"{barrier.arrivals} arrival{'s' * (barrier.arrivals > 1)}{size} ({barrier.arrives})"
    extents = [(b.offset, b.offset + b.bytes, texts[b.name]) for b in plan.buffers if b.name in texts]
    return lambda offset: next((text for start, end, text in extents if start <= offset < end), "")


def named_barriers(plan: Plan) -> Callable[[int], str]:
    """Return the namer of named barriers, "" for one that the plan does not have."""
    names = {number: barrier.name for barrier in plan.barriers for number in barrier.ids}
    return lambda number: names.get(number, "")


def role_names(plan: Plan) -> Callable[[int], str]:
    """Return the namer of warps: the role that a warp plays, "" for none."""
    roles = {warp: role.name for role in plan.roles for warp in range(role.first_warp, role.first_warp + role.warps)}
    return lambda warp: roles.get(warp, "")
