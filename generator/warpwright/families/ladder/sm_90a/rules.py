"""Which rungs for sm_90a are legal; `warpwright rules` prints the list. What they allow is legal as a GEMM too.

A predicate returns None or (value, limit, nearest legal value).
"""

from __future__ import annotations

from warpwright.archs import SM90A
from warpwright.families.gemm.sm_90a.ring import size
from warpwright.families.ladder.rungs import FIRST_RING
from warpwright.families.ladder.sm_90a.solution import Solution
from warpwright.plan.rule import Finding, RuleSet, nearest_of

__all__ = ["RULES"]

RULES: RuleSet[Solution] = RuleSet()

_ROWS, _DEPTHS = (64, 128), (32, 64)
_COLUMNS = (32, 64, 96, 128)


@RULES.add("tile.m", "design.tile.m")
def _(s: Solution) -> Finding:
    """a warpgroup computes 64 or 128 rows, two that share a tile 64 each"""
    m, legal = s.design.tile.m, tuple(rows for rows in _ROWS if rows >= 64 * s.solved.tiles.sharing)
    return None if m in legal else (m, " or ".join(map(str, legal)), nearest_of(m, legal))


@RULES.add("tile.n", "design.tile.n")
def _(s: Solution) -> Finding:
    """128 threads that load 16 bytes each fill whole rows of B; its accumulators leave registers for what they load"""
    n = s.design.tile.n
    return None if n in _COLUMNS else (n, "32, 64, 96 or 128", nearest_of(n, _COLUMNS))


@RULES.add("tile.k", "design.tile.k")
def _(s: Solution) -> Finding:
    """a stage is as wide as a swizzle: 64 or 128 bytes of K"""
    k = s.design.tile.k
    return None if k in _DEPTHS else (k, "32 or 64", nearest_of(k, _DEPTHS))


@RULES.add("stages", "design.stages")
def _(s: Solution) -> Finding:
    """one buffer below the rung that adds a ring; a ring has two stages or more"""
    if s.number < FIRST_RING:
        return None if s.stages == 1 else (s.stages, "1", "auto")
    return None if s.stages >= 2 else (s.stages, ">= 2", 2)


@RULES.add("shared_memory", "design.stages")
def _(s: Solution) -> Finding:
    """the ring, the buffers of D and the barriers fit the shared memory of one CTA"""
    fitting = s.solved.ring.fitting
    if s.stages <= fitting or s.number < FIRST_RING:
        return None
    needed = size(s.solved.asked, s.solved.tiles, s.solved.output, s.stages)
    return f"{s.stages} ({needed} B)", f"{SM90A.shared_bytes} B", fitting
