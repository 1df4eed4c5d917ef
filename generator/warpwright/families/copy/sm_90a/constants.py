"""The constants block of a rendered copy: every number as a person would write it, with what it is."""

from __future__ import annotations

import functools

from warpwright.families.copy.sm_90a.solution import LANES, VECTOR_BYTES, Solution
from warpwright.plan.types import Constant

__all__ = ["constants"]


def constants(s: Solution) -> tuple[Constant, ...]:
    """Return the constants in the order in which a reader needs them; a count of one has no name."""
    return (*_chunk(s), *_warps(s.design.consumer_warps, s.design.producer_warps, s.design.ctas_per_sm), *_slice(s))


def _chunk(s: Solution) -> list[Constant]:
    size = f"{s.design.stage_bytes} // max(X_BYTES, Y_BYTES)"
    return [
        Constant("X_BYTES", s.computed.x_bytes, "of an element"),
        Constant("Y_BYTES", s.computed.y_bytes, "of an element"),
        Constant("SMEM_ALIGNMENT", 128, "bytes: more than the 16 that bulk copies need"),
        Constant("STAGE_ELEMENTS", s.stage_elements, "one chunk: what a CTA copies at a time", size),
        Constant("STAGES", s.stages, _stages(s)),
    ]


def _stages(s: Solution) -> str:
    """Whatever the spelling, the same text: what was resolved is one variant."""
    return f"of the ring; {s.fitting_stages} fit {s.shared_limit} B of shared memory per CTA"


@functools.lru_cache(maxsize=1024)
def _warps(consumers: int, producers: int, ctas_per_sm: int) -> tuple[Constant, ...]:
    found = [Constant("LANES", LANES, "of a warp")]
    if consumers > 1:
        found.append(Constant("CONSUMER_WARPS", consumers, "warps that scale, each its own slice of a stage"))
    first = "the first one that loads x" if producers > 1 else "that loads x"
    found.append(Constant("PRODUCER_WARP", consumers, first, "CONSUMER_WARPS" if consumers > 1 else ""))
    if producers > 1:
        found.append(Constant("PRODUCER_WARPS", producers, "warps that load x: they take turns, one chunk each"))
    loading = "PRODUCER_WARPS" if producers > 1 else "1"
    threads = LANES * (consumers + producers)
    found.append(Constant("THREADS", threads, "of a CTA", f"LANES * (PRODUCER_WARP + {loading})"))
    if ctas_per_sm > 1:
        found.append(Constant("CTAS_PER_SM", ctas_per_sm, "CTAs that share an SM"))
    return tuple(found)


def _slice(s: Solution) -> list[Constant]:
    found, part = [], "STAGE_ELEMENTS"
    if s.design.consumer_warps > 1:
        part = "SLICE_ELEMENTS"
        size = "STAGE_ELEMENTS // CONSUMER_WARPS"
        found.append(Constant("SLICE_ELEMENTS", s.slice_elements, "one warp's part of a stage", size))
    wide, narrow = (f"{VECTOR_BYTES} // {which}(X_BYTES, Y_BYTES)" for which in ("max", "min"))
    found += [
        Constant("VECTOR", s.vector, "elements of 16 bytes of the wider dtype: what a lane moves at once", wide),
        Constant("GRAIN", s.grain, "elements that fill whole 16 bytes of x and of y: the unit of bulk copies", narrow),
    ]
    if s.vectors > 1:
        found.append(Constant("VECTORS", s.vectors, "of a lane in one stage", f"{part} // (LANES * VECTOR)"))
    if s.slots > 1:
        found.append(Constant("SLOTS", s.slots, "buffers per consumer warp through which y leaves"))
    divisor = "(PRODUCER_WARPS + 1)" if s.design.producer_warps > 1 else "2"
    steps = "a step of every producer" if s.design.producer_warps > 1 else "a step of every CTA"
    note = f"that 32 bits count, and {steps} beyond"
    found.append(Constant("MAX_CHUNKS", s.most_chunks, note, f"(2**31 - 1) // {divisor}"))
    return found
