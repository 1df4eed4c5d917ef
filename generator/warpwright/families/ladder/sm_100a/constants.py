"""The constants block of a rung of one role: the GEMM's, without those of warps with roles, with those of threads that
load."""

from __future__ import annotations

from dataclasses import replace

from warpwright.families.gemm.sm_100a.constants import constants as of_gemm
from warpwright.families.ladder.sm_100a.solution import Solution, memory
from warpwright.plan.types import Buffer, Constant

__all__ = ["VECTOR_BYTES", "constants", "padding"]

#: What a thread loads at once: the widest access.
VECTOR_BYTES = 16
#: What only warps with roles need.
_OF_ROLES = frozenset({"CONSUMER_WARP", "PRODUCER_WARP", "CONSUMED_ARRIVALS", "DRAINED_ARRIVALS"})
_OF_TMA = frozenset({"TMA_ALIGNMENT", "MAX_STRIDE", "STAGE_BYTES"})


def constants(s: Solution) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them."""
    dropped = _OF_ROLES if s.loads_by_tma else _OF_ROLES | _OF_TMA
    found = [_own(constant) for constant in of_gemm(s.solved) if constant.name not in dropped]
    at = next(i for i, constant in enumerate(found) if constant.name == "STAGES") + 1
    if not s.loads_by_tma:
        found[at:at] = _vectors(s)
    return (*found, *padding(memory(s)[0]))


def padding(buffers: tuple[Buffer, ...]) -> tuple[Constant, ...]:
    """What keeps an SM from being shared, where that needs something."""
    note = "unused: more than half of an SM is taken"
    return tuple(Constant("PADDING_BYTES", each.bytes, note) for each in buffers if each.name == "padding")


def _own(constant: Constant) -> Constant:
    """A constant of the GEMM as one role has it."""
    if constant.name == "THREADS":
        return Constant("THREADS", 128, "of one CTA: all of them", "WARPS_PER_WARPGROUP * LANES")
    if constant.name == "STAGES":
        return replace(constant, note="of A and B in shared memory: one buffer")
    return constant


def _vectors(s: Solution) -> list[Constant]:
    """How threads load a tile: which share of a row each has, and how many rows they load at once."""
    vector = VECTOR_BYTES // s.solved.computed.a.bytes
    across = s.design.tile.k // vector
    return [
        Constant("VECTOR_BYTES", VECTOR_BYTES, "that a thread loads at once"),
        Constant("VECTOR", vector, "in elements", "VECTOR_BYTES // AB_BYTES"),
        Constant("ROW_THREADS", across, "that load one row", "TILE_K // VECTOR"),
        Constant("ROWS", 128 // across, "that all threads load at once", "THREADS // ROW_THREADS"),
    ]
