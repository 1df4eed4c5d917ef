"""Which copies for sm_90a are legal; `warpwright rules` prints the list.

A predicate returns None or (value, limit, nearest legal value).
"""

from __future__ import annotations

from warpwright.archs import SM90A
from warpwright.families.copy.sm_90a.solution import LANES, VECTOR_BYTES, Solution
from warpwright.plan.rule import Advice, Finding, RuleSet

__all__ = ["OVERHEAD", "RULES"]

RULES: RuleSet[Solution] = RuleSet()

#: Warps of the largest CTA, of 1024 threads (CUDA C++ Programming Guide, compute capabilities).
_MAX_WARPS = 32
_MAX_SLOTS = 8
#: Registers that a lane needs beside its vectors: addresses, counters, states. Of 33 kernels the most took 32.
OVERHEAD = 32


@RULES.add("warps", "design.consumer_warps")
def _(s: Solution) -> Finding:
    """consumers and producers together are 32 warps at most"""
    if s.warps <= _MAX_WARPS:
        return None
    design = s.design
    room = _MAX_WARPS - design.producer_warps
    nearest = room if room > 0 else Advice("fewer producer warps")
    return f"{design.consumer_warps} (and {design.producer_warps} producers)", f"{_MAX_WARPS} warps", nearest


@RULES.add("warps.residency", "design.ctas_per_sm")
def _(s: Solution) -> Finding:
    """the CTAs that share an SM have no more threads than it holds"""
    ctas = s.design.ctas_per_sm
    if s.warps > _MAX_WARPS or s.threads * ctas <= SM90A.threads_per_sm:
        return None
    most = SM90A.threads_per_sm
    return f"{ctas} ({s.threads * ctas} threads)", f"{most} threads", most // s.threads


@RULES.add("stage_bytes", "design.stage_bytes")
def _(s: Solution) -> Finding:
    """every lane of every consumer warp moves whole vectors of 16 bytes of a chunk"""
    given, step = s.design.stage_bytes, LANES * VECTOR_BYTES * s.design.consumer_warps
    if given % step == 0:
        return None
    return given, f"a multiple of {step}", max(step, (given + step // 2) // step * step)


@RULES.add("registers.vectors", "design.stage_bytes")
def _(s: Solution) -> Finding:
    """a lane holds its share of a chunk, as x and as y, and 32 registers or more of addresses and states"""
    room = s.entry_registers - OVERHEAD
    if s.vector_registers <= room:
        return None
    each = s.vector * (s.computed.x_bytes + s.computed.y_bytes) // 4
    fits = room // each * LANES * VECTOR_BYTES * s.design.consumer_warps
    return (
        f"{s.design.stage_bytes} ({s.vector_registers} registers)",
        f"{room} of {s.entry_registers} registers at entry",
        fits if room >= each else Advice("fewer CTAs per SM"),
    )


@RULES.add("stages", "design.stages")
def _(s: Solution) -> Finding:
    """a ring needs two stages to load one chunk while another is scaled"""
    return None if s.stages >= 2 else (s.stages, ">= 2", 2)


@RULES.add("stages.producers", "design.producer_warps")
def _(s: Solution) -> Finding:
    """producers that take turns wait at most one phase ahead of their stage: no more of them than stages"""
    warps = s.design.producer_warps
    return None if warps <= s.stages else (warps, f"{s.stages} stages", s.stages)


@RULES.add("slots", "design.slots")
def _(s: Solution) -> Finding:
    """y leaves through 1 to 8 buffers per consumer warp; the direct path has none"""
    slots = s.design.slots
    if slots == "auto":
        return None
    if s.design.store == "direct":
        return slots, "auto", "auto"
    return None if slots <= _MAX_SLOTS else (slots, f"1..{_MAX_SLOTS}", _MAX_SLOTS)


@RULES.add("shared_memory", "design.stages")
def _(s: Solution) -> Finding:
    """the ring, the buffers on the way out and the barriers fit a CTA's share of the SM's shared memory"""
    if s.shared_bytes <= s.shared_limit:
        return None
    fits = s.fitting_stages if s.fitting_stages >= 2 else Advice("smaller stages, or fewer CTAs per SM")
    return f"{s.stages} ({s.shared_bytes} B)", f"{s.shared_limit} B", fits
