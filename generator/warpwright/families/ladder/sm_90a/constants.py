"""The constants block of a rung of one role: the GEMM's, without a producer's, with those of threads that load."""

from __future__ import annotations

from dataclasses import replace

from warpwright.families.gemm.sm_90a.constants import constants as of_gemm
from warpwright.families.ladder.rungs import FIRST_RING
from warpwright.families.ladder.sm_90a.solution import VECTOR_BYTES, Solution, memory
from warpwright.plan.types import Constant

__all__ = ["constants"]

#: What only producers and their barriers need.
_OF_ROLES = frozenset({"PRODUCER_WARP", "EMPTY_ARRIVALS"})
_OF_TMA = frozenset({"TMA_ALIGNMENT", "MAX_STRIDE", "STAGE_BYTES", "WARPS_PER_WARPGROUP"})


def constants(s: Solution) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them."""
    dropped = _OF_ROLES if s.loads_by_tma else _OF_ROLES | _OF_TMA
    found = [_own(s, constant) for constant in of_gemm(s.solved) if constant.name not in dropped]
    at = next(i for i, constant in enumerate(found) if constant.name == "STAGES") + 1
    if not s.loads_by_tma:
        found[at:at] = _vectors(s)
    padding = next((buffer for buffer in memory(s)[0] if buffer.name == "padding"), None)
    if padding:
        found.append(Constant("PADDING_BYTES", padding.bytes, "unused: more than half of an SM is taken"))
    return tuple(found)


def _own(s: Solution, constant: Constant) -> Constant:
    """A constant of the GEMM as one role has it."""
    if constant.name == "THREADS":
        return Constant("THREADS", s.solved.tiles.consumers * 128, "of one CTA: all of them", "WARPGROUP")
    if constant.name == "WARPGROUP" and not s.loads_by_tma:
        return replace(constant, expression="4 * LANES")
    if constant.name == "STAGES" and s.number < FIRST_RING:
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
