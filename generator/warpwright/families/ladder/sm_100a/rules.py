"""Which rungs for sm_100a are legal; `warpwright rules` prints the list. What they allow is legal as a GEMM too,
but for CTAs that would share an SM and its tensor memory: padding keeps them apart.

A predicate returns None or (value, limit, nearest legal value).
"""

from __future__ import annotations

from warpwright.families.gemm.sm_100a.ring import size
from warpwright.families.ladder.sm_100a.rungs import FIRST_OF_ROLES, RUNGS
from warpwright.families.ladder.sm_100a.solution import Solution
from warpwright.plan.rule import Finding, RuleSet, nearest_of

__all__ = ["RULES"]

RULES: RuleSet[Solution] = RuleSet()

_ROWS, _DEPTHS = 128, (32, 64)
_COLUMNS = (32, 64, 96, 128)


@RULES.add("rung", "design.rung")
def _(s: Solution) -> Finding:
    """the published sequence for Blackwell has six rungs"""
    last = len(RUNGS)
    return None if s.design.rung <= last else (s.design.rung, f"1..{last}", last)


@RULES.add("tile.m", "design.tile.m")
def _(s: Solution) -> Finding:
    """an MMA has 128 rows in each CTA: a lane of tensor memory each, which four warps reach together"""
    m = s.design.tile.m
    return None if m == _ROWS else (m, _ROWS, _ROWS)


@RULES.add("tile.n", "design.tile.n")
def _(s: Solution) -> Finding:
    """128 threads that load 16 bytes each fill whole rows of B; a pair's MMA takes twice as many, up to 256"""
    n = s.design.tile.n
    return None if n in _COLUMNS else (n, "32, 64, 96 or 128", nearest_of(n, _COLUMNS))


@RULES.add("tile.k", "design.tile.k")
def _(s: Solution) -> Finding:
    """a stage is as wide as a swizzle: 64 or 128 bytes of K"""
    k = s.design.tile.k
    return None if k in _DEPTHS else (k, "32 or 64", nearest_of(k, _DEPTHS))


@RULES.add("stages", "design.stages")
def _(s: Solution) -> Finding:
    """one buffer below the rung whose warps have roles; a ring has two stages or more"""
    if s.number < FIRST_OF_ROLES:
        return None if s.stages == 1 else (s.stages, "1", "auto")
    return None if s.stages >= 2 else (s.stages, ">= 2", 2)


@RULES.add("shared_memory", "design.stages")
def _(s: Solution) -> Finding:
    """the ring, the buffers of D and the barriers fit the shared memory of one CTA"""
    fitting, most = s.solved.ring.fitting, s.solved.asked.arch.shared_bytes
    if s.stages <= fitting or s.number < FIRST_OF_ROLES:
        return None
    return f"{s.stages} ({size(s.solved.buffers)} B)", f"{most} B", fitting
